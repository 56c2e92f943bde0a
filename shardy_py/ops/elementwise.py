"""Ops whose result reads the same element of each operand (a scalar operand: its only one), or no tensor.

Those without operands are constants, iota and random numbers, whose state is read whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shardy_py.base.behaviours import Behaviour
from shardy_py.indexing import Expr, IndexMap, dim
from shardy_py.ops import combiners
from shardy_py.ops.policy import DimensionRead, Policy, Treatment, by_relation
from shardy_py.ops.reads import Maps, Reads, all_results, coordinates, domain_of, names, read_whole, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import Family, Linear, OpSpec, Repeat, RuleSource
from shardy_py.ops.work import WorkOf, all_functions, decomposed, each_angle, each_function, each_region


def no_operands(record: OpRecord) -> tuple[Reads, ...]:
    """Nothing is read."""
    return (Reads((0,), ()),)


def scalars_only(record: OpRecord) -> tuple[Reads, ...]:
    """Each operand is read whole by each element."""
    shapes = [shape_of(t) for t in record.operands]
    sizes = tuple(size for shape in shapes for size in shape)
    return (Reads((0,), read_whole(domain_of(record, 0, sizes), shapes), frozenset(range(len(sizes)))),)


def rng_bit_generator(record: OpRecord) -> tuple[Reads, ...]:
    """The next state and every random element read the whole state."""
    state = shape_of(record.operands[0])
    whole = frozenset(range(len(state)))
    maps = (read_whole(domain_of(record, result, state), (state,)) for result in (0, 1))
    return (Reads((0,), next(maps), whole, {(0, d): d for d in whole}), Reads((1,), next(maps), whole))


def seeded(read: DimensionRead) -> Treatment:
    """States stay whole and are not propagated."""
    return replace(by_relation(read), blocked=True)


UNARY = names("""abs cbrt ceil count_leading_zeros cosine exponential exponential_minus_one floor
    is_finite log log_plus_one logistic popcnt reduce_precision round_nearest_afz round_nearest_even
    rsqrt sign sine sqrt tan tanh""")
BINARY = names("""atan2 power remainder
    shift_left shift_right_arithmetic shift_right_logical""")
TRANSCENDENTAL = names("""atan2 cbrt cosine exponential exponential_minus_one log log_plus_one logistic
    power rsqrt sine sqrt tan tanh""")
"""Ops that XLA counts apart from others."""
ANGLES = ("cosine", "sine", "tan")
DIVISIONS = ("divide", "remainder")
CHLO_IN_HLO = names("acos acosh asin asinh atanh cosh erf sinh")
CHLO_UNARY = names("""_asin_acos_kernel atan bessel_i1e conj constant_like digamma erf_inv erfc is_inf
    is_neg_inf is_pos_inf lgamma square tan""")
CHLO_WITHOUT_TRAIT = names("next_after polygamma zeta")
CHLO_BROADCASTING = names("""add atan2 divide maximum minimum multiply next_after polygamma power remainder
    shift_left shift_right_arithmetic shift_right_logical subtract zeta and or xor complex compare select""")
CHANGED = {
    **dict.fromkeys(("digamma", "polygamma"), (Behaviour.DIGAMMA_OF_ZERO_IS_INFINITE, 2)),
    "asin": (Behaviour.ARCSINE_HAS_THREE_OPS, -2),
}
"""How many more floating-point operations XLA makes of them with a behaviour."""
DECOMPOSED: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("atan", "erf"), (0, 1)),
    "acos": (3, 2),
    "acosh": (7, 4),
    "asin": (5, 2),
    "asinh": (11, 3),
    "atanh": (6, 2),
    "cosh": (3, 2),
    "sinh": (10, 3),
    "bessel_i1e": (83, 1),
    "digamma": (73, 3),
    "lgamma": (53, 4),
    "erf_inv": (37, 2),
    "erfc": (62, 1),
    "next_after": (24, 0),
    "polygamma": (260, 19),
    "zeta": (121, 11),
}
"""Operations and transcendental functions of f32 in what XLA makes of an op of chlo: its cost analysis."""


def pointwise(record: OpRecord) -> tuple[Reads, ...]:
    """Result (d0, d1, ...) reads (d0, d1, ...); an operand of lower rank, its first coordinates."""
    domain = domain_of(record)
    point = coordinates(shape_of(record.results[0]))
    by_rank: dict[int, IndexMap] = {}
    maps: list[IndexMap | None] = []
    for operand in record.operands:
        rank = operand.rank if operand else 0
        if rank not in by_rank:
            by_rank[rank] = domain.reading(point[:rank])
        maps.append(by_rank[rank] if operand else None)
    return (Reads(all_results(record), tuple(maps)),)


def broadcasting(record: OpRecord) -> tuple[Reads, ...]:
    """Broadcasting as in numpy: an operand's dimensions are the result's last; size 1 is read at 0."""
    result, given = len(shape_of(record.results[0])), record.attributes.get("broadcast_dimensions")
    ranks = [len(shape_of(operand)) for operand in record.operands]
    last = (range(result - rank, result) for rank in ranks)
    return broadcast_along(
        record,
        *(d if given is None or rank > min(ranks) else given for rank, d in zip(ranks, last, strict=True)),
    )


def broadcast_along(record: OpRecord, *targets: Sequence[int]) -> tuple[Reads, ...]:
    """Dimension i of an operand is result dimension `targets[i]`; a size of 1 is read at 0."""
    domain = domain_of(record)
    maps: list[IndexMap | None] = []
    beside: dict[tuple[int, int], int] = {}
    for number, (operand, dimensions) in enumerate(zip(record.operands, targets, strict=True)):
        if len(dimensions) != len(shape_of(operand)) or not all(
            0 <= d < len(domain.dims) for d in dimensions
        ):
            maps.append(None)  # CHLO leaves it to the run whether dimensions are there
            continue
        point: list[Expr] = []
        for position, (size, target) in enumerate(zip(shape_of(operand), dimensions, strict=True)):
            is_whole = size == domain.dims[target].size
            point.append(dim(target) if is_whole else dim(target) % size)
            if not is_whole:
                beside[number, position] = target
        maps.append(domain.reading(tuple(point)) if operand else None)
    return (Reads((0,), tuple(maps), beside=beside),)


def _row(name: str, arity: int, **columns: Any) -> OpSpec:
    columns["work"] = _function(name)
    is_expensive = name in TRANSCENDENTAL or name in DIVISIONS
    columns["repeat"] = Repeat.EXPENSIVE if is_expensive else Repeat.CHEAP
    return OpSpec(f"stablehlo.{name}", pointwise, is_elementwise=True, arity=arity, **columns)


def _chlo(name: str, maps: Maps = pointwise, **columns: Any) -> OpSpec:
    base = name.removeprefix("broadcast_")
    work = decomposed(*DECOMPOSED[base], CHANGED.get(base)) if base in DECOMPOSED else _function(base)
    return OpSpec(f"chlo.{name}", maps, rule_source=RuleSource.UNKNOWN, work=work, **columns)


def _function(name: str) -> WorkOf | None:
    """The work of a transcendental function, by the name of its op; None for other ops."""
    if name in ANGLES:
        return each_angle
    return each_function if name in TRANSCENDENTAL else None


ROWS = (
    OpSpec("stablehlo.constant", no_operands, rule_source=RuleSource.NONE, repeat=Repeat.FREE),
    OpSpec("sdy.constant", no_operands, rule_source=RuleSource.NONE),
    OpSpec("chlo.constant", no_operands, rule_source=RuleSource.UNKNOWN),
    OpSpec(
        "stablehlo.iota",
        no_operands,
        rule_source=RuleSource.NONE,
        preserves_constants=True,
        repeat=Repeat.FREE,
    ),
    OpSpec("stablehlo.rng", scalars_only, rule_source=RuleSource.UNKNOWN, work=each_function),
    OpSpec("stablehlo.rng_bit_generator", rng_bit_generator, policy=Policy(seeded), work=all_functions),
    *(_row(name, 1) for name in UNARY),
    *(_row(name, 2) for name in BINARY),
    *(_row(name, 1, linear=Linear.ALL) for name in ("imag", "real")),
    _row("complex", 2, linear=Linear.ALL),
    _row("divide", 2, linear=Linear.FIRST),
    _row("add", 2, combiner=combiners.ADD, linear=Linear.ALL, is_folded=True),
    _row("and", 2, combiner=combiners.AND, is_folded=True),
    _row("clamp", 3, is_folded=True),
    _row("compare", 2, is_folded=True),
    _row("convert", 1, linear=Linear.ROUNDED, is_folded=True),
    _row("maximum", 2, combiner=combiners.MAXIMUM, is_folded=True),
    _row("minimum", 2, combiner=combiners.MINIMUM, is_folded=True),
    _row("multiply", 2, combiner=combiners.MULTIPLY, linear=Linear.ONE, is_folded=True),
    _row("negate", 1, linear=Linear.ALL, is_folded=True),
    _row("not", 1, is_folded=True),
    _row("or", 2, combiner=combiners.OR, is_folded=True),
    _row("select", 3, is_folded=True),
    _row("subtract", 2, linear=Linear.ALL, is_folded=True),
    _row("uniform_dequantize", 0, rule_source=RuleSource.UNKNOWN),
    _row("uniform_quantize", 0, rule_source=RuleSource.UNKNOWN),
    _row("xor", 2, combiner=combiners.XOR, is_folded=True),
    OpSpec("stablehlo.map", pointwise, rule_source=RuleSource.UNKNOWN, work=each_region),
    *(_chlo(name, is_elementwise=True, arity=1) for name in CHLO_IN_HLO),
    *(_chlo(name, is_elementwise=True) for name in CHLO_UNARY),
    *(_chlo(name, family=Family.ELEMENTWISE) for name in CHLO_WITHOUT_TRAIT),
    *(_chlo(f"broadcast_{name}", broadcasting, is_elementwise=True) for name in CHLO_BROADCASTING),
    _chlo("mulhi", arity=2),
)
