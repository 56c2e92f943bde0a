"""Concatenations along a sharded dimension: each part takes what it holds of every operand, and selects.

Explicit reshards gather the dimension, and shard the result again. These are looked through: an operand is
padded to the result, which is a window of one element each, or, if it is small, sliced from the gathered one.
Slices of tensors that are sharded as the result are looked through, too: elements go once from where they are
to where they belong. The two slices of a rotation (`jnp.roll`) are one exchange around the ring of parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.windows import WindowReads, window_exchange
from shardy_py.localize.fallbacks import warn_whole
from shardy_py.localize.halo_exchange import LocalBuilder, cut, zero_of
from shardy_py.localize.permutation_moves import integer, integers
from shardy_py.localize.permutation_windows import NOT_SHARDED, Description
from shardy_py.localize.resolution import Resolution
from shardy_py.localize.window_exchange import Operand, Parts, Windowed, positions
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, SliceOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, shape_of
from shardy_py.ops.dimensions import Window
from shardy_py.passes.export.communication_ops import only_user
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import Axes, total_size


def concatenated_parts(op: Operation, state: Resolution) -> Description:
    """`concatenate`: element i is element i - offset of one operand."""
    dimension = integer(op, "dimension")
    made = _sharded_result(op, dimension, state)
    found = None if made is None else state.sharded(made.results[0])
    if made is None or found is None:
        return NOT_SHARDED
    sharding, mesh = found
    axes, total = sharding.dimensions[dimension].axes, shape_of(op.results[0])[dimension]
    parts, operands, offsets = total_size(axes, mesh), list[Operand](), [0]
    if (rotated := _rotated(op, dimension, sharding, parts, state)) is not None:
        return Windowed(mesh, [rotated], [(made.results[0], sharding)], _only, replaces=made)
    for value in operands_of(op):
        size = shape_of(value)[dimension]
        if not size:
            continue
        window = Window(1, low=offsets[-1], high=total - offsets[-1] - size)
        read = WindowReads(parts, size, total, window)
        operand = _operand(value, sharding, dimension, read, state)
        if operand is None:
            return _gathered(op, dimension, state)
        operands.append(operand)
        offsets.append(offsets[-1] + size)
    if not any(operand.reads for operand in operands):
        return NOT_SHARDED
    count = -(-total // parts)

    def local(inner: LocalBuilder, given: Parts) -> Sequence[Value]:
        index = positions(inner, count, axes, count, 0)
        result: Value | None = None
        for operand, value, offset in zip(operands, given.gathered, offsets, strict=False):
            own = value if operand.reads else _slice(inner, value, dimension, axes, count, offset)
            if result is None:
                result = own
                continue
            bound = inner.plain.broadcast(inner.plain.integer(offset), [count])
            before = inner.plain.compare("LT", index, bound)
            shape = shape_of(own)
            result = inner.build.select(inner.build.broadcast(before, shape, [dimension]), result, own)
        assert result is not None
        return [result]

    return Windowed(mesh, operands, [(made.results[0], sharding)], local, replaces=made)


def joins_slices(op: Operation, state: Resolution) -> bool:
    """True if an op is a concatenation that looks through slices, which so are not exchanged on their own."""
    if not isinstance(op, ConcatenateOp):
        return False
    dimension = integer(op, "dimension")
    made = _sharded_result(op, dimension, state)
    found = None if made is None else state.sharded(made.results[0])
    if found is None:
        return False
    return any(_sliced(value, dimension, found[0], state) is not None for value in operands_of(op))


@dataclass(frozen=True, slots=True)
class _Sliced:
    """Elements `start` to `limit` of a tensor along the dimension."""

    source: Value
    start: int
    limit: int


def _sliced(value: Value, dimension: int, result: TensorSharding, state: Resolution) -> _Sliced | None:
    """The elements that a slice along the dimension alone takes of a tensor sharded as the result."""
    op = value.owner
    if not isinstance(op, SliceOp):
        return None
    source, shape = operands_of(op)[0], shape_of(value)
    starts, strides = integers(op, "start_indices"), integers(op, "strides")
    sharding = state.reader.of(source)
    sizes = (*shape_of(source)[:dimension], shape[dimension], *shape_of(source)[dimension + 1 :])
    if shape != sizes or strides[dimension] != 1 or sharding is None or _layout(sharding) != _layout(result):
        return None
    return _Sliced(source, starts[dimension], integers(op, "limit_indices")[dimension])


def _rotated(
    op: Operation, dimension: int, result: TensorSharding, parts: int, state: Resolution
) -> Operand | None:
    """The tensor that a concatenation of its end and its start rotates; None if it is another one."""
    pieces = [_sliced(value, dimension, result, state) for value in operands_of(op)]
    total = shape_of(op.results[0])[dimension]
    if len(pieces) != 2 or total % parts:
        return None
    end, start = pieces
    if end is None or start is None or end.source is not start.source:
        return None
    size = shape_of(end.source)[dimension]
    if (start.start, start.limit, end.limit, size) != (0, end.start, total, total):
        return None
    by = start.limit
    read = WindowReads(parts, total, total, Window(1, low=-by, high=by), is_ring=True)
    return Operand(end.source, result, {dimension: read}, is_filled=False)


def _only(inner: LocalBuilder, given: Parts) -> Sequence[Value]:
    """The part of the only operand, after the exchange."""
    return given.gathered


def _gathered(op: Operation, dimension: int, state: Resolution) -> Description:
    """Warns of the operands that explicit reshards gather along the dimension."""
    gathered: list[Value] = []
    for value in operands_of(op):
        maker = value.owner
        source = state.reader.of(operands_of(maker)[0]) if isinstance(maker, sdy.ReshardOp) else None
        if source is not None and source.dimensions[dimension].axes:
            gathered.append(value)
    if gathered:
        warn_whole(op, "its operands are sharded in several ways", gathered)
    return NOT_SHARDED


def _sharded_result(op: Operation, dimension: int, state: Resolution) -> Operation | None:
    """`op` if its result is sharded along the dimension, or the reshard that shards it."""
    user = only_user(op)
    for candidate in (op, user if isinstance(user, sdy.ReshardOp) else None):
        sharding = None if candidate is None else state.reader.of(candidate.results[0])
        if sharding is not None and sharding.dimensions[dimension].axes:
            return candidate
    return None


def _operand(
    value: Value, result: TensorSharding, dimension: int, read: WindowReads, state: Resolution
) -> Operand | None:
    """An operand sharded as the result, else whole along the dimension; None if others differ."""
    if (piece := _sliced(value, dimension, result, state)) is not None:
        size = shape_of(piece.source)[dimension]
        low, high = read.window.low - piece.start, read.window.high - (size - piece.limit)
        sliced = replace(
            read, size_in=size, window=Window(1, low=low, high=high), limits=(piece.start, piece.limit)
        )
        if window_exchange(sliced).is_worthwhile:
            return Operand(piece.source, result, {dimension: sliced}, is_filled=False)
    exchanged = bool(shape_of(value)[dimension]) and window_exchange(read).is_worthwhile
    maker = value.owner if isinstance(value.owner, sdy.ReshardOp) else None
    for source in (value, *(operands_of(maker) if maker is not None else ())):
        sharding = state.reader.of(source)
        if sharding is not None and _layout(sharding) == _layout(result) and exchanged:
            return Operand(source, sharding, {dimension: read}, is_filled=False)
    dimensions = list(result.dimensions)
    dimensions[dimension] = replace(dimensions[dimension], axes=())
    whole = replace(result, dimensions=tuple(dimensions))
    sharding = state.reader.of(value)
    if sharding is None or _layout(sharding) != _layout(whole):
        return None
    return Operand(value, sharding)


def _layout(sharding: TensorSharding) -> tuple[object, ...]:
    axes = tuple(dimension.axes for dimension in sharding.dimensions)
    return sharding.mesh, axes, sharding.unreduced_axes, sharding.reduction


def _slice(inner: LocalBuilder, value: Value, dimension: int, axes: Axes, count: int, offset: int) -> Value:
    """The elements of a whole operand that a part of the result holds; others are padding."""
    build: StablehloBuilder = inner.build
    edge, none = [0] * len(shape_of(value)), [0] * len(shape_of(value))
    edge[dimension] = count
    padded = build.pad(value, zero_of(inner.plain, value), edge, edge, none)
    start = inner.linear(axes, count, count - offset)
    return cut(build, padded, dimension, start, count, inner.plain.integer(0))


def erase_unused(values: Sequence[Value]) -> None:
    """Erases the ops of values without uses, and then reshards that only they used."""
    for value in values:
        op = value.owner
        if isinstance(op, Operation) and all(result.first_use is None for result in op.results):
            before = [v for v in operands_of(op) if isinstance(v.owner, sdy.ReshardOp)]
            ir.erase(op)
            erase_unused(list(dict.fromkeys(before)))
