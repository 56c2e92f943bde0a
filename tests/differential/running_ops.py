"""Ops of random programs that run: scans, searches, run-time indices, element types: `family(writer, scope)`.

Programs that are only propagated do not have them: what they add is in the values, and in positions that a
partitioner must get right.
"""

from __future__ import annotations

from math import prod

from tests.differential.writer import INDEX, MAX_RANK, Kind, Scope, Value, Writer, dims, table

INTEGERS = ("i32", "i8", "ui8", "i64")
FLOATS = ("f32", "bf16", "f64")
COMBINERS = {
    "i1": ("and", "or", "xor"),
    "integer": ("add", "multiply", "maximum", "minimum", "and", "or", "xor"),
    "float": ("add", "maximum", "minimum", "multiply"),
}
IDENTITIES = {
    ("add", "integer"): "0",
    ("add", "float"): "0.0",
    ("multiply", "integer"): "1",
    ("multiply", "float"): "1.0",
    ("maximum", "float"): "-1.0e30",
    ("minimum", "float"): "1.0e30",
}
"""Those that the initial value of a window may be, as text."""


def element_class(element: str) -> str:
    """The row of `COMBINERS` for an element type."""
    return "i1" if element == "i1" else "integer" if "i" in element else "float"


def converted(w: Writer, scope: Scope, value: Value, element: str) -> Value:
    """The value in another element type."""
    if element == value.kind.element:
        return value
    kind = value.kind.of(element)
    (name,) = w.op(scope, "stablehlo.convert", [value], [kind])
    w.uses.add(name)
    return Value(name, kind)


def some(w: Writer, scope: Scope, low: int = 1, high: int = 3) -> Value:
    """A tensor of some element type, by a conversion if it must be."""
    element = w.rng.choice(("f32", "f32", *INTEGERS, *FLOATS, "i1"))
    return converted(w, scope, w.tensor(scope, low, high), element)


def scalar(w: Writer, scope: Scope, kind: Kind = INDEX) -> Value:
    """A scalar that is an argument where there may be one."""
    return w.operand(scope, kind)


def cumulative(w: Writer, scope: Scope) -> None:
    """Sums, products and extremes of all elements up to each, or of the last few, from either end."""
    element = w.rng.choice(("f32", "i32"))
    value = converted(w, scope, w.tensor(scope, 1, 3), element)
    at, sort = w.dimension(value.kind), element_class(element)
    name = w.rng.choice(sorted({name for name, kind in IDENTITIES if kind == sort}))
    size = value.kind.shape[at]
    window = size if w.chance(0.7) else w.rng.randint(1, size)
    pads = (window - 1, 0) if w.chance(0.5) else (0, window - 1)
    rank = value.kind.rank
    text = ", ".join(
        (
            f"window_dimensions = {dims([window if d == at else 1 for d in range(rank)])}",
            f"padding = {table([pads if d == at else (0, 0) for d in range(rank)])}",
        )
    )
    start = w.constant(scope, Kind((), element), IDENTITIES[name, sort])
    region = w.combiner([element], f"stablehlo.{name}")
    w.op(scope, "stablehlo.reduce_window", [value, start], [value.kind], text, regions=[region])


def reductions(w: Writer, scope: Scope) -> None:
    """By any combiner, from any initial value where that may count once."""
    value = some(w, scope)
    element = value.kind.element
    gone = sorted(w.rng.sample(range(value.kind.rank), w.rng.randint(1, min(2, value.kind.rank))))
    to = Kind(tuple(size for d, size in enumerate(value.kind.shape) if d not in gone), element)
    name = w.rng.choice(COMBINERS[element_class(element)])
    is_free = name in ("add", "multiply", "maximum", "minimum") and element != "i1"
    start = w.operand(scope, Kind((), element)) if is_free and w.chance(0.4) else w.zero(scope, element)
    region = w.combiner([element], f"stablehlo.{name}")
    w.op(scope, "stablehlo.reduce", [value, start], [to], f"dimensions = {dims(gone)}", regions=[region])


