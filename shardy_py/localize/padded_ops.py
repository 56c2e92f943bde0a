"""Padding of the operands and results of an op: what it masks, keeps or leaves.

    sdy collectives         pad what they slice, trim what they gather
    pad, slice, gather      attributes with sizes follow the padded types
    constants               get elements for the padding
    ops that combine        find neutral elements in padding (`localize/arithmetic/masks.py`)

Any other op takes padding for data: what it computes from it is padding of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.localize.arithmetic.masks import Fill, Mask, Masks, convolution_masks, reduce_masks
from shardy_py.localize.padded_indices import clamped, limited
from shardy_py.localize.padding_masks import masked, scalar
from shardy_py.localize.window_exchange import is_zero_constant
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.faults import Fault, diagnostic
from shardy_py.mlir.dialects.stablehlo import OPS, PadOp, ReduceWindowOp, SliceOp
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.stablehlo.verify.windows import convolution_sizes
from shardy_py.mlir.dialects.traits import is_foldable_constant
from shardy_py.mlir.ir import operands_of, replace_operand
from shardy_py.mlir.movements import Insertion, note, replace_by_values
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import combiners_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.dense import element_size, is_splat, make_dense
from shardy_py.mlir.typed import integers_of, property_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import Identity, OpRecord
from shardy_py.ops.dimensions import ConvolutionDimensions, GatherDimensions, Window, own_windows
from shardy_py.sharding import TensorSharding

_AMOUNTS = ("edge_padding_low", "edge_padding_high", "interior_padding")
Sizes = tuple[int, ...]
Padding = Callable[["Operation", "Padded"], None]
"""The treatment of padding in an op's operands and results."""


