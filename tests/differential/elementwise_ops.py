"""Elementwise ops of random programs: `family(writer, scope)` adds one op."""

from __future__ import annotations

from tests.differential.writer import INDEX, Kind, Scope, Writer, dims

FLOAT_UNARY = (
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
)
FLOAT_BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")
INTEGER_UNARY = ("not", "popcnt", "count_leading_zeros")
INTEGER_BINARY = ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")
CHLO_UNARY = (
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bessel_i1e",
    "conj",
    "cosh",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "sinh",
    "square",
    "tan",
)
CHLO_PREDICATES = ("is_inf", "is_neg_inf", "is_pos_inf")
CHLO_BINARY = ("next_after", "polygamma", "zeta")
COMPARE = "comparison_direction = #stablehlo<comparison_direction LT>"
CHLO_COMPARE = "comparison_direction = #chlo<comparison_direction LT>"
BROADCASTING = (
    *FLOAT_BINARY,
    *INTEGER_BINARY,
    *CHLO_BINARY,
    "compare",
    "complex",
    "select",
)


def plain(w: Writer, scope: Scope) -> None:
    """One or two operands, floats: by far the most common ops."""
    value = w.tensor(scope)
    if w.chance(0.4):
        w.op(scope, f"stablehlo.{w.rng.choice(FLOAT_UNARY)}", [value], [value.kind])
        return
    other = w.operand(scope, value.kind)
    w.op(scope, f"stablehlo.{w.rng.choice(FLOAT_BINARY)}", [value, other], [value.kind])


def integers(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, element="i32")
    if w.chance(0.4):
        w.op(scope, f"stablehlo.{w.rng.choice(INTEGER_UNARY)}", [value], [value.kind])
        return
    name = w.rng.choice([*(f"stablehlo.{n}" for n in INTEGER_BINARY), "chlo.mulhi"])
    w.op(scope, name, [value, w.operand(scope, value.kind)], [value.kind])


def predicates(w: Writer, scope: Scope) -> None:
    """Ops that give i1, and those that take it."""
    value = w.tensor(scope)
    flags = value.kind.of("i1")
    match w.rng.randrange(4):
        case 0:
            name = w.rng.choice(["stablehlo.is_finite", *(f"chlo.{n}" for n in CHLO_PREDICATES)])
            w.op(scope, name, [value], [flags])
        case 1:
            w.op(scope, "stablehlo.compare", [value, w.operand(scope, value.kind)], [flags], COMPARE)
        case 2:
            predicate = w.operand(scope, flags if w.chance(0.6) else Kind((), "i1"))
            w.op(scope, "stablehlo.select", [predicate, value, w.operand(scope, value.kind)], [value.kind])
        case _:
            low, high = (w.operand(scope, value.kind if w.chance(0.5) else Kind(())) for _ in range(2))
            w.op(scope, "stablehlo.clamp", [low, value, high], [value.kind])