def extreme_places(w: Writer, scope: Scope) -> None:
    """The largest element along a dimension and its place, the first one of equals."""
    value = w.tensor(scope, 1, 3)
    at, mark = w.dimension(value.kind), w.name()[1:]
    places = value.kind.of("i32")
    (iota,) = w.op(scope, "stablehlo.iota", [], [places], f"iota_dimension = {at} : i64")
    w.uses.add(iota)
    f, i, p = "tensor<f32>", "tensor<i32>", "tensor<i1>"
    direction = w.rng.choice(("GT", "LT"))
    region = "\n".join(
        (
            f"{{\n^bb0(%x{mark}: {f}, %i{mark}: {i}, %y{mark}: {f}, %j{mark}: {i}):",
            f"%g{mark} = stablehlo.compare {direction}, %x{mark}, %y{mark} : ({f}, {f}) -> {p}",
            f"%e{mark} = stablehlo.compare EQ, %x{mark}, %y{mark} : ({f}, {f}) -> {p}",
            f"%n{mark} = stablehlo.compare NE, %x{mark}, %x{mark} : ({f}, {f}) -> {p}",
            f"%h{mark} = stablehlo.or %g{mark}, %n{mark} : {p}",
            f"%s{mark} = stablehlo.select %h{mark}, %x{mark}, %y{mark} : {p}, {f}",
            f"%l{mark} = stablehlo.compare LT, %i{mark}, %j{mark} : ({i}, {i}) -> {p}",
            f"%b{mark} = stablehlo.and %e{mark}, %l{mark} : {p}",
            f"%t{mark} = stablehlo.or %h{mark}, %b{mark} : {p}",
            f"%k{mark} = stablehlo.select %t{mark}, %i{mark}, %j{mark} : {p}, {i}",
            f'"stablehlo.return"(%s{mark}, %k{mark}) : ({f}, {i}) -> ()\n}}',
        )
    )
    worst = w.constant(scope, Kind(()), "0xFF800000" if direction == "GT" else "0x7F800000")
    first = w.zero(scope, "i32")
    to = Kind(tuple(size for d, size in enumerate(value.kind.shape) if d != at))
    operands = [value, Value(iota, places), worst, first]
    text = f"dimensions = {dims([at])}"
    w.op(scope, "stablehlo.reduce", operands, [to, to.of("i32")], text, regions=[region])


def ordered(w: Writer, scope: Scope) -> None:
    """Sorted keys with their places, or the largest ones, of any element type."""
    value = some(w, scope)
    element = value.kind.element
    if w.chance(0.4) and element != "i1":
        k = w.rng.randint(1, value.kind.shape[-1])
        best = value.kind.resized(value.kind.rank - 1, k)
        w.op(scope, "chlo.top_k", [value], [best, best.of("i32")], f"k = {k} : i64")
        return
    at = w.dimension(value.kind)
    places = value.kind.of("i32")
    (iota,) = w.op(scope, "stablehlo.iota", [], [places], f"iota_dimension = {at} : i64")
    w.uses.add(iota)
    text = f"dimension = {at} : i64, is_stable = true"
    region = w.comparator([element, "i32"])
    operands = [value, Value(iota, places)]
    w.op(scope, "stablehlo.sort", operands, [value.kind, places], text, regions=[region])


def run_time_slices(w: Writer, scope: Scope) -> None:
    """Slices and updates at places that are arguments, some dimensions whole."""
    value = some(w, scope)
    part = tuple(size if w.chance(0.4) else w.rng.randint(1, size) for size in value.kind.shape)
    places = [scalar(w, scope) for _ in part]
    to = Kind(part, value.kind.element)
    if w.chance(0.5):
        w.op(scope, "stablehlo.dynamic_slice", [value, *places], [to], f"slice_sizes = {dims(part)}")
        return
    update = w.operand(scope, to)
    w.op(scope, "stablehlo.dynamic_update_slice", [value, update, *places], [value.kind])


