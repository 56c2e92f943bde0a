"""The orders of dimensions in which XLA:TPU reshapes values, whose elements stay in one order in memory.

A dimension that is split, or made of others, has its parts together, major to minor. Where the operand cannot
be so with the least padding, it is copied into the order in which both need least memory. Not here: reshapes
that change the padding only (`stored.py`). Source: openxla/xla, `AlignLayouts` in xla/shape_util.cc; the HLO
of XLA:TPU for 18 reshapes.

>>> reshaped_orders((1024, 16), (8, 128, 16), "f32"), reshaped_orders((256, 2), (512,), "f32")
(None, ((1, 0), (0,)))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from shardy_py.base.session import SESSION
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.local_sizes import measured, tiled_bytes
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

Shape = tuple[int, ...]
Order = tuple[int, ...]
"""Dimensions, minor to major."""
_PERMUTED = 5
"""The groups of dimensions up to which all of their orders are tried."""


@SESSION.cache(8192)
def reshaped_orders(held: Shape, made: Shape, element: str) -> tuple[Order | None, Order] | None:
    """Returns the orders of the operand, if that is copied, and of the result of a reshape.

    None if both can have the least padding.
    """
    groups = tuple(_groups(held, made))
    major_to_minor = permutations(groups) if len(groups) <= _PERMUTED else iter((groups,))
    pairs = [
        (_order(held, [own for own, _ in each]), _order(made, [new for _, new in each]))
        for each in major_to_minor
    ]
    sizes = [(_bytes(held, own, element), _bytes(made, new, element)) for own, new in pairs]
    least, least_made = (measured(TensorType(shape, element), "tpu") for shape in (held, made))
    known = zip(sizes, pairs, strict=True)
    if min(own for own, _ in sizes) > least:
        return min(known, key=lambda each: sum(each[0]))[1]
    (_, size), (_, order) = min(known, key=lambda each: each[0])
    return None if len(groups) > 1 or size == least_made else (None, order)


def reorders(step: PlannedOp, types: Mapping[Name, TensorType]) -> bool:
    """Returns whether a step is a reshape before or after which elements are in another order.

    types: of values, on a device. Pieces that are sent have orders of their own.
    """
    if (
        COMPILED.of(step.record.name).form is not NodeForm.RESHAPE
        or "minor_to_major" in step.record.attributes
    ):
        return False
    held, made = types.get(step.operands[0]), types.get(step.results[0])
    if held is None or made is None:
        return False
    return reshaped_orders(shape_of(held), shape_of(made), made.element) is not None


def _order(shape: Shape, groups: Sequence[Order]) -> Order:
    """The order with groups of dimensions major to minor, behind those of one element."""
    kept = [d for group in groups for d in group]
    return (*reversed(kept), *(d for d in reversed(range(len(shape))) if d not in kept))


def _bytes(shape: Shape, order: Order, element: str) -> int:
    return tiled_bytes(element, tuple(shape[d] for d in reversed(order)))


def _groups(held: Shape, made: Shape) -> Iterator[tuple[Order, Order]]:
    """The fewest dimensions of both shapes that have as many elements, major to minor; not those of one."""
    left, right = ([d for d, size in enumerate(shape) if size != 1] for shape in (held, made))
    while left and right:
        own, other = [left.pop(0)], [right.pop(0)]
        sizes = [held[own[0]], made[other[0]]]
        while sizes[0] != sizes[1] and (left if sizes[0] < sizes[1] else right):
            if sizes[0] < sizes[1]:
                own.append(left.pop(0))
                sizes[0] *= held[own[-1]]
            else:
                other.append(right.pop(0))
                sizes[1] *= made[other[-1]]
        yield tuple(own), tuple(other)
