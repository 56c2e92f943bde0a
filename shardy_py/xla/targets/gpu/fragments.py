"""Fragments of the operands of products: which parts of the dimensions of a value are which of a product's.

Triton's kernels read an operand as it lies in memory if its batch, free and contracted parts are one
dimension each. Source: openxla/xla, xla/service/gpu/triton_tiling_propagation.cc, and for the order into
which others are copied xla/hlo/transforms/expanders/dot_decomposer.cc. Not here: which ops are computed in
the kernel (`products.py`).

>>> numbers = DotDimensions(((0, 2), (0, 2)), ((3,), (3,)))
>>> heads = fragments_of(numbers, 0, (4, 64, 8, 16))
>>> is_matrix(heads), is_matrix(reordered(heads, (0, 2, 1, 3)))
(False, True)
>>> [len(parts) for parts in regrouped(heads, (4, 64, 128)) or ()]
[1, 1, 2]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shardy_py.ops.dimensions import DotDimensions

BATCH, FREE, CONTRACTED = range(3)


class Fragment(NamedTuple):
    """A part of a dimension. size: its elements. kind: of what it is. place: among the dimensions read."""

    size: int
    kind: int
    place: tuple[int, ...]


Fragments = tuple[tuple[Fragment, ...], ...]
"""By dimension of a value its fragments, the outermost first."""


def fragments_of(numbers: DotDimensions, side: int, shape: Sequence[int | None]) -> Fragments:
    """The fragments of an operand in the form in which a product reads it."""
    batch, contracted = numbers.batching[side], numbers.contracting[side]
    kinds = [BATCH if d in batch else CONTRACTED if d in contracted else FREE for d in range(len(shape))]
    return tuple(
        (Fragment(size or 0, kind, (d,)),) for d, (size, kind) in enumerate(zip(shape, kinds, strict=True))
    )


def fragments_made(numbers: DotDimensions, shape: Sequence[int | None], columns: int) -> Fragments:
    """The fragments of the result of a product: batches, rows, and columns, which are in so many dimensions.

    Columns have the kind of what is contracted, which a result does not have.
    """
    batches, rank = len(numbers.batching[0]), len(shape)
    kinds = [BATCH if d < batches else CONTRACTED if d >= rank - columns else FREE for d in range(rank)]
    return tuple(
        (Fragment(size or 0, kind, (d,)),) for d, (size, kind) in enumerate(zip(shape, kinds, strict=True))
    )


def is_matrix(fragments: Fragments) -> bool:
    """True if the fragments of each kind lie side by side, in order, so that they are one dimension."""
    kept = [each for parts in fragments for each in parts if each.size != 1]
    for kind in (BATCH, FREE, CONTRACTED):
        found = [at for at, each in enumerate(kept) if each.kind == kind]
        places = [kept[at].place for at in found]
        if found and (found[-1] - found[0] + 1 > len(found) or places != sorted(places)):
            return False
    return True


def canonical_order(numbers: DotDimensions, side: int, rank: int) -> tuple[int, ...]:
    """The order in which an operand that is not a matrix is copied."""
    batch, contracted = numbers.batching[side], numbers.contracting[side]
    free = [d for d in range(rank) if d not in batch and d not in contracted]
    return (*batch, *free, *contracted) if side == 0 else (*batch, *contracted, *free)


def reordered(fragments: Fragments, order: Sequence[int]) -> Fragments:
    """The fragments in an order of dimensions."""
    return tuple([fragments[d] for d in order])


def before_transpose(fragments: Fragments, order: Sequence[int]) -> Fragments:
    """The fragments of what a transpose reads, by those of its result. order: its permutation."""
    found: list[tuple[Fragment, ...]] = [()] * len(order)
    for made, given in enumerate(order):
        found[given] = fragments[made]
    return tuple(found)


def before_slice(fragments: Fragments, shape: Sequence[int | None]) -> Fragments | None:
    """The fragments of what a slice reads, of a shape; None if it takes a part of several fragments."""
    found: list[tuple[Fragment, ...]] = []
    for parts, size in zip(fragments, shape, strict=True):
        kept = [each for each in parts if each.size != 1] or list(parts[:1])
        if _size(parts) == size:
            found.append(parts)
        elif len(kept) == 1:
            found.append((kept[0]._replace(size=size or 0),))
        else:
            return None
    return tuple(found)


def regrouped(fragments: Fragments, shape: Sequence[int | None]) -> Fragments | None:
    """The fragments of a value in a form of another shape; None if one would not be of whole fragments."""
    left = [each for parts in fragments for each in parts if each.size != 1]
    found: list[tuple[Fragment, ...]] = []
    for wanted in reversed(shape):
        parts: list[Fragment] = []
        missing = wanted or 0
        while missing > 1:
            if not left:
                return None
            last = left.pop()
            if missing % last.size == 0:
                parts.append(last)
                missing //= last.size
                continue
            if last.size % missing:
                return None
            left.append(last._replace(size=last.size // missing, place=(*last.place, 0)))
            parts.append(last._replace(size=missing, place=(*last.place, 1)))
            missing = 1
        found.append(tuple(reversed(parts)))
    return None if left else tuple(reversed(found))


def _size(parts: Sequence[Fragment]) -> int:
    found = 1
    for each in parts:
        found *= each.size
    return found
