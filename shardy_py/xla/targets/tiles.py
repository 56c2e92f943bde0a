"""Arrays in tiles: XLA:TPU sends whole sums where parts do not fill them, and narrow elements in words.

Arrays are in memory in tiles of 8 x 128 elements, of the last two dimensions in the order with least padding;
a sum as the part of it is. Source: what XLA:TPU makes of 170 sums and gathers of 2 to 16,384 elements a
dimension. Not here: tiles (`indexing/layout/`), which sums may be scattered (`sums.py`).

>>> scatters_in_tiles((64, 64), (16, 64), "f32"), scatters_in_tiles((32, 128), (8, 128), "f32")
(True, False)
>>> scatters_in_tiles((16, 512), (16, 128), "f32"), scatters_in_tiles((16, 512), (16, 128), "bf16")
(True, False)
>>> scatters_in_tiles((2, 64, 256), (2, 16, 256), "f32"), scatters_in_tiles((1, 64, 256), (1, 16, 256), "f32")
(True, False)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, permutations
from math import prod
from typing import Final

from shardy_py.base.session import SESSION
from shardy_py.indexing.layout import element_type, layout_bytes
from shardy_py.xla.spmd.tiling import Shape
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, PassChange

_ROWS: Final = 8
_LANES: Final = 128
_LEAST: Final = 2 * _ROWS * _LANES
"""The elements that a part of a sum has at least, with padding: a single tile is not scattered."""
_PADDING: Final = 1.5
"""How much larger rows may become by padding: a third more is padded, three fifths more is not."""
_WORD: Final = 32
_SUMMED = ("f32", "i32", "ui32", "bf16", "f64", "i64", "ui64")
"""The types of elements whose sums are sent as they are; of complex ones both parts."""
_MOST_ORDERED = 5
_CHANGE = PassChange("XLA:TPU", "parts that do not fill lanes are put into zeros, which are summed")
_IN_WORDS = PassChange(
    "tpu-all-reduce-legalizer", "elements of fewer bits are sent in words, with their tiles"
)


@SESSION.cache(1024)
def scatters_in_tiles(held: Shape, made: Shape, element: str, *, on_flat_torus: bool = True) -> bool:
    """Returns whether XLA:TPU scatters a sum: its parts fill tiles, in the order with least padding.

    held, made: the shapes of the sum and of a part. Vectors are never scattered, nor along a dimension before
    which there are only ones, as of a batch of one row a device. on_flat_torus: whether links are in two
    dimensions; in three, parts are twice as large at least, and rows are those of narrow types.
    """
    if len(held) != len(made):
        return True
    if len(held) < 2 or _is_behind_ones(held, made):
        return False
    packed = max(1, _WORD // element_type(element).bits)
    rings = 1 if on_flat_torus else 2
    return _fits(held, made, _compact_order(made, element), _LANES * packed, rings)


def _is_behind_ones(held: Shape, made: Shape) -> bool:
    """True if the first dimension that is split has others before it, all of one element."""
    split = next((i for i, (whole, own) in enumerate(zip(held, made, strict=True)) if whole != own), 0)
    return split > 0 and prod(held[:split]) == 1


@SESSION.cache(1024)
def _compact_order(shape: Shape, element: str) -> tuple[int, ...]:
    """The order of dimensions that needs least padding; of equal ones the first from the row-major one on."""
    straight = tuple(range(len(shape)))
    orders = permutations(straight) if len(shape) <= _MOST_ORDERED else [straight]
    return min(orders, key=lambda order: layout_bytes(element, tuple(shape[d] for d in order)).padded)


def _fits(held: Shape, made: Shape, order: tuple[int, ...], lane_tile: int, rings: int) -> bool:
    *major, row, lane = order
    if made[lane] != held[lane] and made[lane] % lane_tile:
        return False
    rows, others = made[row], prod(made[d] for d in major)
    if made[lane] == held[lane]:
        rows, others = (rows, others // rings) if others % rings == 0 else (-(-rows // rings), others)
    padded = _up(rows, _ROWS)
    if made[row] != held[row] and padded > _PADDING * rows:
        return False
    return others * padded * _up(made[lane], _LANES) >= _LEAST


def _up(size: int, tile: int) -> int:
    return -(-size // tile) * tile


def summed(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with sums instead of gathers of vectors whose parts are not whole rows of lanes.

    Dimensions of one element do not matter.

    all_gather(x)  ->  all_reduce(dynamic_update_slice(zeros, x))
    """
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer = node.transfer
        if transfer is None or transfer.kind != "all_gather":
            continue
        held, made = transfer.collective.held_shape, transfer.collective.made_shape
        whole = made or (prod(held) * transfer.collective.group_size,)
        if held and prod(whole) == max(whole) and prod(held) % _LANES:
            collective = replace(
                transfer.collective, kind="all_reduce", held_shape=whole, made_shape=whole, key=None
            )
            new[number] = replace(node, transfer=transfer.changed(_CHANGE, collective))
    return body.edited(new, {})


def in_words(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with sums of words of 32 bits instead of Booleans, bytes, and halves other than bf16.

    all_reduce(x) of i1  ->  all_reduce of ui32, as many as x has in memory with its tiles
    """
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer = node.transfer
        if transfer is None or transfer.kind != "all_reduce":
            continue
        element, shape = transfer.collective.element_type, transfer.result_shape
        if element in _SUMMED or "complex" in element:
            continue
        words = (_tiled_bytes(shape, element) * 8 // _WORD,) if shape else ()
        collective = replace(
            transfer.collective, element_type="ui32", held_shape=words, made_shape=words, key=None
        )
        made = replace(
            transfer.changed(_IN_WORDS, collective), reduction=f"{transfer.reduction} of {element}"
        )
        new[number] = replace(node, transfer=made)
    return body.edited(new, {})


def _tiled_bytes(shape: Shape, element: str) -> int:
    """The bytes of an array in the order of its dimensions that needs least padding."""
    return layout_bytes(element, tuple(shape[d] for d in _compact_order(shape, element))).padded