def looked_up(w: Writer, scope: Scope) -> None:
    """Rows by run-time indices, as an embedding; or scattered rows, combined in any way."""
    value = some(w, scope)
    at, count = w.dimension(value.kind), w.size()
    element, rank = value.kind.element, value.kind.rank
    indices = w.operand(scope, Kind((count, 1), w.rng.choice(("i32", "i32", "i64", "ui8", "i8"))))
    rows = Kind((count, *(size for d, size in enumerate(value.kind.shape) if d != at)), element)
    offsets = list(range(1, rank))
    if w.chance(0.5):
        sizes = [1 if d == at else size for d, size in enumerate(value.kind.shape)]
        places = f"offset_dims = {offsets}, " if offsets else ""
        numbers = f"{places}collapsed_slice_dims = [{at}], start_index_map = [{at}], index_vector_dim = 1"
        text = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {dims(sizes)}"
        w.op(scope, "stablehlo.gather", [value, indices], [rows], f"{text}, indices_are_sorted = false")
        return
    places = f"update_window_dims = {offsets}, " if offsets else ""
    numbers = (
        f"{places}inserted_window_dims = [{at}], scatter_dims_to_operand_dims = [{at}], index_vector_dim = 1"
    )
    text = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>"
    text += ", indices_are_sorted = false, unique_indices = false"
    name = w.rng.choice(COMBINERS[element_class(element)])
    operands = [value, indices, w.operand(scope, rows)]
    region = w.combiner([element], f"stablehlo.{name}")
    w.op(scope, "stablehlo.scatter", operands, [value.kind], text, regions=[region])


