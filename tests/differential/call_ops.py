"""Custom calls, collectives and sources of random programs: `family(writer, scope)` adds one op."""

from __future__ import annotations

from tests.differential.writer import MAX_RANK, Kind, Scope, Type, Value, Writer, dims, table

POINTWISE_TARGETS = (
    "annotate_device_placement",
    "Cholesky",
    "CompactWyHelper",
    "InspectSharding",
    "InvertDiagBlocksLowerTriangular",
    "InvertDiagBlocksUpperTriangular",
    "LayoutConstraint",
    "mhlo.erf",
    "MoveToDevice",
    "MoveToHost",
    "X64SplitHigh",
    "X64SplitLow",
    "xla.megascale.provide_metadata",
)
MOVING_TARGETS = tuple(
    f"_SPMDInternalOp_{name}" for name in ("MultiPad", "RotateRight", "MultiRotate", "MultiSlice", "Wrap")
)
GROUPS = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
LETTERS = "ijklmnopqrstuvwxyz"


def _call(
    w: Writer, scope: Scope, target: str, operands: list[Value], results: list[Type], rule: str = ""
) -> None:
    text = f'call_target_name = "{target}"'
    w.op(scope, "stablehlo.custom_call", operands, results, text, attributes=rule)


def known_call(w: Writer, scope: Scope) -> None:
    """Custom calls that Shardy knows by name."""
    value = w.tensor(scope, 2)
    kind = value.kind
    *batch, n, m = kind.shape
    vector = Kind((*batch, min(n, m)))
    best = kind.resized(kind.rank - 1, w.rng.randint(1, m))
    match w.rng.randrange(9):
        case 0 | 1:
            _call(w, scope, w.rng.choice(POINTWISE_TARGETS), [value], [kind])
        case 2:
            to = kind.resized(w.dimension(kind), w.size())
            _call(w, scope, w.rng.choice(MOVING_TARGETS), [value], [to])
        case 3:
            square = w.operand(scope, Kind((*batch, n, n)))
            _call(w, scope, "Eigh", [square], [square.kind, Kind((*batch, n))])
        case 4:
            _call(w, scope, w.rng.choice(("Qr", "QrDecompositionBlock")), [value], [kind, vector])
        case 5:
            target = "ProductOfElementaryHouseholderReflectors"
            _call(w, scope, target, [value, w.operand(scope, vector)], [kind])
        case 6:
            _call(w, scope, "mhlo.topk", [value], [best, best.of("i32")])
        case 7:
            target = w.rng.choice(("ApproxTopK", "PartialReduce"))
            operands = [value, w.operand(scope, kind.of("i32")), w.zero(scope), w.zero(scope, "i32")]
            _call(w, scope, target, operands, [best, best.of("i32")])
        case _:
            half = w.operand(scope, Kind((2,) if w.chance(0.5) else kind.shape, "ui32"))
            _call(w, scope, "X64Combine", [half, half], [half.kind.of("ui64")])


