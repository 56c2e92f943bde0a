"""Pass-through factors against brute force.

A pass-through factor says: cut it into equal parts, and each part of a result depends on that part of the
operands alone. The maps are enumerated: every element that a result element reads must have the same
coordinate along the factor, in every operand that carries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardy_py.indexing import Expr, IndexMap, bounds_of, constant, dim, range_var, reads
from shardy_py.ops import Domain, OpRecord, Reads, TensorType, indexing_maps, reads_of, row_name
from shardy_py.ops.custom_calls import MOVED
from shardy_py.ops.reads import extents
from shardy_py.propagation.rules import derive_from_maps, derive_rule
from shardy_py.sharding import FactorType, ShardingRule
from shardy_py.sharding.rule import TensorMapping
from tests.conftest import examples
from tests.propagation.rules.instances import FAMILIES

MAX_POINTS = 4000
MOVING = [f"stablehlo.custom_call@{target}" for target in MOVED]
UNSOUND = {
    "stablehlo.pad": "equal sizes count as unpadded, also where low and high padding cancel",
    "stablehlo.reduce_window": "a window of one element counts as none, also with a base dilation",
    "stablehlo.custom_call@mhlo.topk": "k of all counts as pointwise, though it sorts",
    "stablehlo.custom_call@Eigh": "the matrix may be cut, though it is read whole",
    "stablehlo.custom_call@Cholesky": "pointwise, though the matrix is read whole",
    "stablehlo.custom_call@CompactWyHelper": "pointwise, though the matrix is read whole",
    "stablehlo.custom_call@InvertDiagBlocksLowerTriangular": "pointwise, though the matrix is read whole",
    "stablehlo.custom_call@InvertDiagBlocksUpperTriangular": "pointwise, though the matrix is read whole",
    **dict.fromkeys(
        MOVING, "pointwise, though the parts of a dimension that changes its size do not line up"
    ),
}
"""Rows whose policy follows Shardy in what the maps do not bear out."""


def violations(record: OpRecord, rule: ShardingRule) -> Iterator[str]:
    """The pass-through factors along which a part of a result reads another part of an operand."""
    maps = indexing_maps(record)
    assert maps is not None
    return violations_of_maps(maps, record, rule)


def violations_of_maps(
    maps: Sequence[Sequence[IndexMap | None]], record: OpRecord, rule: ShardingRule
) -> Iterator[str]:
    for result, by_operand in enumerate(maps):
        for operand, index_map in enumerate(by_operand):
            if index_map is None or _points(index_map) > MAX_POINTS:
                continue
            sides = (
                (rule.results[result], record.results[result]),
                (rule.operands[operand], record.operands[operand]),
            )
            for factor, kind in enumerate(rule.factors):
                if kind.type is not FactorType.PASS_THROUGH or kind.size == 1:
                    continue
                places = [_place(rule, mapping, type_, factor) for mapping, type_ in sides]
                if None in places:
                    continue
                for element, sources in reads(index_map).items():
                    own = _coordinate(element, places[0])
                    if any(_coordinate(source, places[1]) != own for source in sources):
                        yield f"{rule}: factor {factor}, result {result} {element} reads operand {operand}"
                        break


def _points(index_map: IndexMap) -> int:
    return prod(interval.size for interval in index_map.bounds.values())


def _place(
    rule: ShardingRule, mapping: TensorMapping, type_: TensorType | None, factor: int
) -> tuple[int, int, int] | None:
    """The dimension that carries a factor, how many elements of it a part has, and the size of the factor."""
    for dimension, factors in enumerate(mapping):
        if factor in factors:
            above = factors[: factors.index(factor) + 1]
            assert type_ is not None
            parts = prod(rule.factors[f].size for f in above)
            return (
                dimension,
                max(1, (type_.shape[dimension] or 0) // max(1, parts)),
                rule.factors[factor].size,
            )
    return None


def _coordinate(element: tuple[int, ...], place: tuple[int, int, int] | None) -> int:
    assert place is not None
    dimension, below, size = place
    return element[dimension] // below % size


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_without_policy_every_rule_is_sound(family: str, data: st.DataObject) -> None:
    record = data.draw(FAMILIES[family])
    groups = reads_of(record)
    if groups is not None:
        rule = derive_from_maps(groups, record)
        assert rule is not None
        assert not list(violations(record, rule))


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_with_policy_every_rule_is_sound_but_for_those_listed(family: str, data: st.DataObject) -> None:
    record = data.draw(FAMILIES[family])
    rule = derive_rule(record)
    if rule is not None and row_name(record) not in UNSOUND:
        assert not list(violations(record, rule))


def test_the_check_finds_what_is_unsound() -> None:
    square = TensorType((4, 4))
    call = {"call_target_name": "Cholesky"}
    record = OpRecord("stablehlo.custom_call", (square,), (square,), call)
    rule = derive_rule(record)
    assert rule is not None
    assert list(violations(record, rule))


@pytest.mark.parametrize("target", MOVED)
def test_parts_of_another_size_do_not_line_up(target: str) -> None:
    """As in Shardy, where a dimension that shrinks is one factor, of the size in the result."""
    types = (TensorType((1, 4)),), (TensorType((1, 2)),)
    record = OpRecord("stablehlo.custom_call", *types, {"call_target_name": target})
    rule = derive_rule(record)
    assert str(rule) == "<([i, j])->([i, j]) {i=1, j=2}>"
    assert rule is not None
    assert row_name(record) in UNSOUND
    assert list(violations(record, rule))


@st.composite
def random_reads(draw: Any) -> tuple[OpRecord, tuple[Reads, ...]]:
    """An op of nobody's: one or two results, each reading the operands in its own way."""
    shapes = [
        draw(st.lists(st.sampled_from([1, 2, 4, 6, 8]), min_size=1, max_size=3))
        for _ in range(draw(st.integers(1, 2)))
    ]
    ranges = draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=2))
    points = [[draw(_expressions(len(shape), len(ranges))) for _ in range(3)] for shape in shapes]
    bounds = [IndexMap((), extents(tuple(shape)), extents(tuple(ranges))).bounds for shape in shapes]
    # The least shift and size that hold what every result reads.
    low, high = [0, 0, 0], [0, 0, 0]
    for point, bound in zip(points, bounds, strict=True):
        for i, expression in enumerate(point):
            interval = bounds_of(expression, bound)
            low[i], high[i] = min(low[i], interval.low), max(high[i], interval.high)
    cut = draw(st.integers(1, 2))
    operands = [tuple(high[i] - low[i] + 1 for i in part) for part in (range(cut), range(cut, 3))]
    groups: list[Reads] = []
    for number, (shape, point) in enumerate(zip(shapes, points, strict=True)):
        shifted = tuple(expression - low[i] for i, expression in enumerate(point))
        domain = Domain(extents(tuple(shape)), extents(tuple(ranges)))
        whole = frozenset(i for i in range(len(ranges)) if draw(st.booleans()))
        maps = (domain.reading(shifted[:cut]), domain.reading(shifted[cut:]))
        groups.append(Reads((number,), maps, whole))
    kinds = [TensorType(shape) for shape in operands]
    return OpRecord("mine.op", tuple(kinds), tuple(TensorType(tuple(s)) for s in shapes)), tuple(groups)


@st.composite
def _expressions(draw: Any, rank: int, ranges: int) -> Expr:
    variables = [*map(dim, range(rank)), *map(range_var, range(ranges))]
    total = constant(draw(st.sampled_from([0, 0, 0, 1])))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        atom = draw(st.sampled_from(variables))
        for _ in range(draw(st.integers(0, 2))):
            divisor = draw(st.sampled_from([2, 3, 4]))
            atom = atom // divisor if draw(st.booleans()) else atom % divisor
        total = total + atom * draw(st.sampled_from([1, 1, 1, 2, 4, -1]))
    return total


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(random_reads())
def test_maps_of_nobodys_op_give_a_sound_rule(op: tuple[OpRecord, tuple[Reads, ...]]) -> None:
    record, groups = op
    rule = derive_from_maps(groups, record)
    assert rule is not None
    assert not list(violations_of_maps([group.operands for group in groups], record, rule))
    for mapping in (*rule.operands, *rule.results):
        used = [factor for factors in mapping for factor in factors]
        assert len(set(used)) == len(used)
