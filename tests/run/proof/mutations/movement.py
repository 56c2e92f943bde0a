"""Elements from other places: slices, halos, updates, counts, transpositions, order of parts, padding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from tests.run.proof.mutations.edits import (
    Site,
    after,
    at_operand,
    changed,
    instead,
    is_integer,
    is_number,
    ops,
    plus,
    shape,
    short,
    splat,
    swapped,
    value_of,
)


def slice_starts(module: ModuleOp) -> Iterator[Site]:
    """A slice begins one element earlier or later."""
    for op in ops(module, "slice"):
        starts, limits = value_of(op, "start_indices"), value_of(op, "limit_indices")
        for at, (start, limit, size) in enumerate(
            zip(starts, limits, shape(operands_of(op)[0]), strict=True)
        ):
            for by in (-1, 1):
                if start + by >= 0 and limit + by <= size:
                    moved = [[n + by * (d == at) for d, n in enumerate(ends)] for ends in (starts, limits)]
                    what = f"dimension {at} by {by:+d}"
                    yield changed(op, what, start_indices=moved[0], limit_indices=moved[1])


def dynamic_starts(module: ModuleOp) -> Iterator[Site]:
    """A dynamic slice begins one element, or one part, earlier or later."""
    return _starts(module, "dynamic_slice", 1)


def update_starts(module: ModuleOp) -> Iterator[Site]:
    """An update begins one element, or one part, earlier or later."""
    return _starts(module, "dynamic_update_slice", 2)


def _starts(module: ModuleOp, name: str, first: int) -> Iterator[Site]:
    for op in ops(module, name):
        sizes = shape(op.results[0] if first == 1 else operands_of(op)[1])
        for index in range(first, len(operands_of(op))):
            for by in sorted({-1, 1, -sizes[index - first], sizes[index - first]} - {0}):
                what = f"dimension {index - first} by {by:+d}"
                yield Site(op, what, partial(at_operand, op, index, plus(by)))


def halos(module: ModuleOp) -> Iterator[Site]:
    """Of a part that comes from another device, a row is missing; or all rows are one too far."""
    for op in ops(module, "concatenate"):
        at = value_of(op, "dimension")
        for index, value in enumerate(operands_of(op)):
            if isinstance(value, OpResult) and short(value.op) == "collective_permute" and is_number(value):
                for end in (0, 1):
                    what = f"operand {index} without its {'last' if end else 'first'} row"
                    yield Site(op, what, partial(at_operand, op, index, partial(_missing, at, end)))
        if any(isinstance(v, OpResult) and short(v.op) == "collective_permute" for v in operands_of(op)):
            for end in (0, 1):
                what = "one row more" if end else "one row less"
                yield Site(op, what, partial(after, op.results[0], partial(_missing, at, end, shifts=True)))


def _missing(
    at: int, end: int, build: StablehloBuilder, value: SSAValue, *, shifts: bool = False
) -> SSAValue:
    """The value with zeros for its first or last row; shifts: the others move there."""
    sizes = list(shape(value))
    starts, limits = [0] * len(sizes), [*sizes]
    if end:
        limits[at] -= 1
    else:
        starts[at] += 1
    rest = build.slice(value, starts, limits)
    low, high = [0] * len(sizes), [0] * len(sizes)
    (low if (end == 0) != shifts else high)[at] = 1
    zero = build.reshape(build.slice(splat(build, value, 0), [0] * len(sizes), [1] * len(sizes)), [])
    return build.pad(rest, zero, low, high)


def iota_dimensions(module: ModuleOp) -> Iterator[Site]:
    """Counts along another dimension."""
    for op in ops(module, "iota"):
        given = value_of(op, "iota_dimension")
        for at in range(len(shape(op.results[0]))):
            if at != given:
                yield changed(op, f"along {at}", iota_dimension=at)


def iota_offsets(module: ModuleOp) -> Iterator[Site]:
    """Counts from 1."""
    for op in ops(module, "iota"):
        if is_number(op.results[0]):
            yield Site(op, "from 1", partial(after, op.results[0], plus(1)))


def index_offsets(module: ModuleOp) -> Iterator[Site]:
    """Look-ups and updates by indices that are off by one."""
    for op in ops(module, "gather", "scatter"):
        index = 1 if short(op) == "gather" else len(operands_of(op)) // 2
        if is_integer(operands_of(op)[index]):
            for by in (-1, 1):
                yield Site(op, f"indices {by:+d}", partial(at_operand, op, index, plus(by)))


def transpositions(module: ModuleOp) -> Iterator[Site]:
    """Two dimensions of equal sizes are swapped, or two others, and a reshape keeps the type."""
    for op in ops(module, "transpose"):
        given = value_of(op, "permutation")
        for a, b in combinations(range(len(given)), 2):
            order = list(given)
            order[a], order[b] = order[b], order[a]
            yield Site(op, f"permutation {order}", partial(_transposed, op, order))
    for op in ops(module, "dot", "dot_general", "convolution", "tanh", "add", "select", "all_gather"):
        sizes = shape(op.results[0])
        for a, b in combinations(range(len(sizes)), 2):
            if sizes[a] == sizes[b] > 1:
                order = list(range(len(sizes)))
                order[a], order[b] = b, a
                what = f"result transposed {order}"
                yield Site(op, what, partial(after, op.results[0], partial(_with_order, order)))


def _with_order(order: list[int], build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.transpose(value, order)


def _transposed(op: Operation, order: list[int]) -> None:
    build, (result,) = StablehloBuilder(op), op.results
    instead(op, build.one("reshape", (build.transpose(operands_of(op)[0], order),), type_of(result)))


def orders(module: ModuleOp) -> Iterator[Site]:
    """Parts are put together in another order."""
    for op in ops(module, "concatenate"):
        for index in range(len(operands_of(op)) - 1):
            yield Site(op, f"operands {index}, {index + 1} swapped", partial(swapped, op, index, index + 1))


def concatenations(module: ModuleOp) -> Iterator[Site]:
    """Parts are put together along another dimension, and a reshape keeps the type."""
    for op in ops(module, "concatenate"):
        at, sizes = value_of(op, "dimension"), [shape(value) for value in operands_of(op)]
        for other in range(len(sizes[0])):
            if other != at and len({(*size[:other], *size[other + 1 :]) for size in sizes}) == 1:
                yield Site(op, f"along {other}", partial(_concatenated, op, other))


def _concatenated(op: Operation, at: int) -> None:
    build = StablehloBuilder(op)
    instead(op, build.reshape(build.concatenate(operands_of(op), at), shape(op.results[0])))


def reversals(module: ModuleOp) -> Iterator[Site]:
    """A reversal is left out, or added to what is put together."""
    for op in ops(module, "reverse"):
        yield Site(op, "left out", partial(instead, op, operands_of(op)[0]))
    for op in ops(module, "all_gather", "reshape", "concatenate"):
        sizes = shape(op.results[0])
        if sizes and max(sizes) > 1:
            at = sizes.index(max(sizes))
            what = f"reversed along {at}"
            yield Site(op, what, partial(after, op.results[0], partial(_reversed, at)))


def _reversed(at: int, build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.one("reverse", (value,), type_of(value), dimensions=(at,))


def pad_amounts(module: ModuleOp) -> Iterator[Site]:
    """One element more before, and one less behind."""
    for op in ops(module, "pad"):
        low, high = value_of(op, "edge_padding_low"), value_of(op, "edge_padding_high")
        for at in range(len(low)):
            for by in (-1, 1):
                if shape(op.results[0])[at]:
                    moved = [
                        [n + s * by * (d == at) for d, n in enumerate(e)] for s, e in ((1, low), (-1, high))
                    ]
                    what = f"dimension {at} by {by:+d}"
                    yield changed(op, what, edge_padding_low=moved[0], edge_padding_high=moved[1])


def pad_values(module: ModuleOp) -> Iterator[Site]:
    """Padding of another content."""
    for op in ops(module, "pad"):
        if is_number(operands_of(op)[1]):
            for value in (7, -3):
                yield Site(op, f"value {value}", partial(at_operand, op, 1, partial(_constant, value)))


def _constant(number: float, build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return splat(build, value, number)


def broadcasts(module: ModuleOp) -> Iterator[Site]:
    """A dimension becomes another one of the result, of the same size."""
    for op in ops(module, "broadcast_in_dim"):
        given, sizes = value_of(op, "broadcast_dimensions"), shape(op.results[0])
        for index, at in enumerate(given):
            for other in range(len(sizes)):
                if other not in given and sizes[other] == sizes[at] > 1:
                    to = [*given[:index], other, *given[index + 1 :]]
                    yield changed(op, f"dimensions {to}", broadcast_dimensions=to)


def reshapes(module: ModuleOp) -> Iterator[Site]:
    """A reshape reads its operand in another order."""
    for op in ops(module, "reshape"):
        sizes = shape(operands_of(op)[0])
        large = [d for d, size in enumerate(sizes) if size > 1]
        if len(large) > 1:
            order = list(range(len(sizes)))
            order[large[0]], order[large[1]] = large[1], large[0]
            yield Site(
                op, f"operand transposed {order}", partial(at_operand, op, 0, partial(_with_order, order))
            )


MOVEMENT = {
    "slice start": slice_starts,
    "dynamic slice start": dynamic_starts,
    "update start": update_starts,
    "halo": halos,
    "iota dimension": iota_dimensions,
    "iota offset": iota_offsets,
    "index offset": index_offsets,
    "transposition": transpositions,
    "order of parts": orders,
    "concatenation": concatenations,
    "reversal": reversals,
    "padding": pad_amounts,
    "pad value": pad_values,
    "broadcast": broadcasts,
    "reshape": reshapes,
}