def unknown_call(w: Writer, scope: Scope) -> None:
    """A custom call that nobody knows, with a sharding rule of its own or without."""
    values = [w.tensor(scope, 1, 3) for _ in range(w.rng.randint(1, 2))]
    sizes = sorted({size for value in values for size in value.kind.shape})
    if w.chance(0.15):
        _call(w, scope, "nobody.knows", values, [values[0].kind])
        return
    factors: list[tuple[str, int]] = []
    results: list[Type] = []
    for _ in range(w.rng.randint(1, 2)):
        shape = tuple(w.rng.choice(sizes) for _ in range(w.rng.randint(1, 3)))
        results.append(Kind(shape))
    kinds = [value.kind for value in values] + [kind for kind in results if isinstance(kind, Kind)]
    mappings = ["[" + ", ".join(_mapped(w, factors, kind)) + "]" for kind in kinds]
    takes, gives = mappings[: len(values)], mappings[len(values) :]
    sorts = ("", "", "", "reduction", "need_replication", "permutation")
    chosen = {letter: w.rng.choice(sorts) for letter, _ in factors}
    chosen |= {letter: "" for letter in chosen if chosen[letter] == "reduction" and letter in "".join(gives)}
    blocked = [letter for letter, _ in factors if w.chance(0.1)]
    kinds_of = [
        f" {name}={{{', '.join(letter for letter, sort in chosen.items() if sort == name)}}}"
        for name in sorts[3:]
        if name in chosen.values()
    ]
    kinds_of += [f" blocked_propagation={{{', '.join(blocked)}}}"] if blocked else []
    sizes_text = ", ".join(f"{letter}={size}" for letter, size in factors)
    rule = f"([{', '.join(takes)[1:-1]}])->([{', '.join(gives)[1:-1]}]) {{{sizes_text}}}{''.join(kinds_of)}"
    _call(w, scope, "mine", values, results, f"sdy.sharding_rule = #sdy.op_sharding_rule<{rule}, custom>")


