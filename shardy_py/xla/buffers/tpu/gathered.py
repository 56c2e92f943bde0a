"""The orders of dimensions in which XLA:TPU gathers: parts of devices are whole tiles, one behind the other.

    bf16[16,64,96] gathered to [16,64,384]: lanes of 384 have tiles with elements of two devices,
    so lanes are 64 elements, which are padded to 128

Source: the layouts of 700 gathers in programs that XLA:TPU compiled for v5p. Not here: gathers of vectors,
which are sums (`xla/targets/tiles.py`).

>>> gathered_order((16, 64, 96), (16, 64, 384), "bf16"), gathered_order((16, 64, 128), (16, 64, 512), "bf16")
((1, 0, 2), None)
"""

from __future__ import annotations

from itertools import permutations

from shardy_py.base.session import SESSION
from shardy_py.indexing.layout.formats import LANES, SUBLANES
from shardy_py.xla.buffers.local_sizes import TILED, tiled_bytes

Shape = tuple[int, ...]


@SESSION.cache(4096)
def gathered_order(held: Shape, made: Shape, element: str) -> Shape | None:
    """Returns the dimensions of what is gathered in the order with the least padding, minor to major.

    held, made: the shapes of a part and of the whole. None if that is the least of all orders, or parts are
    along several dimensions.
    """
    grown = [d for d, (old, new) in enumerate(zip(held, made, strict=False)) if old != new]
    if len(held) != len(made) or len(grown) != 1 or len([size for size in made if size > 1]) <= TILED:
        return None
    (dimension,) = grown
    rest = [d for d in reversed(range(len(made))) if d != dimension]
    sizes: dict[Shape, int] = {}
    for tile in permutations((dimension, *rest), TILED):
        order = (*tile, *(d for d in (*rest, dimension) if d not in tile))
        sizes[order] = tiled_bytes(element, tuple(made[d] for d in reversed(order)))
    filled = {order: size for order, size in sizes.items() if _fills(held, order, dimension)}
    if not filled or min(filled.values()) == min(sizes.values()):
        return None
    # Of equal ones the parts are whole values one behind the other.
    return min(filled, key=lambda order: (filled[order], -order.index(dimension)))


def _fills(held: Shape, order: Shape, dimension: int) -> bool:
    """True if parts along a dimension have no tile with elements of two devices."""
    place = order.index(dimension)
    return place >= TILED or held[dimension] % (LANES, SUBLANES)[place] == 0
