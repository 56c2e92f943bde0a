"""The elements that windowed ops read along their sharded dimensions: one description an op.

Each describes its sharded dimensions by windows (`ops/windowed.py`), and inserts itself on parts, with the
padding and dilation that its windows have there. `window_exchange.py` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xdsl.ir import Operation

from shardy_py.localize.arithmetic.windows import WindowReads
from shardy_py.localize.halo_exchange import LocalBuilder
from shardy_py.localize.identities import identity_data, is_constant_of
from shardy_py.localize.permutation_moves import integers, is_local_pad, is_local_slice
from shardy_py.localize.resolution import Resolution, parts_of
from shardy_py.localize.window_exchange import Exchanges, Operand, Parts, Windowed
from shardy_py.mlir.ir import blocks_of, operands_of, walk_pre_order
from shardy_py.mlir.record import combiners_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops.dimensions import Window, own_windows
from shardy_py.sharding import Mesh, TensorSharding

NOT_SHARDED = Windowed(Mesh(), (), (), lambda _inner, _parts: ())
"""Nothing to do."""

Description = Windowed | str
"""A windowed op, or why it is replicated."""


def moved_along(
    windows: Sequence[Window],
    shapes: tuple[Sequence[int], Sequence[int]],
    sharding: TensorSharding,
    mesh: Mesh,
) -> dict[int, WindowReads]:
    """The dimensions that are sharded and not read element by element; `shapes`: operand and result."""
    sizes = zip(parts_of(sharding, mesh), *shapes, windows, strict=True)
    reads = {dimension: WindowReads(*size) for dimension, size in enumerate(sizes)}
    return {d: found for d, found in reads.items() if found.parts > 1 and not found.is_elementwise}


def one_operand(
    op: Operation,
    state: Resolution,
    windows: Sequence[Window],
    filler: Value | None,
    insert: Callable[[StablehloBuilder, Parts], Value],
) -> Description:
    """An op with one tensor operand and one result, sharded alike.

    insert: inserts the op on a part.
    """
    value, result = operands_of(op)[0], op.results[0]
    found = state.sharded(value)
    if found is None:
        return NOT_SHARDED
    sharding, mesh = found
    reads = moved_along(windows, (shape_of(value), shape_of(result)), sharding, mesh)
    if not reads:
        return NOT_SHARDED

    def local(inner: LocalBuilder, parts: Parts) -> Sequence[Value]:
        return [insert(inner.build, parts)]

    return Windowed(mesh, [Operand(value, sharding, reads, filler)], [(result, sharding)], local)


# ---------------------------------------------------------------------- one element a window


def slice_windows(op: Operation, state: Resolution) -> Description:
    """`slice`: element i is element start + i * stride."""
    starts, strides, limits = (integers(op, name) for name in ("start_indices", "strides", "limit_indices"))
    if _is_all_local(op, state, is_local_slice):
        return NOT_SHARDED
    windows = [Window(1, stride, -start) for start, stride in zip(starts, strides, strict=True)]

    whole = shape_of(operands_of(op)[0])

    def insert(build: StablehloBuilder, parts: Parts) -> Value:
        (value,), first, last = parts.gathered, list(starts), list(limits)
        sizes = shape_of(value)
        for dimension, size in enumerate(sizes):
            if dimension in parts.exchanges[0] or last[dimension] - first[dimension] == whole[dimension]:
                first[dimension], last[dimension] = 0, size
        is_whole = not any(first) and last == list(sizes) and set(strides) == {1}
        return value if is_whole else build.slice(value, first, last, strides)

    return one_operand(op, state, windows, None, insert)


def pad_windows(op: Operation, state: Resolution) -> Description:
    """`pad`: element i is element (i - low) / (interior + 1), or padding."""
    if _is_all_local(op, state, partial(is_local_pad, with_padding=True)):
        return NOT_SHARDED
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    lows, highs, interiors = (integers(op, name) for name in names)
    windows = [
        Window(1, 1, low, high, interior + 1)
        for low, high, interior in zip(lows, highs, interiors, strict=True)
    ]

    def insert(build: StablehloBuilder, parts: Parts) -> Value:
        low, high, interior = list(lows), list(highs), list(interiors)
        for dimension, exchange in parts.exchanges[0].items():
            window = exchange.window
            low[dimension], high[dimension] = window.low, window.high
            interior[dimension] = window.base_dilation - 1
        (value,), (filler,) = parts.gathered, parts.fillers
        return build.pad(value, filler, low, high, interior) if any((*low, *high, *interior)) else value

    return one_operand(op, state, windows, operands_of(op)[1], insert)


def _is_all_local(
    op: Operation,
    state: Resolution,
    is_local: Callable[[Operation, TensorSharding, int, Resolution], bool],
) -> bool:
    found = state.sharded(operands_of(op)[0])
    return found is None or all(is_local(op, found[0], d, state) for d in range(found[0].rank))


def reverse_windows(op: Operation, state: Resolution) -> Description:
    """`reverse`: parts are exchanged with those as far from the other end, and reversed."""
    found = state.sharded(operands_of(op)[0])
    if found is None:
        return NOT_SHARDED
    sharding, mesh = found
    dimensions = integers(op, "dimensions")
    shape, reads = shape_of(op.results[0]), dict[int, WindowReads]()
    for dimension, parts in enumerate(parts_of(sharding, mesh)):
        if parts > 1 and dimension in dimensions:
            even = -(-shape[dimension] // parts) * parts
            window = Window(1, low=even - shape[dimension])
            reads[dimension] = WindowReads(parts, shape[dimension], even, window, is_mirrored=True)
    if not reads:
        return NOT_SHARDED

    def local(inner: LocalBuilder, parts: Parts) -> Sequence[Value]:
        (value,) = parts.gathered
        return [inner.build.one("reverse", (value,), value.type, dimensions=dimensions)]

    operand = Operand(operands_of(op)[0], sharding, reads)
    return Windowed(mesh, [operand], [(op.results[0], sharding)], local)


# ---------------------------------------------------------------------- windows of several elements


def reduction_windows(op: Operation, state: Resolution) -> Description:
    """`reduce_window`: every operand alike, with identities beyond the ends, or else initial values."""
    count = len(op.results)
    operands, initial = operands_of(op)[:count], operands_of(op)[count:]
    found = state.sharded(op.results[0])
    if found is None:
        return NOT_SHARDED
    sharding, mesh = found
    if not is_isolated(op):
        return "its region uses values from outside"
    attributes = record_of(op).attributes
    windows = own_windows(attributes, len(shape_of(operands[0])))
    shapes = shape_of(operands[0]), shape_of(op.results[0])
    reads = moved_along(windows, shapes, sharding, mesh)
    if not reads:
        return NOT_SHARDED

    def local(inner: LocalBuilder, parts: Parts) -> Sequence[Value]:
        changed = with_parts(windows, parts.exchanges[0])
        properties = {
            **op.properties,
            "padding": [(window.low, window.high) for window in changed],
            "base_dilations": [window.base_dilation for window in changed],
        }
        starts = () if len(parts.gathered) > count else parts.fillers
        return inserted(op, inner, (*parts.gathered, *starts), [sharding] * count, properties)

    fillers = [_identity(op, index, start) for index, start in enumerate(initial)]
    pairs = zip(operands, fillers, strict=True)
    described = [Operand(value, sharding, reads, filler) for value, filler in pairs]
    if fillers != list(initial):
        described += [Operand(start, TensorSharding(sharding.mesh, ())) for start in initial]
    return Windowed(mesh, described, [(result, sharding) for result in op.results], local)


def _identity(op: Operation, index: int, initial: Value) -> Value:
    """The element that keeps a window's values; the initial value if that is it, or none is known."""
    name, element = combiners_of(op)[index], element_of(initial)
    data = None if name is None else identity_data(name, element)
    if data is None or is_constant_of(initial, data):
        return initial
    return StablehloBuilder(op).dense(ranked_tensor((), element), data)


def with_parts(windows: Sequence[Window], exchanges: Exchanges) -> list[Window]:
    """The windows of the op on parts, by dimension."""
    return [exchanges[d].window if d in exchanges else window for d, window in enumerate(windows)]


def is_isolated(op: Operation) -> bool:
    """True if no op in the regions of `op` uses a value from outside."""
    inside: set[Value] = {value for block in blocks_of(op) for value in block.args}
    for nested in walk_pre_order(op, include_root=False):
        inside.update(nested.results)
        inside.update(argument for block in blocks_of(nested) for argument in block.args)
        if any(value not in inside for value in operands_of(nested)):
            return False
    return True


def inserted(
    op: Operation,
    inner: LocalBuilder,
    operands: Sequence[Value],
    shardings: Sequence[TensorSharding],
    properties: Mapping[str, object],
) -> Sequence[Value]:
    """`op` on parts of its operands, with its regions."""
    types = [
        resized(result, inner.manual.local_shape(sharding, shape_of(result)))
        for result, sharding in zip(op.results, shardings, strict=True)
    ]
    regions = [op.detach_region(0) for _ in op.regions]
    name = op.name.removeprefix("stablehlo.")
    return inner.build_for(shardings[0]).insert(name, operands, types, regions, **properties).results