class Padded:
    """The padded values of a module.

    true_shapes: the shape of each without padding.
    masks_all: whether padding is replaced also where Shardy leaves it.
    """

    def __init__(
        self, true_shapes: dict[SSAValue, Sizes], reader: ShardingReader, *, masks_all: bool
    ) -> None:
        self._true_shapes = true_shapes
        self._reader = reader
        self.masks_all = masks_all
        self.adapts = not masks_all and Behaviour.PADDED_OPS_ADAPT.holds
        self.zeros: set[SSAValue] = set()
        """The values whose padding is zero."""

    def true_shape(self, value: SSAValue) -> Sizes:
        """The shape without padding."""
        return self._true_shapes.get(value) or shape_of(value)

    def is_padded(self, value: SSAValue) -> bool:
        """True if the value has padding."""
        return value in self._true_shapes

    def sharding(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of a value."""
        return self._reader.of(value)

    def mask(self, op: Operation, mask: Mask) -> None:
        """Replaces the padding of an operand."""
        value = operands_of(op)[mask.operand]
        if not self.is_padded(value) or (value in self.zeros and self._is_zero(op, mask)):
            return
        true, sizes = self.true_shape(value), shape_of(value)
        if all(true[d] == sizes[d] for d in mask.dimensions):
            if mask.fill is Identity.ZERO and not self.masks_all and Behaviour.PRODUCTS_MAKE_ZEROS.holds:
                scalar(StablehloBuilder(op), mask.fill, element_of(value))  # Shardy makes it, and leaves it
            return
        sharding = self.sharding(value)
        if mask.fill is Fill.OUT_OF_BOUNDS and element_size(element_of(value)) < element_size(i32):
            # A narrow index may have no value out of bounds.
            value = StablehloBuilder(op, sharding).convert(value, i32)
        if mask.fill is Fill.INITIAL:
            fill = operands_of(op)[mask.operand + len(op.results)]
        else:
            fill = scalar(StablehloBuilder(op), mask.fill, element_of(value))
        new = masked(value, true, mask.dimensions, fill, op, sharding)
        replace_operand(op, mask.operand, new)

    def _is_zero(self, op: Operation, mask: Mask) -> bool:
        if mask.fill is Fill.INITIAL:
            initial = operands_of(op)[mask.operand + len(op.results)]
            is_seen = isinstance(initial, OpResult) and is_foldable_constant(initial.op)
            return is_seen and self.adapts and is_zero_constant(initial)
        return mask.fill is Identity.ZERO

    def grow(self, op: Operation, shape: Sizes) -> bool:
        """Pads operand 0 to `shape` with zeros; returns whether all its padding is zero."""
        value = operands_of(op)[0]
        is_zero = value in self.zeros
        sizes = shape_of(value)
        if sizes == shape:
            return is_zero
        build = StablehloBuilder(op, self.sharding(value))
        zero = scalar(build, Identity.ZERO, element_of(value))
        high = [new - old for new, old in zip(shape, sizes, strict=True)]
        replace_operand(op, 0, build.pad(value, zero, (0,) * len(high), high))
        return is_zero or not self.is_padded(value)

    def replace(self, op: Operation, value: Value, *, is_zero: bool = False) -> None:
        """Replaces the result of `op`, which may be padded, by `value`."""
        true = self._true_shapes.pop(op.results[0], None)
        if true is not None and true != shape_of(value):
            self._true_shapes[value] = true
        if is_zero:
            self.zeros.add(value)
        replace_by_values(op, (value,))


def slicing(op: Operation, padded: Padded) -> None:
    """A collective after which dimensions are sharded further."""
    result = op.results[0]
    if padded.grow(op, shape_of(result)):
        padded.zeros.add(result)


def gathering(op: Operation, padded: Padded) -> None:
    """A collective after which some dimensions are sharded less: their padding is trimmed."""
    result = op.results[0]
    wanted = shape_of(result)
    shape = tuple(map(max, shape_of(operands_of(op)[0]), wanted))
    is_zero = padded.grow(op, shape)
    true = padded.true_shape(result)
    is_trimmed = shape != wanted or (
        padded.adapts and any(shape[dimension] > true[dimension] for dimension in _gathered(op))
    )
    if not is_trimmed:
        if is_zero:
            padded.zeros.add(result)
        return
    new = ir.build_operation(
        type(op),
        operands_of(op),
        (resized(result, shape),),
        dict(op.properties),
        dict(op.attributes),
        op.location,
    )
    ir.place_before(new, op)
    note(Insertion(new, op))
    build = StablehloBuilder(op, padded.sharding(result))
    trimmed = build.slice(new.results[0], (0,) * len(wanted), wanted)
    padded.replace(op, trimmed, is_zero=is_zero)


def _gathered(op: Operation) -> Iterator[int]:
    """The dimensions that a collective gathers in part; Shardy slices them also where nothing is trimmed."""
    if isinstance(op, sdy.AllToAllOp):
        yield from (source for _, source, _ in op.params.data)
    elif isinstance(op, sdy.AllGatherOp):
        yield from (dimension for dimension, axes in enumerate(op.gathering_axes.data) if axes)


def masking(masks: Callable[[OpRecord], Masks], *, beyond_shardy: bool = False) -> Padding:
    """The treatment by an op that combines elements; beyond_shardy: whether Shardy leaves the padding."""

    def mask_padding(op: Operation, padded: Padded) -> None:
        for mask in masks(record_of(op)) if padded.masks_all or not beyond_shardy else ():
            padded.mask(op, mask)

    return mask_padding


def reduce(op: Operation, padded: Padded) -> None:
    """Shardy masks with the initial value, whatever combines the values."""
    if padded.masks_all or padded.adapts:
        combiners = combiners_of(op) if padded.masks_all else (None,) * len(op.results)
        for mask in reduce_masks(record_of(op), combiners):
            padded.mask(op, mask)


def convolution(op: Operation, padded: Padded) -> None:
    """The result has the sizes that follow from padded operands, and is trimmed to those it should have."""
    if Behaviour.PADDED_OPS_ADAPT.holds:
        _add_groups(op, padded)
    masking(convolution_masks)(op, padded)
    result = op.results[0]
    wanted = shape_of(result)
    try:
        made = tuple(size or 0 for size in convolution_sizes(View(op)))
    except Fault as fault:
        raise ShardyError(diagnostic(fault, op)) from None
    if made == wanted:
        return
    if any(size < target for size, target in zip(made, wanted, strict=True)):
        raise ShardyError.unexpected(
            "result", expected=f"at least {list(wanted)} after padding its operands", got=f"{list(made)}"
        )
    build = StablehloBuilder(op, padded.sharding(result))
    new = ir.build_operation(
        type(op),
        operands_of(op),
        (resized(result, made),),
        dict(op.properties),
        dict(op.attributes),
        op.location,
    )
    ir.place_before(new, op)
    padded.replace(op, build.slice(new.results[0], (0,) * len(wanted), wanted))


def _add_groups(op: Operation, padded: Padded) -> None:
    """Makes each index of padding a group, where each index of the dimension is one."""
    image, numbers = operands_of(op)[0], ConvolutionDimensions.of(record_of(op).attributes)
    for name, dimension, groups in (
        ("feature_group_count", numbers.feature, numbers.feature_groups),
        ("batch_group_count", numbers.batch, numbers.batch_groups),
    ):
        size, true = shape_of(image)[dimension], padded.true_shape(image)[dimension]
        if size != true == groups > 1:
            _set(op, **{name: size})


def _set(op: Operation, **attributes: Sequence[int] | int) -> None:
    """Sets attributes that are integers, or lists of them."""
    slots = {slot.name: slot.kind for slot in OPS.rows[op.name.removeprefix("stablehlo.")].attributes}
    for name, value in attributes.items():
        given = value if isinstance(value, int) else tuple(value)
        op.properties[name] = slots[name].encode(given)


def pad(op: Operation, padded: Padded) -> None:
    """The trailing padding is what is left of the result.

    Elements of the operand's padding that land in the result must hold the padding value. Shardy replaces
    them only where the trailing padding becomes smaller.
    """
    value = operands_of(op)[0]
    low, high, interior = (integers_of(op, name) for name in _AMOUNTS)
    sizes, wanted, true = shape_of(value), shape_of(op.results[0]), padded.true_shape(value)
    left = tuple(
        result - before - size - max(size - 1, 0) * inner
        for result, size, before, inner in zip(wanted, sizes, low, interior, strict=True)
    )
    is_reduced = any(new < old for new, old in zip(left, high, strict=True))
    is_read = padded.masks_all and any(
        size != kept and after > inner
        for size, kept, after, inner in zip(sizes, true, high, interior, strict=True)
    )
    if is_reduced or is_read:
        fill = operands_of(op)[1]
        new = masked(value, true, range(len(sizes)), fill, op, padded.sharding(value))
        replace_operand(op, 0, new)
    _set(op, edge_padding_high=left)


def sized_result(op: Operation, operand: Attribute) -> Attribute | None:
    """The result of a slice, pad or windowed reduction of an operand of a padded type, by its own sizes.

    None of other ops, and where windows or amounts would reach elements of the padding.
    """
    if isinstance(op, SliceOp):
        return op.results[0].type
    if isinstance(op, PadOp):
        amounts = zip(*(integers_of(op, name) for name in _AMOUNTS), strict=True)
        moved = [any(each) for each in amounts]
    elif isinstance(op, ReduceWindowOp) and len(op.results) == 1:
        windows = own_windows(record_of(op).attributes, len(shape_of(op.results[0])))
        moved = [window != Window(1) for window in windows]
    else:
        return None
    result, sizes = op.results[0], list[int]()
    types = map(tensor_type, (operand, operands_of(op)[0].type, result.type))
    shapes = [type_.shape for type_ in types if type_ is not None]
    for large, size, made, moves in zip(*shapes, moved, strict=True):
        if large != size and moves:
            return None
        sizes.append(made if large == size else large)
    return resized(result, sizes)


def slice_(op: Operation, padded: Padded) -> None:
    """The limits are those of the padded result."""
    result = op.results[0]
    if not padded.is_padded(result):
        return
    starts, limits, strides = (
        integers_of(op, name) for name in ("start_indices", "limit_indices", "strides")
    )
    true, sizes = padded.true_shape(result), shape_of(result)
    is_tight = padded.adapts and sizes != true
    new = [
        limit if size == kept and not is_tight else start + (size - 1) * stride + 1
        for start, limit, stride, size, kept in zip(starts, limits, strides, sizes, true, strict=True)
    ]
    _set(op, limit_indices=new)


def dynamic_slice(op: Operation, padded: Padded) -> None:
    """The sizes are those of the padded result."""
    _set(op, slice_sizes=shape_of(op.results[0]))


def dynamic_update_slice(op: Operation, padded: Padded) -> None:
    """The start indices of slices of dimensions with padding are clamped to the tensor without it."""
    value, update = operands_of(op)[:2]
    if not padded.masks_all:
        return
    sizes = zip(shape_of(value), padded.true_shape(value), padded.true_shape(update), strict=True)
    for dimension, (size, true, part) in enumerate(sizes):
        if true != size and part != true:
            start = operands_of(op)[dimension + 2]
            replace_operand(
                op,
                dimension + 2,
                clamped(StablehloBuilder(op, padded.sharding(start)), start, [true - part], 0),
            )


def gather(op: Operation, padded: Padded) -> None:
    """Slices of whole dimensions grow with them; start indices are clamped to the tensor without padding."""
    operand, indices = operands_of(op)[:2]
    numbers = GatherDimensions.of(record_of(op).attributes)
    sizes = list(integers_of(op, "slice_sizes"))
    true = padded.true_shape(operand)
    last = [true[dimension] - sizes[dimension] for dimension in numbers.index_map]
    result = shape_of(op.results[0])
    for dimension, position in numbers.windowed(len(sizes)):
        sizes[dimension] = result[position]
    _set(op, slice_sizes=sizes)
    is_cut = any(shape_of(operand)[dimension] != true[dimension] for dimension in numbers.index_map)
    if padded.masks_all and is_cut:
        replace_operand(
            op, 1, clamped(StablehloBuilder(op, padded.sharding(indices)), indices, last, numbers.vector)
        )
    elif padded.adapts and is_cut:
        replace_operand(
            op, 1, limited(StablehloBuilder(op, padded.sharding(indices)), indices, last, numbers.vector)
        )


def constant(op: Operation, padded: Padded) -> None:
    """A constant that is not one repeated value gets zeros at the end of its dimensions."""
    result = op.results[0]
    value = property_of(op, "value", DenseIntOrFPElementsAttr)
    data: bytes = value.data.data
    if not is_splat(value):
        size = element_size(element_of(result))
        true, shape = padded.true_shape(result), shape_of(result)
        array = np.frombuffer(data, np.dtype((np.void, size))).reshape(true)
        larger = np.zeros(shape, array.dtype)
        larger[tuple(map(slice, true))] = array
        data = larger.tobytes()
    op.properties["value"] = make_dense(result.type, data)


def dimension_size(op: Operation, padded: Padded) -> None:
    """The size without padding; Shardy leaves the op where the dimension has none."""
    dimension, value = cast(int, plain(op.properties["dimension"])), operands_of(op)[0]
    size = padded.true_shape(value)[dimension]
    if not padded.masks_all and size == shape_of(value)[dimension]:
        return
    replace_by_values(op, (StablehloBuilder(op).integer(size, i32),))


def reshape(op: Operation, padded: Padded) -> None:
    """Raises ShardyError if padding would be elsewhere than at the end of dimensions."""
    operand, result = operands_of(op)[0], op.results[0]
    if prod(shape_of(operand)) != prod(shape_of(result)):
        raise ShardyError.unexpected(
            "padding",
            expected="uneven dimensions whose parts the reshape keeps together",
            got=f"{list(padded.true_shape(operand))} to {list(padded.true_shape(result))}",
            remedy="run sdy-resolve-permutation-factors before",
        )
