"""The part of a tensor that each device holds: its type, and its bytes in the layout with the least padding.

>>> measured(TensorType((4, 3), "bf16"), "linear")
24
"""

from __future__ import annotations

from dataclasses import field
from itertools import permutations
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout import element_type, layout_bytes
from shardy_py.indexing.layout.formats import LANES, WORD_BITS, Target
from shardy_py.ops import TensorType
from shardy_py.xla.spmd.tiling import Tiling

TILED = 2
"""The dimensions of a tile on a TPU."""
ELEMENT_BYTES = 512
"""The bytes of one element on a TPU, which has a tile of its own."""


@dataclass(frozen=True)
class LocalSizes:
    """Types and bytes of the tensors of a program, which are known by the identities of type and tiling."""

    target: Target
    _known: dict[tuple[int, int], tuple[TensorType | None, int, object]] = field(
        default_factory=dict[tuple[int, int], "tuple[TensorType | None, int, object]"]
    )

    def of(self, type_: TensorType | None, tiling: Tiling | None) -> tuple[TensorType | None, int]:
        """The type of a tensor on each device, and its bytes; of another value None and 0."""
        key = id(type_), id(tiling)
        found = self._known.get(key)
        if found is None:
            local = None if type_ is None else _local(type_, tiling)
            size = 0 if local is None else measured(local, self.target)
            found = self._known[key] = local, size, (type_, tiling)
        return found[0], found[1]


def _local(type_: TensorType, tiling: Tiling | None) -> TensorType:
    shape = tuple(size or 0 for size in type_.shape)
    return TensorType(shape if tiling is None else tuple(tiling.local_shape(shape)), type_.element)


def measured(type_: TensorType, target: Target) -> int:
    """The bytes of a tensor on a device, in the layout with the least padding."""
    shape = tuple(size or 0 for size in type_.shape)
    if target == "linear":
        return -(-prod(shape) * element_type(type_.element).bits // 8)
    return _compact(type_.element, shape)


def measured_part(part: tuple[int, ...], type_: TensorType) -> int:
    """The bytes on a TPU of a tensor of another shape, with the dimensions of a tensor in the same tiles."""
    shape = tuple(size or 0 for size in type_.shape)
    return tiled_bytes(type_.element, tuple(part[d] for d in _order(type_.element, shape)))


def least_padded(type_: TensorType) -> tuple[int, ...]:
    """Returns the order of dimensions on a TPU, major to minor, with the least padding."""
    return _order(type_.element, tuple(size or 0 for size in type_.shape))


def _compact(element: str, shape: tuple[int, ...]) -> int:
    """The bytes with the two dimensions in tiles for which there is the least padding."""
    return _bytes_in_order(element, shape, _order(element, shape))


@SESSION.cache(2048)
def _order(element: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The order of dimensions, major to minor, with the least padding; of several the last ones in tiles."""
    dimensions = range(len(shape))
    pairs = permutations(reversed(dimensions), 2) if len(shape) > 1 else [()]
    orders = ((*(d for d in dimensions if d not in pair), *reversed(pair)) for pair in pairs)
    return min(orders, key=lambda order: (_bytes_in_order(element, shape, order), order != (*dimensions,)))


@SESSION.cache(2048)
def _bytes_in_order(element: str, shape: tuple[int, ...], order: tuple[int, ...]) -> int:
    return tiled_bytes(element, tuple(shape[d] for d in order))


def tiled_bytes(element: str, sizes: tuple[int, ...]) -> int:
    """Returns the bytes of an array in tiles, with its dimensions major to minor.

    What `layout_bytes` says, but that XLA:TPU has tiles of one row for words of which the second-minor
    dimension has one, as its arguments on v5e, v5p and v6e show.

    >>> tiled_bytes("f32", (5, 1, 128)), tiled_bytes("bf16", (1, 128))
    (2560, 512)
    """
    if len(sizes) >= TILED and sizes[-TILED] == 1 and element_type(element).bits == WORD_BITS:
        return prod(sizes[:-1]) * -(-sizes[-1] // LANES) * LANES * WORD_BITS // 8
    return layout_bytes(element, sizes).padded