def spectra(w: Writer, scope: Scope) -> None:
    """Transforms of one or two dimensions, both ways."""
    value = w.tensor(scope, 1, 3)
    rank = w.rng.randint(1, min(2, value.kind.rank))
    length = value.kind.shape[-rank:]
    text = f"fft_length = {dims(length)}, fft_type = #stablehlo<fft_type "
    half = (*value.kind.shape[:-1], value.kind.shape[-1] // 2 + 1)
    match w.rng.randrange(3):
        case 0:
            w.op(scope, "stablehlo.fft", [value], [Kind(half, "complex<f32>")], text + "RFFT>")
        case 1:
            spectrum = w.operand(scope, Kind(half, "complex<f32>"))
            w.op(scope, "stablehlo.fft", [spectrum], [value.kind], text + "IRFFT>")
        case _:
            full = w.operand(scope, value.kind.of("complex<f32>"))
            w.op(scope, "stablehlo.fft", [full], [full.kind], text + w.rng.choice(("FFT>", "IFFT>")))


def random_bits(w: Writer, scope: Scope) -> None:
    """Bits of each width, by both algorithms, and the next state."""
    algorithm, words = w.rng.choice((("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)))
    state = w.operand(scope, Kind((words,), "ui64"))
    bits = w.kind(1, 3).of(w.rng.choice(("ui8", "ui16", "ui32", "ui64")))
    text = f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"
    w.op(scope, "stablehlo.rng_bit_generator", [state], [state.kind, bits], text)


def reshape_any(w: Writer, scope: Scope) -> None:
    """All elements in another shape, whatever its common factors with the first."""
    value = some(w, scope, 1, MAX_RANK)
    left, sizes = prod(value.kind.shape), list[int]()
    while left > 1 and len(sizes) < MAX_RANK - 1:
        sizes.append(w.rng.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= sizes[-1]
    w.op(scope, "stablehlo.reshape", [value], [Kind((*sizes, left), value.kind.element)])


def padded_and_sliced(w: Writer, scope: Scope) -> None:
    """Several dimensions at once, with interior and negative padding, or strides."""
    value = some(w, scope)
    shape = value.kind.shape
    rows: list[tuple[int, int, int]] = []
    to: list[int] = []
    is_pad = w.chance(0.5)
    for size in shape:
        if is_pad:
            low, high, interior = w.rng.randint(-1, 3), w.rng.randint(-1, 3), w.rng.choice((0, 0, 1, 2))
            made = size + low + high + interior * (size - 1)
            row = (low, high, interior) if made > 0 and w.chance(0.7) else (0, 0, 0)
            made = made if row == (low, high, interior) else size
        else:
            start = w.rng.randrange(size)
            row = (start, w.rng.randint(start + 1, size), w.rng.randint(1, 3))
            made = -(-(row[1] - row[0]) // row[2])
        rows.append(row)
        to.append(made)
    names = (
        ("edge_padding_low", "edge_padding_high", "interior_padding")
        if is_pad
        else ("start_indices", "limit_indices", "strides")
    )
    text = ", ".join(f"{name} = {dims([row[i] for row in rows])}" for i, name in enumerate(names))
    element = value.kind.element
    operands = [value, w.operand(scope, Kind((), element))] if is_pad else [value]
    name = "stablehlo.pad" if is_pad else "stablehlo.slice"
    w.op(scope, name, operands, [Kind(tuple(to), element)], text)


def large_kernel(w: Writer, scope: Scope) -> None:
    """A convolution whose kernel is as long as its input, as those of gradients with respect to kernels."""
    value = w.tensor(scope, 3, 3)
    batch, size, features = value.kind.shape
    window = w.rng.randint(1, size)
    pads = [w.rng.randint(0, 2), w.rng.randint(0, 2)]
    stride, reversed_ = w.rng.choice((1, 1, 2)), w.rng.choice(("false", "false", "true"))
    out = w.size()
    kernel = w.operand(scope, Kind((window, features, out)))
    to = Kind((batch, (size + sum(pads) - window) // stride + 1, out))
    text = "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
    text += ", feature_group_count = 1 : i64, batch_group_count = 1 : i64"
    text += f", window_strides = {dims([stride])}, padding = {table([pads])}"
    text += f", window_reversal = array<i1: {reversed_}>"
    w.op(scope, "stablehlo.convolution", [value, kernel], [to], text)


def pooled_gradients(w: Writer, scope: Scope) -> None:
    """Windows that overlap or leave gaps, with padding, scattered to their largest elements."""
    value = w.tensor(scope, 1, 3)
    rows = [
        (w.rng.randint(1, size), w.rng.randint(1, 3), w.rng.choice((0, 0, 1))) if w.chance(0.5) else (1, 1, 0)
        for size in value.kind.shape
    ]
    rows = [(window, stride, min(low, window - 1)) for window, stride, low in rows]
    source = tuple(
        (size + low - window) // stride + 1
        for size, (window, stride, low) in zip(value.kind.shape, rows, strict=True)
    )
    text = f"window_dimensions = {dims([r[0] for r in rows])}, window_strides = {dims([r[1] for r in rows])}"
    text += f", padding = {table([(r[2], 0) for r in rows])}"
    operands = [value, w.operand(scope, Kind(source)), w.zero(scope)]
    select = w.comparator(["f32"]).replace("compare LT", "compare GE")
    regions = [select, w.combiner(["f32"])]
    w.op(scope, "stablehlo.select_and_scatter", operands, [value.kind], text, regions=regions)


def _rows(*names: str) -> tuple[str, ...]:
    return tuple(f"stablehlo.{name}" for name in names)


FAMILIES = {
    cumulative: (4, _rows("reduce_window")),
    reductions: (5, _rows("reduce")),
    extreme_places: (3, _rows("reduce")),
    ordered: (4, ("stablehlo.sort", "chlo.top_k")),
    run_time_slices: (5, _rows("dynamic_slice", "dynamic_update_slice")),
    looked_up: (6, _rows("gather", "scatter")),
    spectra: (2, _rows("fft")),
    random_bits: (2, _rows("rng_bit_generator")),
    reshape_any: (5, _rows("reshape")),
    padded_and_sliced: (5, _rows("pad", "slice")),
    large_kernel: (3, _rows("convolution")),
    pooled_gradients: (2, _rows("select_and_scatter")),
}
"""Weight, and the rows of the op table that a family adds ops of."""
