"""Orders of dimensions in memory: XLA:GPU sends dimension 0, so that others are moved there and back.

>>> outwards((8, 16, 32), (8, 16, 64))
(1, 2, 0)
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.ops.dimensions import DotDimensions


def outwards(held: Sequence[int], made: Sequence[int | None]) -> tuple[int, ...]:
    """The permutation after a collective whose result has the one dimension that changed outermost.

    () if there are several, as of an exchange.
    """
    changed = [d for d, (old, new) in enumerate(zip(held, made, strict=False)) if old != new]
    if len(changed) != 1 or len(held) != len(made):
        return ()
    (moved,) = changed
    return tuple(0 if d == moved else d + (d < moved) for d in range(len(made)))


def inwards(held: Sequence[int], made: Sequence[int | None]) -> tuple[int, ...]:
    """The permutation before a collective that takes the one dimension which changes outermost.

    >>> inwards((8, 16, 64), (8, 16, 32))
    (2, 0, 1)
    """
    after = outwards(held, made)
    return tuple(sorted(range(len(after)), key=after.__getitem__))


def is_turned(numbers: DotDimensions, side: int) -> bool:
    """True if the result of a product with a vector is not in the order of the other operand's dimensions.

    side: that of the other operand. A product has dimensions of batches first.
    """
    batch, contracted = numbers.batching[side], numbers.contracting[side]
    return list(batch) != [d for d in range(max(batch, default=-1) + 1) if d not in contracted]
