"""Ops of random programs that move, contract and reduce elements: `family(writer, scope)` adds one op."""

from __future__ import annotations

from tests.differential.writer import MAX_RANK, Kind, Scope, Writer, dims


def transpose(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    order = w.rng.sample(range(value.kind.rank), value.kind.rank)
    to = Kind(tuple(value.kind.shape[i] for i in order))
    w.op(scope, "stablehlo.transpose", [value], [to], f"permutation = {dims(order)}")


def reshape(w: Writer, scope: Scope) -> None:
    """Two dimensions become one, one becomes two, or both."""
    value = w.tensor(scope, 1)
    to = _reshaped(w, value.kind)
    if w.chance(0.2) and to.rank:
        to = _reshaped(w, to)
    if to != value.kind or w.chance(0.1):
        w.op(scope, "stablehlo.reshape", [value], [to])


def _reshaped(w: Writer, kind: Kind) -> Kind:
    at, shape = w.dimension(kind), kind.shape
    divisors = [d for d in (1, 2, 3, 4) if shape[at] % d == 0 and shape[at] > d]
    if at + 1 < len(shape) and w.chance(0.5):
        return Kind((*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))
    if divisors and len(shape) < MAX_RANK:
        d = w.rng.choice(divisors)
        return kind.resized(at, *w.rng.sample((d, shape[at] // d), 2))
    return kind


def broadcast(w: Writer, scope: Scope) -> None:
    """A new dimension somewhere, some of size one expanded, in some order; or a new one in front."""
    value = w.tensor(scope, 0, MAX_RANK - 1)
    shape = value.kind.shape
    if w.chance(0.15):
        size = w.size()
        text = f"broadcast_sizes = {dims([size])}"
        w.op(scope, "stablehlo.broadcast", [value], [Kind((size, *shape))], text)
        return
    at = w.rng.randint(0, len(shape))
    expanded = [w.size() if size == 1 and w.chance(0.5) else size for size in shape]
    places = [i for i in range(len(shape) + 1) if i != at]
    if w.chance(0.2):
        w.rng.shuffle(places)
    to = [w.size()] * (len(shape) + 1)
    for size, place in zip(expanded, places, strict=True):
        to[place] = size
    text = f"broadcast_dimensions = {dims(places)}"
    w.op(scope, "stablehlo.broadcast_in_dim", [value], [Kind(tuple(to))], text)


def slice_(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    at, shape = w.dimension(value.kind), value.kind.shape
    start = w.rng.choice((0, 0, shape[at] // 2))
    stop = w.rng.randint(min(start + 1, shape[at]), shape[at])
    stride = w.rng.choice((1, 1, 2))
    size = -(-(stop - start) // stride)
    text = ", ".join(
        f"{name} = {dims([number if d == at else other[d] for d in range(len(shape))])}"
        for name, number, other in (
            ("start_indices", start, [0] * len(shape)),
            ("limit_indices", stop, shape),
            ("strides", stride, [1] * len(shape)),
        )
    )
    if size > 0:
        w.op(scope, "stablehlo.slice", [value], [value.kind.resized(at, size)], text)


def reverse(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    w.op(scope, "stablehlo.reverse", [value], [value.kind], f"dimensions = {dims([w.dimension(value.kind)])}")


def pad(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    at, rank = w.dimension(value.kind), value.kind.rank
    low, high, interior = w.rng.choice(((0, 2, 0), (1, 1, 0), (0, 0, 1), (-1, 1, 0), (0, -1, 0)))
    size = value.kind.shape[at]
    size += low + high + interior * (size - 1)
    text = ", ".join(
        f"{name} = {dims([number if d == at else 0 for d in range(rank)])}"
        for name, number in (
            ("edge_padding_low", low),
            ("edge_padding_high", high),
            ("interior_padding", interior),
        )
    )
    if size > 0:
        w.op(scope, "stablehlo.pad", [value, w.zero(scope)], [value.kind.resized(at, size)], text)


def concatenate(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    at, shape = w.dimension(value.kind), value.kind.shape

    def fits(kind: Kind) -> bool:
        return (
            kind.element == "f32"
            and kind.rank == len(shape)
            and kind.resized(at, 0) == value.kind.resized(at, 0)
        )

    others = [w.pick(scope, fits) for _ in range(w.rng.randint(0, 2))]
    parts = [value, *(other for other in others if other)]
    to = value.kind.resized(at, sum(part.kind.shape[at] for part in parts))
    w.op(scope, "stablehlo.concatenate", parts, [to], f"dimension = {at} : i64")


def bitcast(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    narrow = w.pick(scope, lambda kind: kind.element == "i8" and kind.shape[-1:] == (4,))
    if narrow and w.chance(0.5):
        w.op(scope, "stablehlo.bitcast_convert", [narrow], [Kind(narrow.kind.shape[:-1])])
        return
    to = Kind((*value.kind.shape, 4), "i8") if w.chance(0.5) else value.kind.of("i32")
    w.op(scope, "stablehlo.bitcast_convert", [value], [to])


def dot_general(w: Writer, scope: Scope) -> None:
    """Any dimensions contracted and batched; the other side is there or made to fit."""
    value = w.tensor(scope, 1)
    order = w.rng.sample(range(value.kind.rank), value.kind.rank)
    batch = order[: w.rng.choice((0, 0, 1, 1, 2))]
    contracted = order[len(batch) :][: w.rng.choice((0, 1, 1, 1, 2))]
    free = sorted(set(order) - {*batch, *contracted})
    shared = [*batch, *contracted]
    room = MAX_RANK - max(len(shared), len(batch) + len(free))
    own = [w.size() for _ in range(w.rng.randint(0, max(0, min(room, 2))))]
    sides = [*(("s", d) for d in shared), *(("o", i) for i in range(len(own)))]
    if w.chance(0.4):
        w.rng.shuffle(sides)
    own_sizes = iter(own)
    shape = tuple(value.kind.shape[d] if kind == "s" else next(own_sizes) for kind, d in sides)
    if len(shape) > MAX_RANK:
        return
    other = w.operand(scope, Kind(shape))
    place = {d: i for i, (kind, d) in enumerate(sides) if kind == "s"}
    numbers = {
        "lhs_batching_dimensions": batch,
        "rhs_batching_dimensions": [place[d] for d in batch],
        "lhs_contracting_dimensions": contracted,
        "rhs_contracting_dimensions": [place[d] for d in contracted],
    }
    text = ", ".join(f"{name} = {places}" for name, places in numbers.items() if places)
    to = Kind((*(value.kind.shape[d] for d in (*batch, *free)), *own))
    w.op(
        scope,
        "stablehlo.dot_general",
        [value, other],
        [to],
        f"dot_dimension_numbers = #stablehlo.dot<{text}>",
    )


def dot(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1, 2)
    other = w.operand(scope, Kind((value.kind.shape[-1], *[w.size()] * w.rng.randint(0, 1))))
    to = Kind(value.kind.shape[:-1] + other.kind.shape[1:])
    w.op(scope, "stablehlo.dot", [value, other], [to])


def einsum(w: Writer, scope: Scope) -> None:
    """Ops by formula, of which Shardy knows nothing."""
    value = w.tensor(scope, 2, 2)
    if w.chance(0.5):
        to = Kind(value.kind.shape[::-1])
        w.op(scope, "stablehlo.unary_einsum", [value], [to], 'einsum_config = "ij->ji"')
        return
    other = w.operand(scope, Kind((value.kind.shape[1], w.size())))
    to = Kind((value.kind.shape[0], other.kind.shape[1]))
    w.op(scope, "stablehlo.einsum", [value, other], [to], 'einsum_config = "ij,jk->ik"')


def reduce(w: Writer, scope: Scope) -> None:
    """One or two tensors over some dimensions."""
    value = w.tensor(scope, 1)
    gone = sorted(w.rng.sample(range(value.kind.rank), w.rng.choice((1, 1, 1, min(2, value.kind.rank)))))
    to = Kind(tuple(size for d, size in enumerate(value.kind.shape) if d not in gone))
    count = 2 if w.chance(0.2) else 1
    values = [value, *(w.operand(scope, value.kind) for _ in range(count - 1))]
    zeros = [w.zero(scope) for _ in range(count)]
    region = w.combiner(["f32"] * count, w.rng.choice(("stablehlo.add", "stablehlo.maximum")))
    w.op(
        scope,
        "stablehlo.reduce",
        values + zeros,
        [to] * count,
        f"dimensions = {dims(gone)}",
        regions=[region],
    )


def sort(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    count = 2 if w.chance(0.3) else 1
    values = [value, *(w.operand(scope, value.kind) for _ in range(count - 1))]
    text = f"dimension = {w.dimension(value.kind)} : i64, is_stable = true"
    w.op(
        scope,
        "stablehlo.sort",
        values,
        [value.kind] * count,
        text,
        regions=[w.comparator(["f32"] * count)],
    )


def top_k(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    k = w.rng.randint(1, value.kind.shape[-1])
    best = value.kind.resized(value.kind.rank - 1, k)
    w.op(scope, "chlo.top_k", [value], [best, best.of("i32")], f"k = {k} : i64")


def linear_algebra(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 2)
    *batch, n, _ = value.kind.shape
    square = w.operand(scope, Kind((*batch, n, n)))
    if w.chance(0.4):
        w.op(scope, "stablehlo.cholesky", [square], [square.kind], "lower = true")
        return
    text = "left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>"
    w.op(scope, "stablehlo.triangular_solve", [square, value], [value.kind], f"{text}, unit_diagonal = false")


def fft(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    *batch, n = value.kind.shape
    text = f"fft_length = {dims([n])}, fft_type = #stablehlo<fft_type "
    spectrum = Kind((*batch, n // 2 + 1), "complex<f32>")
    if w.chance(0.5):
        w.op(scope, "stablehlo.fft", [value], [spectrum], text + "RFFT>")
        return
    full = w.operand(scope, value.kind.of("complex<f32>"))
    w.op(scope, "stablehlo.fft", [full], [full.kind], text + "FFT>")


def batch_norm(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    at = w.dimension(value.kind)
    by_feature = [w.operand(scope, Kind((value.kind.shape[at],))) for _ in range(4)]
    text = f"epsilon = 0.001 : f32, feature_index = {at} : i64"
    vector = by_feature[0].kind
    match w.rng.randrange(3):
        case 0:
            w.op(scope, "stablehlo.batch_norm_inference", [value, *by_feature], [value.kind], text)
        case 1:
            results = [value.kind, vector, vector]
            w.op(scope, "stablehlo.batch_norm_training", [value, *by_feature[:2]], results, text)
        case _:
            operands = [value, *by_feature[:3], w.operand(scope, value.kind)]
            w.op(scope, "stablehlo.batch_norm_grad", operands, [value.kind, vector, vector], text)


def _rows(*names: str) -> tuple[str, ...]:
    return tuple(f"stablehlo.{name}" for name in names)


FAMILIES = {
    transpose: (7, _rows("transpose")),
    reshape: (10, _rows("reshape")),
    broadcast: (8, _rows("broadcast_in_dim", "broadcast")),
    slice_: (4, _rows("slice")),
    reverse: (2, _rows("reverse")),
    pad: (3, _rows("pad")),
    concatenate: (5, _rows("concatenate")),
    bitcast: (2, _rows("bitcast_convert")),
    dot_general: (12, _rows("dot_general")),
    dot: (2, _rows("dot")),
    einsum: (1, _rows("einsum", "unary_einsum")),
    reduce: (6, _rows("reduce")),
    sort: (3, _rows("sort")),
    top_k: (2, ("chlo.top_k",)),
    linear_algebra: (2, _rows("cholesky", "triangular_solve")),
    fft: (2, _rows("fft")),
    batch_norm: (2, _rows("batch_norm_inference", "batch_norm_training", "batch_norm_grad")),
}
"""Weight, and the rows of the op table that a family adds ops of."""
