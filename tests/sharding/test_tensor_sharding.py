from __future__ import annotations

from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding
from shardy_py.sharding.tensor_sharding import with_free_axes, without_free_axes, without_manual_axes

A, B, C, D = map(AxisRef, "abcd")
OUTER = TensorSharding("mesh", (DimensionSharding((A, B), True), DimensionSharding((C,))), (D,), ())


def test_the_body_sees_the_free_axes() -> None:
    assert str(without_manual_axes(OUTER, ("a", "d"))) == '<@mesh, [{"b"}, {"c", ?}]>'
    assert without_manual_axes(OUTER, ()) is OUTER


def test_outer_shardings() -> None:
    assert str(without_free_axes(OUTER, ("a",))) == '<@mesh, [{"a"}, {?}], replicated={"d"}>'


def test_free_axes_go_behind_the_manual_ones() -> None:
    inner = TensorSharding("mesh", (DimensionSharding((C,)), DimensionSharding((B,), True)))
    assert str(with_free_axes(OUTER, inner, ("a",))) == '<@mesh, [{"a", "c", ?}, {"b"}], replicated={"d"}>'


def test_there_and_back() -> None:
    inner = without_manual_axes(OUTER, ("a",))
    assert with_free_axes(OUTER, inner, ("a",)) == OUTER
