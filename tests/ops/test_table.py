"""The op table: every row has an example and every example a row; what the rows say is well formed."""

from __future__ import annotations

import pytest

from shardy_py.ops import (
    TABLE,
    OpRecord,
    OpSpec,
    TensorType,
    everything,
    indexing_maps,
    is_elementwise,
    reads_of,
)
from shardy_py.ops.reads import extents, shape_of
from tests.ops.examples import EXAMPLES


def test_every_row_has_an_example_and_every_example_a_row() -> None:
    assert set(EXAMPLES) == {name for name in TABLE if not name.startswith("mine.")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_maps_fit_the_types(name: str) -> None:
    record = EXAMPLES[name]
    maps = indexing_maps(record)
    if TABLE[name].maps is None:
        assert maps is None
        return
    assert maps is not None
    assert len(maps) == len(record.results)
    for result, by_operand in enumerate(maps):
        domain = extents(shape_of(record.results[result]))
        assert len(by_operand) == len(record.operands)
        for operand, index_map in enumerate(by_operand):
            if index_map is None:
                continue
            assert len(index_map.results) == len(shape_of(record.operands[operand]))
            assert len(index_map.dims) == len(domain)
            for narrowed, whole in zip(index_map.dims, domain, strict=True):
                assert whole.low <= narrowed.low
                assert narrowed.high <= whole.high


@pytest.mark.parametrize("name", EXAMPLES)
def test_groups_number_their_variables_alike(name: str) -> None:
    for group in reads_of(EXAMPLES[name]) or ():
        maps = [m for m in group.operands if m]
        assert len({(m.ranges, m.runtimes) for m in maps}) <= 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_said_beside_the_maps_fits_them(name: str) -> None:
    record = EXAMPLES[name]
    for group in reads_of(record) or ():
        rank = len(shape_of(record.results[group.results[0]]))
        assert all(d < rank for d in (*group.beside.values(), *group.opaque))
        for (operand, dimension), _ in group.beside.items():
            assert dimension < len(shape_of(record.operands[operand]))
        ranges = max((len(m.ranges) for m in group.operands if m), default=0)
        assert all(number < ranges for number in group.whole)


def test_elementwise_ops() -> None:
    named = {name for name, record in EXAMPLES.items() if is_elementwise(record)}
    assert {"stablehlo.add", "stablehlo.select", "stablehlo.clamp", "sdy.reshard", "chlo.square"} <= named
    assert named.isdisjoint(
        {"stablehlo.map", "chlo.zeta", "stablehlo.bitcast_convert", "stablehlo.transpose"}
    )
    kind = TensorType((4,))
    assert is_elementwise(OpRecord("stablehlo.bitcast_convert", (kind,), (kind,)))


def test_everything_reads_everything() -> None:
    record = OpRecord("mine.unknown", (TensorType((2, 3)), TensorType((4,))), (TensorType((5,)),))
    (group,) = everything(record)
    assert [str(m).splitlines()[0] for m in group.operands] == [
        "(d0)[s0, s1, s2] -> (s0, s1),",
        "(d0)[s0, s1, s2] -> (s2),",
    ]


def test_an_op_without_a_row_has_the_defaults() -> None:
    assert TABLE["mine.unknown"] == OpSpec("mine.unknown")
    assert "mine.unknown" not in TABLE


def test_reductions_that_do_not_depend_on_the_order() -> None:
    free = {
        (name, element) for name in TABLE for element in ("f32", "i1") if TABLE[name].is_order_free(element)
    }
    numeric = {f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum")}
    logical = {"stablehlo.and", "stablehlo.or"}
    assert free == {(name, "f32") for name in numeric} | {(name, "i1") for name in numeric | logical}