def _mapped(w: Writer, factors: list[tuple[str, int]], kind: Kind) -> list[str]:
    """A factor for each dimension, one that others have too if it can be; or two for one dimension."""
    used: set[str] = set()
    found: list[str] = []
    for size in kind.shape:
        parts = [2, size // 2] if size % 2 == 0 and size > 2 and w.chance(0.15) else [size]
        letters: list[str] = []
        for part in parts:
            fitting = [letter for letter, n in factors if n == part and letter not in used]
            if fitting and w.chance(0.8):
                letters.append(w.rng.choice(fitting))
            else:
                letters.append(LETTERS[len(factors)])
                factors.append((letters[-1], part))
            used.add(letters[-1])
        found.append("".join(letters))
    return found


def collective(w: Writer, scope: Scope) -> None:
    """StableHLO's collectives, as in the body of a manual computation."""
    value = w.tensor(scope, 1, 3)
    kind, d = value.kind, w.dimension(value.kind)
    e = w.dimension(kind)
    wide = kind.resized(d, kind.shape[d] * 2)
    match w.rng.randrange(7):
        case 0:
            region = w.combiner(["f32"])
            w.op(scope, "stablehlo.all_reduce", [value], [kind], GROUPS, regions=[region])
        case 1:
            pairs = f"source_target_pairs = {table([(0, 1)])}"
            w.op(scope, "stablehlo.collective_permute", [value], [kind], pairs)
        case 2:
            w.op(scope, "stablehlo.collective_broadcast", [value], [kind], GROUPS)
        case 3:
            text = f"all_gather_dim = {d} : i64, {GROUPS}"
            w.op(scope, "stablehlo.all_gather", [value], [wide], text)
        case 4:
            given = w.operand(scope, wide)
            text, region = f"scatter_dimension = {d} : i64, {GROUPS}", w.combiner(["f32"])
            w.op(scope, "stablehlo.reduce_scatter", [given], [kind], text, regions=[region])
        case 5:
            w.op(scope, "stablehlo.cross-replica-sum", [value], [kind], GROUPS)
        case _:
            if kind.shape[d] % 2:
                return
            to = kind.resized(d, kind.shape[d] // 2)
            to = to.resized(e, to.shape[e] * 2)
            text = f"split_dimension = {d} : i64, concat_dimension = {e} : i64, split_count = 2 : i64"
            w.op(scope, "stablehlo.all_to_all", [value], [to], f"{text}, {GROUPS}")


def source(w: Writer, scope: Scope) -> None:
    """Ops that read no tensor."""
    kind = w.kind(0)
    match w.rng.randrange(5 if w.width.runs else 6):
        case 0 | 1:
            kind = w.kind(1)
            text = f"iota_dimension = {w.dimension(kind)} : i64"
            w.op(scope, "stablehlo.iota", [], [kind], text)
        case 2 | 3:
            w.op(scope, "stablehlo.constant", [], [kind], f"value = dense<1.0> : {kind}")
        case 4:
            name = w.rng.choice(("sdy.constant", "chlo.constant"))
            w.op(scope, name, [], [kind], f"value = dense<2.0> : {kind}")
        case _:
            number = "stablehlo." + w.rng.choice(("partition_id", "replica_id"))
            w.op(scope, number, [], [Kind((), "ui32")])


def random_numbers(w: Writer, scope: Scope) -> None:
    kind = w.kind(1)
    if w.chance(0.4):
        name = w.name()
        w.line(scope, f"{name} = stablehlo.constant dense<{list(kind.shape)}> : tensor<{kind.rank}xi64>")
        shape = Value(name, Kind((kind.rank,), "i64"))
        text = "rng_distribution = #stablehlo<rng_distribution UNIFORM>"
        w.op(scope, "stablehlo.rng", [w.zero(scope), w.zero(scope), shape], [kind], text)
        return
    state = w.operand(scope, Kind((2,), "ui64"))
    text = "rng_algorithm = #stablehlo<rng_algorithm DEFAULT>"
    w.op(scope, "stablehlo.rng_bit_generator", [state], [state.kind, kind.of("ui32")], text)


def index_select(w: Writer, scope: Scope) -> None:
    """A look-up that Shardy knows nothing of."""
    value = w.tensor(scope, 1, MAX_RANK)
    at, count = w.dimension(value.kind), w.size()
    to = value.kind.resized(at, count)
    text = f"dim = {at} : i64, batch_dims = 0 : i64"
    operands = [value, w.operand(scope, Kind((count,), "i32"))]
    w.op(scope, "stablehlo.torch_index_select", operands, [to], text)


def dynamic_shape(w: Writer, scope: Scope) -> None:
    """Ops that take the shape of their result from an operand; here it is a constant."""
    value = w.tensor(scope, 1, 3)
    kind = value.kind
    numbers = [
        w.constant(scope, Kind((kind.rank,), "i32"), str(list(n))) for n in ([0] * kind.rank, kind.shape)
    ]
    zeros, shape = numbers
    ones = w.constant(scope, zeros.kind, str([1] * kind.rank))
    name = "stablehlo."
    match w.rng.randrange(6):
        case 0:
            w.op(scope, name + "dynamic_reshape", [value, shape], [kind])
        case 1:
            text = f"broadcast_dimensions = {dims(range(kind.rank))}"
            w.op(scope, name + "dynamic_broadcast_in_dim", [value, shape], [kind], text)
        case 2:
            w.op(scope, name + "dynamic_iota", [shape], [kind], "iota_dimension = 0 : i64")
        case 3:
            operands = [value, w.zero(scope), zeros, zeros, zeros]
            w.op(scope, name + "dynamic_pad", operands, [kind])
        case 4:
            w.op(scope, name + "real_dynamic_slice", [value, zeros, shape, ones], [kind])
        case _:
            indices = w.operand(scope, Kind((kind.shape[0], 1), "i32"))
            sizes = w.constant(scope, zeros.kind, str([1, *kind.shape[1:]]))
            places = f"offset_dims = {list(range(1, kind.rank))}, " if kind.rank > 1 else ""
            numbers_text = f"{places}collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
            text = f"dimension_numbers = #stablehlo.gather<{numbers_text}>"
            w.op(scope, name + "dynamic_gather", [value, indices, sizes], [kind], text)


def dynamic_convolution(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 3, 3)
    batch, size, features = value.kind.shape
    kernel = w.operand(scope, Kind((1, features, w.size())))
    padding = w.constant(scope, Kind((1, 2), "i32"), "0")
    to = Kind((batch, size, kernel.kind.shape[2]))
    text = "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>"
    text += ", feature_group_count = 1 : i64, batch_group_count = 1 : i64"
    w.op(scope, "stablehlo.dynamic_conv", [value, kernel, padding], [to], text)


def ragged_dot(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 2, 2)
    m, k = value.kind.shape
    groups, n = 2, w.size()
    operands = [value, w.operand(scope, Kind((groups, k, n))), w.operand(scope, Kind((groups,), "i32"))]
    numbers = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]"
    numbers += ", lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]"
    text = f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>"
    w.op(scope, "chlo.ragged_dot", operands, [Kind((m, n))], text)


def host_transfer(w: Writer, scope: Scope) -> None:
    """Tokens, and what is sent and received by them."""
    token, kind = "!stablehlo.token", w.kind(1)
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = {}>, is_host_transfer = true"
    name = "stablehlo." + w.rng.choice(("create_token", "after_all"))
    made = w.op(scope, name, [], [token])
    match w.rng.randrange(4):
        case 0:
            text = 'infeed_config = "x"'
            w.op(scope, "stablehlo.infeed", made, [kind, token], text, operand_types=[token])
        case 1:
            w.op(
                scope,
                "stablehlo.recv",
                made,
                [kind, token],
                channel.format(3),
                operand_types=[token],
            )
        case 2:
            value = w.tensor(scope)
            types: list[Type] = [value.kind, token]
            text = 'outfeed_config = "x"'
            w.op(scope, "stablehlo.outfeed", [value.name, *made], [token], text, operand_types=types)
        case _:
            value = w.tensor(scope)
            w.op(
                scope,
                "stablehlo.send",
                [value.name, *made],
                [token],
                channel.format(2),
                operand_types=[value.kind, token],
            )


def tuples(w: Writer, scope: Scope) -> None:
    """Propagation refuses them, hence they are rare."""
    values = [w.tensor(scope) for _ in range(2)]
    type_ = f"tuple<{values[0].kind}, {values[1].kind}>"
    made = w.op(scope, "stablehlo.tuple", values, [type_])
    at = w.rng.randrange(2)
    text = f"index = {at} : i32"
    w.op(scope, "stablehlo.get_tuple_element", made, [values[at].kind], text, operand_types=[type_])


def _names(*names: str) -> tuple[str, ...]:
    return tuple(f"stablehlo.{name}" for name in names)


FAMILIES = {
    known_call: (
        6,
        tuple(
            f"stablehlo.custom_call@{target}"
            for target in (
                *POINTWISE_TARGETS,
                *MOVING_TARGETS,
                "Eigh",
                "Qr",
                "QrDecompositionBlock",
                "ProductOfElementaryHouseholderReflectors",
                "mhlo.topk",
                "ApproxTopK",
                "PartialReduce",
                "X64Combine",
            )
        ),
    ),
    unknown_call: (6, _names("custom_call")),
    collective: (
        3,
        _names(
            "all_reduce",
            "collective_permute",
            "collective_broadcast",
            "all_gather",
            "reduce_scatter",
            "cross-replica-sum",
            "all_to_all",
        ),
    ),
    source: (6, (*_names("iota", "constant", "partition_id", "replica_id"), "sdy.constant", "chlo.constant")),
    random_numbers: (2, _names("rng", "rng_bit_generator")),
    index_select: (1, _names("torch_index_select")),
    dynamic_shape: (
        2,
        _names(
            "dynamic_reshape",
            "dynamic_broadcast_in_dim",
            "dynamic_iota",
            "dynamic_pad",
            "real_dynamic_slice",
            "dynamic_gather",
        ),
    ),
    dynamic_convolution: (1, _names("dynamic_conv")),
    ragged_dot: (1, ("chlo.ragged_dot",)),
    host_transfer: (1, _names("create_token", "after_all", "infeed", "recv", "outfeed", "send")),
    tuples: (0.1, _names("tuple", "get_tuple_element")),
}
"""Weight, and the rows of the op table that a family adds ops of."""
