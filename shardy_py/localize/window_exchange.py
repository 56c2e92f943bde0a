"""Runs any windowed op on parts of its operands, after an exchange of the elements that its windows read.

An op describes what it reads along each sharded dimension (`Windowed`, from `permutation_windows.py`); which
elements move is decided in `localize/arithmetic/windows.py`.

    %0 = sdy.manual_computation(%operand, %filler) ... {
      permutes of slices of the part, concatenate, select (what is beyond the ends), pad, dynamic_slice
      the op itself, on that
    }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.slots import BufferSlot
from shardy_py.localize.arithmetic.windows import Start, WindowExchange, WindowReads, window_exchange
from shardy_py.localize.halo_exchange import (
    LocalBuilder,
    Manual,
    Tensor,
    cut,
    manual_computation,
    zero_of,
)
from shardy_py.localize.resolution import Resolution, cut_to, padded_high
from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, resized, shape_of
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import Axes

Exchanges = Mapping[int, WindowExchange]
"""By dimension."""


@dataclass(frozen=True)
class Parts:
    """The values that an op on parts works on, each in the order of its operands.

    gathered: after the exchanges. parts: before. fillers: the scalars of operands that have one.
    """

    gathered: Sequence[Value]
    exchanges: Sequence[Exchanges]
    parts: Sequence[Value]
    fillers: Sequence[Value]


Local = Callable[[LocalBuilder, Parts], Sequence[Value]]
"""Inserts the op on parts and returns the parts of its results."""


@dataclass(frozen=True)
class Operand:
    """An operand of a windowed op.

    reads: what the op reads along dimensions that it moves along, or the exchange of it; elementwise along
    the others.
    filler: the scalar operand that stands for elements beyond the ends; None: zero. is_filled: whether any
    element beyond the ends is read.
    """

    value: Value
    sharding: TensorSharding
    reads: Mapping[int, WindowReads | WindowExchange] = field(
        default_factory=dict[int, WindowReads | WindowExchange]
    )
    filler: Value | None = None
    is_filled: bool = True


@dataclass(frozen=True)
class Windowed:
    """A windowed op.

    operands: those with parts. results: of the op, in order. insert: the op on parts.
    must_exchange: whether replication is not an alternative.
    replaces: the op whose results these are, if not the one described, which then has no other use.
    """

    mesh: Mesh
    operands: Sequence[Operand]
    results: Sequence[Tensor]
    insert: Local
    must_exchange: bool = False
    replaces: Operation | None = None


def exchange_windows(op: Operation, windowed: Windowed, state: Resolution) -> str:
    """Replaces an op by one on parts; returns why not, or an empty string."""
    reason = unworthy(windowed)
    if reason:
        return reason
    exchanges = _exchanges(windowed)
    shardings = [operand.sharding for operand in windowed.operands]
    shardings += [sharding for _, sharding in windowed.results]
    moved: Axes = tuple(
        axis for o in windowed.operands for d in o.reads for axis in o.sharding.dimensions[d].axes
    )
    manual = Manual.of(windowed.mesh, moved, shardings)
    scalar = TensorSharding(shardings[0].mesh, ())
    fillers = [o.filler for o in windowed.operands if o.filler is not None]
    operands = [(_even(op, operand, manual), operand.sharding) for operand in windowed.operands]
    results = [
        (resized(result, manual.even_shape(sharding, shape_of(result))), sharding)
        for result, sharding in windowed.results
    ]

    def body(inner: LocalBuilder, arguments: list[Value]) -> Sequence[Value]:
        parts, scalars = arguments[: len(operands)], arguments[len(operands) :]
        rest = iter(scalars)
        gathered: list[Value] = []
        for operand, local, found in zip(windowed.operands, parts, exchanges, strict=True):
            filler = None if operand.filler is None else next(rest)
            gathered.append(_gathered(inner, operand, local, found, filler))
        return windowed.insert(inner, Parts(gathered, exchanges, parts, scalars))

    given = [*operands, *((value, scalar) for value in fillers)]
    made = manual_computation(op, manual, state.devices, given, results, body)
    values = [
        cut_to(StablehloBuilder(op, sharding), value, result.type)
        for value, (result, sharding) in zip(made, windowed.results, strict=True)
    ]
    replace_by_values(op, values)
    return ""


def unworthy(windowed: Windowed) -> str:
    """Why gathering takes less than the exchange; empty if it does not."""
    reads = [read for operand in windowed.operands for read in operand.reads.values()]
    if any(isinstance(read, WindowReads) and read.part_in == 0 for read in reads):
        return "parts without elements have nothing to exchange"
    if not windowed.must_exchange:
        for found in _exchanges(windowed):
            for dimension, exchange in found.items():
                if not exchange.is_worthwhile:
                    return f"parts of dimension {dimension} need elements of {exchange.permutes} other parts"
    return ""


def _exchanges(windowed: Windowed) -> list[Exchanges]:
    return [
        {d: r if isinstance(r, WindowExchange) else window_exchange(r) for d, r in o.reads.items()}
        for o in windowed.operands
    ]


def _even(op: Operation, operand: Operand, manual: Manual) -> Value:
    build = StablehloBuilder(op, operand.sharding)
    shape = manual.even_shape(operand.sharding, shape_of(operand.value))
    return padded_high(build, operand.value, shape, operand.filler)


def _gathered(
    inner: LocalBuilder, operand: Operand, local: Value, exchanges: Exchanges, filler: Value | None
) -> Value:
    """The elements that a part reads, along all dimensions."""
    is_zero = operand.filler is None or is_zero_constant(operand.filler)
    build = inner.build_for(operand.sharding)
    for dimension, exchange in exchanges.items():
        axes = operand.sharding.dimensions[dimension].axes
        local = _buffer(inner, build, local, exchange, dimension, axes)
        padding = zero_of(inner.plain, local) if filler is None else filler
        if exchange.is_masked and operand.is_filled and not is_zero:
            local = _filled(inner, build, local, exchange, dimension, axes, padding)
        low, high, interior = ([0] * len(shape_of(local)) for _ in range(3))
        low[dimension], high[dimension], interior[dimension] = exchange.pads
        if any(exchange.pads):
            local = build.pad(local, padding, low, high, interior)
        if exchange.is_cut:
            local = cut_from(inner, build, local, dimension, axes, exchange.start, exchange.size)
    return local


def _buffer(
    inner: LocalBuilder,
    build: StablehloBuilder,
    local: Value,
    exchange: WindowExchange,
    dimension: int,
    axes: Axes,
) -> Value:
    pieces: list[Value] = []
    for piece in exchange.pieces:
        sizes = shape_of(local)
        value = local
        if isinstance(piece, BufferSlot):
            start = Start.by_part(np.array(piece.starts))
            value = cut_from(inner, build, local, dimension, axes, start, piece.size)
        elif (piece.start, piece.stop) != (0, sizes[dimension]):
            starts, limits = [0] * len(sizes), list(sizes)
            starts[dimension], limits[dimension] = piece.start, piece.stop
            value = build.slice(local, starts, limits)
        if not exchange.is_own(piece):
            pairs = exchange.pairs(piece, inner.mesh, axes)
            if len(pairs):
                value = inner.permute(value, pairs, build)
            else:
                value = build.broadcast(zero_of(inner.plain, local), shape_of(value))
        pieces.append(value)
    return build.concatenate(pieces, dimension)


def _filled(
    inner: LocalBuilder,
    build: StablehloBuilder,
    value: Value,
    exchange: WindowExchange,
    dimension: int,
    axes: Axes,
    filler: Value,
) -> Value:
    """The buffer with the filler where its elements are beyond the ends of the operand."""
    plain, shape, source = inner.plain, shape_of(value), exchange.source
    index = positions(inner, shape[dimension], axes, source.part_in, exchange.first)
    count = plain.broadcast(plain.integer(source.size_in), shape_of(index))
    zero = plain.broadcast(plain.integer(0), shape_of(index))
    inside = plain.binary("and", plain.compare("GE", index, zero), plain.compare("LT", index, count))
    predicate = build.broadcast(inside, shape, [dimension])
    return build.select(predicate, value, build.broadcast(filler, shape))


def positions(inner: LocalBuilder, size: int, axes: Axes, slope: int, base: int) -> Value:
    """[size] of `i64`: 0, 1, ... plus the position of the device along `axes` times `slope`, plus `base`."""
    start = inner.plain.broadcast(inner.linear(axes, slope, base), [size])
    return inner.plain.binary("add", inner.plain.iota([size], 0, i64), start)


def cut_from(
    inner: LocalBuilder,
    build: StablehloBuilder,
    value: Value,
    dimension: int,
    axes: Axes,
    start: Start,
    size: int,
) -> Value:
    """`size` elements of the part along a dimension that is sharded along `axes`, from `start` on."""
    sizes, begin = shape_of(value), start.base
    if not start.is_constant:
        offset = inner.start(axes, start)
        return cut(build, value, dimension, offset, size, inner.plain.integer(0))
    if (begin, size) == (0, sizes[dimension]):
        return value
    starts, limits = [0] * len(sizes), list(sizes)
    starts[dimension], limits[dimension] = begin, begin + size
    return build.slice(value, starts, limits)


def is_zero_constant(value: Value) -> bool:
    """True if a constant has zeros only, by their bits."""
    constant = constant_of(value)
    data = getattr(getattr(constant and constant.properties.get("value"), "data", None), "data", b"?")
    return isinstance(data, bytes) and not any(data)