def conversions(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    if w.chance(0.2):
        bits = "exponent_bits = 8 : i32, mantissa_bits = 7 : i32"
        w.op(scope, "stablehlo.reduce_precision", [value], [value.kind], bits)
        return
    back = w.pick(scope, lambda kind: kind.element in ("i32", "i1", "bf16"))
    if back and w.chance(0.5):
        w.op(scope, "stablehlo.convert", [back], [back.kind.of("f32")])
        return
    w.op(scope, "stablehlo.convert", [value], [value.kind.of(w.rng.choice(("i32", "bf16", "i1")))])


def complexes(w: Writer, scope: Scope) -> None:
    value = w.pick(scope, lambda kind: kind.element == "complex<f32>")
    if value is None or w.chance(0.3):
        real = w.tensor(scope)
        w.op(
            scope,
            "stablehlo.complex",
            [real, w.operand(scope, real.kind)],
            [real.kind.of("complex<f32>")],
        )
        return
    if w.chance(0.2):
        number = "value = #complex.number<:f32 0.1, -2.0> : complex<f32>"
        w.op(scope, "chlo.constant_like", [value], [value.kind], number)
        return
    name = w.rng.choice(("stablehlo.real", "stablehlo.imag", "chlo._asin_acos_kernel"))
    w.op(scope, name, [value], [value.kind if "kernel" in name else value.kind.of("f32")])


def chlo(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope)
    match w.rng.randrange(4):
        case 0 | 1:
            w.op(scope, f"chlo.{w.rng.choice(CHLO_UNARY)}", [value], [value.kind])
        case 2:
            name = f"chlo.{w.rng.choice(CHLO_BINARY)}"
            w.op(scope, name, [value, w.operand(scope, value.kind)], [value.kind])
        case _:
            w.op(scope, "chlo.constant_like", [value], [value.kind], "value = 1.0 : f32")


def broadcasting(w: Writer, scope: Scope) -> None:
    """chlo.broadcast_X of equal shapes, or with a second operand that has the last dimensions alone."""
    name = w.rng.choice(BROADCASTING)
    value = w.tensor(scope, element="i32" if name in INTEGER_BINARY else "f32")
    cut = w.rng.randint(0, value.kind.rank) if w.chance(0.5) else 0
    other = w.operand(scope, Kind(value.kind.shape[cut:], value.kind.element))
    places = f"broadcast_dimensions = {dims(range(cut, value.kind.rank))}" if cut else ""
    match name:
        case "select":
            flags = w.operand(scope, value.kind.of("i1"))
            other = w.operand(scope, value.kind)
            w.op(scope, "chlo.broadcast_select", [flags, value, other], [value.kind])
        case "compare":
            text = ", ".join(filter(None, (places, CHLO_COMPARE)))
            w.op(scope, "chlo.broadcast_compare", [value, other], [value.kind.of("i1")], text)
        case "complex":
            w.op(scope, "chlo.broadcast_complex", [value, other], [value.kind.of("complex<f32>")], places)
        case _:
            w.op(scope, f"chlo.broadcast_{name}", [value, other], [value.kind], places)


def map_(w: Writer, scope: Scope) -> None:
    value = w.tensor(scope, 1)
    other = w.operand(scope, value.kind)
    text = f"dimensions = {dims(range(value.kind.rank))}"
    region = w.combiner(["f32"])
    w.op(scope, "stablehlo.map", [value, other], [value.kind], text, regions=[region])


def dynamic_sizes(w: Writer, scope: Scope) -> None:
    """The size of a dimension as a value, and set from one."""
    value = w.tensor(scope, 1)
    at = f"dimension = {w.dimension(value.kind)} : i64"
    if w.chance(0.6):
        w.op(scope, "stablehlo.get_dimension_size", [value], [INDEX], at)
        return
    size = w.zero(scope, "i32")
    w.op(scope, "stablehlo.set_dimension_size", [value, size], [value.kind], at)


def _names(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(prefix + name for name in names)


FAMILIES = {
    plain: (30, _names("stablehlo.", FLOAT_UNARY + FLOAT_BINARY)),
    integers: (4, (*_names("stablehlo.", INTEGER_UNARY + INTEGER_BINARY), "chlo.mulhi")),
    predicates: (
        5,
        (
            *_names("stablehlo.", ("is_finite", "compare", "select", "clamp")),
            *_names("chlo.", CHLO_PREDICATES),
        ),
    ),
    conversions: (4, ("stablehlo.reduce_precision", "stablehlo.convert")),
    complexes: (3, ("stablehlo.complex", "stablehlo.real", "stablehlo.imag", "chlo._asin_acos_kernel")),
    chlo: (3, (*_names("chlo.", CHLO_UNARY + CHLO_BINARY), "chlo.constant_like")),
    broadcasting: (3, _names("chlo.broadcast_", BROADCASTING)),
    map_: (1, ("stablehlo.map",)),
    dynamic_sizes: (1, ("stablehlo.get_dimension_size", "stablehlo.set_dimension_size")),
}
"""Weight, and the rows of the op table that a family adds ops of."""
