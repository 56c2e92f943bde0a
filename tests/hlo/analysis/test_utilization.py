"""Shares of operands against counting the elements that are read."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import shardy_py.hlo.analysis.utilization as utilization
from shardy_py.hlo.analysis import operand_utilization
from shardy_py.ops import OpRecord, TensorType
from tests.hlo.analysis.oracle import elements, random_function, read_by

SCALAR = TensorType((), "i32")


@pytest.mark.parametrize("on_masks", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed: int, on_masks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not on_masks:
        monkeypatch.setattr(utilization, "MOST_MARKED", 0)
    function = random_function(random.Random(seed), 4)
    if any(len(elements(t)) > 300 for t in function.types):
        return
    read = set().union(*read_by(function, function.results[0]).values())
    for parameter, found in enumerate(operand_utilization(function)):
        total = len(elements(function.parameters[parameter]))
        share = Fraction(sum(p == parameter for p, _ in read), total)
        assert found.least <= share <= found.most
        if on_masks:
            assert found.is_exact


def test_dynamic_slice_is_exact() -> None:
    record = OpRecord(
        "stablehlo.dynamic_slice", (TensorType((4, 258)), SCALAR, SCALAR), (TensorType((4, 32)),)
    )
    first, *offsets = operand_utilization(record)
    assert (first.least, first.most) == (Fraction(32, 258), Fraction(32, 258))
    assert [u.least for u in offsets] == [1, 1]


def test_dynamic_update_slice_reads_the_whole_update() -> None:
    types = (TensorType((20, 30)), TensorType((5, 10)), SCALAR, SCALAR)
    found = operand_utilization(OpRecord("stablehlo.dynamic_update_slice", types, types[:1]))
    assert (found[1].least, found[1].most) == (1, 1)


def test_gather_is_bounded() -> None:
    numbers = {
        "offset_dims": (1,),
        "collapsed_slice_dims": (0,),
        "start_index_map": (0,),
        "index_vector_dim": 1,
    }
    record = OpRecord(
        "stablehlo.gather",
        (TensorType((100, 8)), TensorType((10, 1), "i32")),
        (TensorType((10, 8)),),
        {"dimension_numbers": numbers, "slice_sizes": (1, 8)},
    )
    found = operand_utilization(record)[0]
    assert found.least == Fraction(1, 100)
    assert found.most >= Fraction(10, 100)
    assert str(found).startswith("between 1/100 and ")
