"""The orders in which XLA:TPU has the dimensions of what an op reads and makes, where it needs one.

Gathers and scatters of rows have the dimensions of indices first; a convolution has batch and features in
tiles, whichever pads less, of which a smaller batch takes parts of a spatial dimension, until a tile is full
(space to batch); what is sorted is in rows, unless it fills lanes with less padding; what the largest
elements are selected of is in columns. Source: the HLO of XLA:TPU for about 400 programs; openxla/xla,
xla/service/space_to_batch_converter.cc.

>>> [sorted_order(TensorType(shape), 1).minor_to_major for shape in ((8, 64), (8, 128), (512, 512))]
[(0, 1), (1, 0), (0, 1)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from math import prod
from typing import NamedTuple

from shardy_py.indexing.layout.formats import LANES, SUBLANES
from shardy_py.mlir.dialects.stablehlo import AllGatherOp
from shardy_py.ops import CALL, TABLE, OpRecord, TensorType
from shardy_py.ops.custom_calls import MATRIX, TOP_K
from shardy_py.ops.dimensions import ConvolutionDimensions, GatherDimensions, ScatterDimensions
from shardy_py.ops.reads import integer, integers
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import least_padded, tiled_bytes
from shardy_py.xla.buffers.reshaped_orders import reshaped_orders
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

_PADDING = 128 << 20
"""The bytes of padding from which on XLA:TPU of jax 0.10.2 does not put a table into rows."""


class TileOrder(NamedTuple):
    """The dimensions of a value in memory, minor to major, and the size of each as it is held."""

    minor_to_major: tuple[int, ...]
    sizes: tuple[int, ...]

    def size(self, element: str) -> int:
        """Returns the bytes of the value."""
        return tiled_bytes(element, tuple(self.sizes[d] for d in reversed(self.minor_to_major)))

    def last_of(self, type_: TensorType) -> int:
        """Returns the most minor dimension of a value with the least padding, in the shape of this order."""
        last, rank = least_padded(type_)[-1], len(self.sizes)
        return rank - 1 if last == type_.rank - 1 and rank != type_.rank else last


Needed = tuple[int, TileOrder]
"""An operand of an op, -1 for its result, -2 for a second one, with the order that it has there."""


def needed_orders(
    record: OpRecord, shapes: Sequence[tuple[int, ...]], made: tuple[int, ...]
) -> Iterator[Needed]:
    """Yields the orders that an op needs. shapes, made: of its operands and its result, on a device."""
    tiled = STORED.of(record.name).tiled
    if "minor_to_major" in record.attributes:
        own = TileOrder(integers(record.attributes, "minor_to_major"), made)
        yield -1, own
        if TABLE[record.name].elementwise(record):
            yield from ((i, own) for i, shape in enumerate(shapes) if shape == made)
        elif record.name == AllGatherOp.name and len(shapes[0]) == len(made):
            yield 0, TileOrder(own.minor_to_major, shapes[0])
    elif COMPILED.of(record.name).form is NodeForm.RESHAPE and record.results[0] is not None:
        orders = reshaped_orders(shapes[0], made, record.results[0].element)
        pairs = zip((0, -1), orders or (), (shapes[0], made), strict=False)
        yield from ((i, TileOrder(order, shape)) for i, order, shape in pairs if order is not None)
    elif tiled is Tiled.ROWS:
        yield from _rows(record, shapes, made)
    elif tiled is Tiled.IMAGES:
        yield from _images(record, shapes, made)
    elif record.name == CALL:
        yield from (_selected if selects(record) else _row_major)(record, shapes)
    elif (along := cumulated_along(record, shapes)) is not None:
        element = _element(record)
        yield -1, cumulated_order(TensorType(made, element), along)
        yield 0, cumulated_order(TensorType(shapes[0], element), along)
    elif tiled is Tiled.POOLED and len(shapes) > 1:
        windows = integers(record.attributes, "window_dimensions")
        apart = [d for d in reversed(range(len(windows))) if windows[d] == 1]
        if len(apart) > 1:
            yield from ((i, _tiled(shape, apart)) for i, shape in enumerate((made, *shapes[:2]), -1))
    elif tiled is Tiled.SORTED and len(made) > 1:
        order = sorted_order(TensorType(made, _element(record)), integer(record.attributes, "dimension", 0))
        yield -1, order
        yield from ((i, order) for i, shape in enumerate(shapes) if shape == made)


def _element(record: OpRecord) -> str:
    """The element type of the first result."""
    return "f32" if record.results[0] is None else record.results[0].element


def needs_order(record: OpRecord) -> bool:
    """Returns whether an op reads operands in its order even where another has the same size."""
    if STORED.of(record.name).tiled is Tiled.SORTED or selects(record):
        return True
    held = record.operands[0] if record.operands else None
    return held is not None and cumulated_along(record, [shape_of(held)]) is not None


def selects(record: OpRecord) -> bool:
    """Returns whether an op is the call that selects the largest elements."""
    return record.attributes.get("call_target_name") == TOP_K


def selects_in_rows(record: OpRecord) -> bool:
    """Returns whether an op selects the largest elements of not more rows than it selects of each.

    Its results are row-major then, and so is what it reads: they have one order.
    """
    made = record.results[0] if selects(record) else None
    return made is not None and least_padded(made)[-1] == made.rank - 1


def selects_of_computed(record: OpRecord) -> bool:
    """Returns whether such an op computes its operand itself: fewer rows are not copied into columns."""
    made = record.results[0] if selects_in_rows(record) else None
    return made is not None and prod(shape_of(made)[:-1]) < (made.shape[-1] or 0)


def _selected(record: OpRecord, shapes: Sequence[tuple[int, ...]]) -> Iterator[Needed]:
    """The orders of a call that selects the largest elements of each row: rows are in lanes."""
    made = [() if type_ is None else shape_of(type_) for type_ in record.results]
    for number, shape in (*enumerate(shapes[:1]), *((-1 - i, shape) for i, shape in enumerate(made))):
        if len(shape) > 1:
            *others, lanes, last = range(len(shape))
            yield number, TileOrder((lanes, last, *reversed(others)), shape)


def _row_major(record: OpRecord, shapes: Sequence[tuple[int, ...]]) -> Iterator[Needed]:
    """The orders of a call, which are row-major; of kernels that know batches any."""
    if record.attributes.get("call_target_name") in MATRIX:
        return
    made = [() if type_ is None else shape_of(type_) for type_ in record.results]
    for number, shape in (*enumerate(shapes), *((-1 - i, shape) for i, shape in enumerate(made))):
        yield number, _majored(shape, ())


def sorted_order(type_: TensorType, dimension: int) -> TileOrder:
    """Returns the order in which a value is sorted along a dimension.

    That is in rows, with another dimension in lanes, unless it fills lanes and needs less memory so.
    """
    shape = shape_of(type_)
    in_rows = _in_tiles(shape, ((d, dimension) for d in reversed(range(len(shape))) if d != dimension))
    least = least_padded(type_)[::-1]
    in_lanes = [TileOrder(least, shape)] if least[0] == dimension and shape[dimension] >= LANES else []
    return min((*in_rows, *in_lanes), key=lambda order: order.size(type_.element))


def _tiled(shape: tuple[int, ...], dimensions: Sequence[int]) -> TileOrder:
    """The order with two dimensions of some in tiles, for the least padding."""
    return min(_in_tiles(shape, permutations(dimensions, 2)), key=lambda order: order.size("f32"))


def _in_tiles(shape: tuple[int, ...], pairs: Iterable[tuple[int, int]]) -> list[TileOrder]:
    """The orders with each of some pairs of dimensions in tiles, the others row-major."""
    others = [*reversed(range(len(shape)))]
    return [TileOrder((*pair, *(d for d in others if d not in pair)), shape) for pair in pairs]


def cumulated_along(record: OpRecord, shapes: Sequence[tuple[int, ...]]) -> int | None:
    """The dimension along which a window has all elements; None for other ops, and for windows of several."""
    if COMPILED.of(record.name).form is not NodeForm.WINDOW or len(record.results) != 1:
        return None
    windows = integers(record.attributes, "window_dimensions")
    along = [d for d, size in enumerate(windows) if size > 1]
    is_one = len(along) == 1 and len(windows) > 1
    return along[0] if is_one and windows[along[0]] == shapes[0][along[0]] else None


def cumulated_order(type_: TensorType, along: int) -> TileOrder:
    """Returns the order in which elements are cumulated: lanes are the last other dimension that fills them.

    Without such a one they are what is cumulated, if that fills them; else the order has the least padding.
    Sublanes are the last of the others that fills them.

    >>> [cumulated_order(TensorType(shape), 2).minor_to_major for shape in ((256, 32, 128), (32, 2, 128))]
    [(0, 1, 2), (2, 0, 1)]
    """
    shape = shape_of(type_)
    others = [d for d in reversed(range(len(shape))) if d != along]
    lanes = next((d for d in (*others, along) if shape[d] >= LANES), None)
    if lanes is None:
        pairs = permutations(reversed(range(len(shape))), 2)
        return min(
            _in_tiles(shape, pairs),
            key=lambda order: (order.size(type_.element), -min(order.minor_to_major.index(along), 2)),
        )
    rest = [d for d in (*others, along) if d != lanes]
    sublanes = next((d for d in rest if d != along and shape[d] >= SUBLANES), rest[0])
    return _in_tiles(shape, ((lanes, sublanes),))[0]


def _majored(shape: tuple[int, ...], major: tuple[int, ...]) -> TileOrder:
    """The order with some dimensions before the others, which are row-major; first those of one element."""
    others = [d for d in range(len(shape)) if d not in major]
    kept = [d for d in others if shape[d] != 1]
    single = [d for d in others if shape[d] == 1] if kept else []
    return TileOrder((*reversed(kept or others), *sorted(major, reverse=True), *single), shape)


def _rows(
    record: OpRecord, operands: Sequence[tuple[int, ...]], made: tuple[int, ...]
) -> Iterator[tuple[int, TileOrder]]:
    """The orders of a gather or scatter of rows; none if it is of elements, or rows need much padding."""
    is_scatter = COMPILED.of(record.name).form is NodeForm.SCATTER
    numbers = (ScatterDimensions if is_scatter else GatherDimensions).of(record.attributes)
    slices = operands[-1] if is_scatter else made
    if prod(slices[d] for d in numbers.offsets) <= 1:
        return
    table = _majored(operands[0], numbers.dropped)
    if _is_padded(table, _element(record), is_scatter=is_scatter):
        return
    yield 0, table
    rows = _majored(slices, numbers.outer(len(slices)))
    yield -1, _majored(made, numbers.dropped) if is_scatter else rows
    if is_scatter and len(operands) == 3:
        yield 2, rows


def _is_padded(rows: TileOrder, element: str, *, is_scatter: bool) -> bool:
    """True if rows need twice the memory of another order, of a gather more, and much more in all."""
    size = rows.size(element)
    least = tiled_bytes(element, tuple(rows.sizes[d] for d in least_padded(TensorType(rows.sizes, element))))
    return size - least >= _PADDING and (size > 2 * least or (is_scatter and size == 2 * least))


def _images(
    record: OpRecord, operands: Sequence[tuple[int, ...]], made: tuple[int, ...]
) -> Iterator[tuple[int, TileOrder]]:
    """The orders of the image and the result of a convolution."""
    numbers = ConvolutionDimensions.of(record.attributes)
    window = max((operands[1][d] for d in numbers.kernel_spatial), default=1)
    element = _element(record)
    if "spread" in record.attributes:
        window = 0
        kernel = numbers.in_feature, numbers.out_feature, numbers.kernel_spatial
        yield 1, _image(operands[1], *kernel, window, element)
    yield 0, _image(operands[0], numbers.batch, numbers.feature, numbers.spatial, window, element)
    ends = numbers.result_batch, numbers.result_feature, numbers.result_spatial
    spread = integers(record.attributes, "spread")
    yield -1, _spread(made, ends, spread, element) if spread else _image(made, *ends, window, element)


def has_batch_in_lanes(record: OpRecord) -> bool:
    """Returns whether an op is a convolution that reads images with their batch in the lanes of tiles."""
    images = record.operands[0] if STORED.of(record.name).tiled is Tiled.IMAGES else None
    if images is None:
        return False
    batch = ConvolutionDimensions.of(record.attributes).batch
    orders = dict(
        _images(record, [shape_of(type_) for type_ in record.operands if type_], (1,) * images.rank)
    )
    return orders[0].minor_to_major[0] == batch


def _spread(
    made: tuple[int, ...],
    ends: tuple[int, int, tuple[int, ...]],
    spread: tuple[int, ...],
    element: str,
) -> TileOrder:
    """The order of a result of which each batch has parts. spread: the dimension of these, and their size."""
    batch, feature, spatial = ends
    sizes = [*made]
    sizes[batch] *= SUBLANES
    sizes[spread[0]] = spread[1]
    pairs = (feature, batch), (batch, feature)
    orders = [TileOrder((*pair, *reversed(spatial)), tuple(sizes)) for pair in pairs]
    return min(orders, key=lambda order: order.size(element))


def _image(
    shape: tuple[int, ...], batch: int, feature: int, spatial: tuple[int, ...], window: int, element: str
) -> TileOrder:
    """The order of an image: batch and features are in tiles, of which the lanes take what pads less."""
    sizes = [*shape]
    if window and spatial and shape[batch] < SUBLANES:
        split = max(spatial, key=lambda d: (shape[d], d))
        if shape[split] >= SUBLANES:
            sizes[batch] *= SUBLANES
            sizes[split] = -(-(shape[split] + window - 1) // SUBLANES)
    rest = tuple(reversed(spatial))
    orders = [TileOrder((*pair, *rest), tuple(sizes)) for pair in ((feature, batch), (batch, feature))]
    return min(orders, key=lambda order: order.size(element))


def carried_orders(step: PlannedOp) -> Iterator[Needed]:
    """Yields the orders of what a loop carries, where a step of its body says it: for each both ends."""
    body = step.blocks[-1]
    orders = {
        each.results[0]: integers(each.record.attributes, "minor_to_major")
        for each in body.steps
        if COMPILED.of(each.record.name).form is NodeForm.UPDATE
        and "minor_to_major" in each.record.attributes
    }
    for i, (name, type_) in enumerate(zip(body.results, step.record.results, strict=False)):
        if name in orders and type_ is not None:
            order = TileOrder(orders[name], shape_of(type_))
            yield from ((i, order), (-1 - i, order))
