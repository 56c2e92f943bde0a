"""Gathers, scatters, windows and convolutions of random programs: `family(writer, scope)` adds one op."""

from __future__ import annotations

from typing import NamedTuple

from tests.differential.writer import MAX_RANK, Kind, Scope, Writer, dims, table


class Window(NamedTuple):
    """A window over one dimension, and how often it fits."""

    size: int
    stride: int
    low: int
    high: int
    base_dilation: int
    dilation: int
    fits: int


def _window(w: Writer, size: int) -> Window:
    if w.chance(0.5):
        return Window(1, 1, 0, 0, 1, 1, size)
    window, stride = w.rng.randint(1, 3), w.rng.choice((1, 1, 2, 3))
    low, high = (w.rng.choice((0, 0, 1, 2)) for _ in range(2))
    base, dilation = (w.rng.choice((1, 1, 2)) for _ in range(2))
    padded, spread = low + high + (size - 1) * base + 1, (window - 1) * dilation + 1
    if padded < spread:
        return Window(1, 1, 0, 0, 1, 1, size)
    return Window(window, stride, low, high, base, dilation, (padded - spread) // stride + 1)


def dynamic_slices(w: Writer, scope: Scope) -> None:
    """A part at places that are run-time values, or the same constant for all."""
    value = w.tensor(scope, 1)
    part = tuple(size if w.chance(0.6) else max(1, size // 2) for size in value.kind.shape)
    zero = w.zero(scope, "i32")
    places = [zero if w.chance(0.8) else w.operand(scope, zero.kind) for _ in part]
    if w.chance(0.6):
        text = f"slice_sizes = {dims(part)}"
        w.op(scope, "stablehlo.dynamic_slice", [value, *places], [Kind(part)], text)
        return
    update = w.operand(scope, Kind(part))
    w.op(scope, "stablehlo.dynamic_update_slice", [value, update, *places], [value.kind])


def gather_or_scatter(w: Writer, scope: Scope) -> None:
    """Each dimension of the operand is looked up whole, at one place, or beside a batch of the indices."""
    value = w.tensor(scope, 1, 3)
    shape = value.kind.shape
    sorts = [w.rng.choice(("window", "window", "collapsed", "batching")) for _ in shape]
    batching = [d for d, sort in enumerate(sorts) if sort == "batching"]
    collapsed = [d for d, sort in enumerate(sorts) if sort == "collapsed"]
    windowed = [d for d, sort in enumerate(sorts) if sort == "window"]
    sizes = [(shape[d] if w.chance(0.7) else 1) if d in windowed else 1 for d in range(len(shape))]
    others = [d for d in range(len(shape)) if d not in batching]
    looked_up = w.rng.sample(others, w.rng.randint(min(1, len(others)), len(others)))
    plain = [(w.size(), None) for _ in range(w.rng.randint(0, 1))]
    batch = [*((shape[d], d) for d in batching), *plain]
    w.rng.shuffle(batch)
    if len(batch) + len(windowed) > MAX_RANK:
        return
    vector = w.rng.randint(0, len(batch)) if w.chance(0.3) else len(batch)
    index_sizes = [size for size, _ in batch]
    index_sizes.insert(vector, len(looked_up))
    indices = w.operand(scope, Kind(tuple(index_sizes), "i32"))
    place = {d: i + (i >= vector) for i, (_, d) in enumerate(batch) if d is not None}
    rank = len(batch) + len(windowed)
    offsets = sorted(w.rng.sample(range(rank), len(windowed)))
    windows, batches = iter([sizes[d] for d in windowed]), iter([size for size, _ in batch])
    part = Kind(tuple(next(windows) if d in offsets else next(batches) for d in range(rank)))
    beside = [place[d] for d in batching]
    if w.chance(0.5):
        text = _numbers(
            offset_dims=offsets,
            collapsed_slice_dims=collapsed,
            operand_batching_dims=batching,
            start_indices_batching_dims=beside,
            start_index_map=looked_up,
        )
        numbers = f"dimension_numbers = #stablehlo.gather<{text}index_vector_dim = {vector}>"
        flags = f"slice_sizes = {dims(sizes)}, indices_are_sorted = false"
        w.op(scope, "stablehlo.gather", [value, indices], [part], f"{numbers}, {flags}")
        return
    count = 2 if w.chance(0.2) else 1
    inputs = [value, *(w.operand(scope, value.kind) for _ in range(count - 1))]
    updates = [w.operand(scope, part) for _ in range(count)]
    text = _numbers(
        update_window_dims=offsets,
        inserted_window_dims=collapsed,
        input_batching_dims=batching,
        scatter_indices_batching_dims=beside,
        scatter_dims_to_operand_dims=looked_up,
    )
    numbers = f"scatter_dimension_numbers = #stablehlo.scatter<{text}index_vector_dim = {vector}>"
    region = w.combiner(["f32"] * count, w.rng.choice(("stablehlo.add", "stablehlo.maximum")))
    w.op(
        scope,
        "stablehlo.scatter",
        [*inputs, indices, *updates],
        [value.kind] * count,
        f"{numbers}, indices_are_sorted = false, unique_indices = false",
        regions=[region],
    )


def _numbers(**fields: list[int]) -> str:
    return "".join(f"{name} = {numbers}, " for name, numbers in fields.items() if numbers)


def reduce_window(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    windows = [_window(w, size) for size in value.kind.shape]
    text = ", ".join(
        (
            f"window_dimensions = {dims([x.size for x in windows])}",
            f"window_strides = {dims([x.stride for x in windows])}",
            f"base_dilations = {dims([x.base_dilation for x in windows])}",
            f"window_dilations = {dims([x.dilation for x in windows])}",
            f"padding = {table([(x.low, x.high) for x in windows])}",
        )
    )
    to = Kind(tuple(x.fits for x in windows))
    operands, region = [value, w.zero(scope)], w.combiner(["f32"])
    w.op(scope, "stablehlo.reduce_window", operands, [to], text, regions=[region])


def select_and_scatter(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    window = [w.rng.randint(1, min(2, size)) for size in value.kind.shape]
    source = tuple(size // width for size, width in zip(value.kind.shape, window, strict=True))
    text = f"window_dimensions = {dims(window)}, window_strides = {dims(window)}"
    text += f", padding = {table([(0, 0)] * value.kind.rank)}"
    operands = [value, w.operand(scope, Kind(source)), w.zero(scope)]
    select, scatter = w.comparator(["f32"]), w.combiner(["f32"])
    w.op(
        scope,
        "stablehlo.select_and_scatter",
        operands,
        [value.kind],
        text,
        regions=[select, scatter],
    )


def convolution(w: Writer, scope: Scope) -> None:
    """Dimensions in any order, feature or batch groups, windows of all sorts."""
    value = w.tensor(scope, 2)
    orders = [w.rng.sample(range(value.kind.rank), value.kind.rank) for _ in range(3)]
    batch, features, *spatial = (value.kind.shape[d] for d in orders[0])
    windows = [_window(w, size) for size in spatial]
    groups = w.rng.choice([g for g in (1, 1, 2) if batch % g == features % g == 0])
    by_batch = groups > 1 and w.chance(0.4)
    out = groups * w.size()
    feature_groups, batch_groups = (1, groups) if by_batch else (groups, 1)
    kernel = (features // feature_groups, out, *(x.size for x in windows))
    result = (batch // batch_groups, out, *(x.fits for x in windows))
    kinds = [
        Kind(tuple(size for _, size in sorted(zip(order, sizes, strict=True))))
        for order, sizes in zip(orders[1:], (kernel, result), strict=True)
    ]
    layouts = [
        "[" + ", ".join(letter for _, letter in sorted(zip(order, _letters(order, pair), strict=True))) + "]"
        for order, pair in zip(orders, ("bf", "io", "bf"), strict=True)
    ]
    texts = [
        f"dimension_numbers = #stablehlo.conv<{layouts[0]}x{layouts[1]}->{layouts[2]}>",
        f"feature_group_count = {feature_groups} : i64, batch_group_count = {batch_groups} : i64",
    ]
    if spatial:
        texts += [
            f"window_strides = {dims([x.stride for x in windows])}",
            f"padding = {table([(x.low, x.high) for x in windows])}",
            f"lhs_dilation = {dims([x.base_dilation for x in windows])}",
            f"rhs_dilation = {dims([x.dilation for x in windows])}",
        ]
    operands = [value, w.operand(scope, kinds[0])]
    w.op(scope, "stablehlo.convolution", operands, [kinds[1]], ", ".join(texts))


def _letters(order: list[int], pair: str) -> list[str]:
    return [*pair, *map(str, range(len(order) - 2))]


FAMILIES = {
    dynamic_slices: (4, ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice")),
    gather_or_scatter: (8, ("stablehlo.gather", "stablehlo.scatter")),
    reduce_window: (3, ("stablehlo.reduce_window",)),
    select_and_scatter: (2, ("stablehlo.select_and_scatter",)),
    convolution: (5, ("stablehlo.convolution",)),
}
"""Weight, and the rows of the op table that a family adds ops of."""
