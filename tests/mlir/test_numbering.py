"""Numbers that equal attributes share."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, NoneAttr, TensorType, UnitAttr, f32, i64

from shardy_py.mlir.numbering import number_of


def test_equal_attributes_share_a_number() -> None:
    first, second = TensorType(f32, [8, 3]), TensorType(f32, [8, 3])
    assert first is not second
    assert number_of(first) == number_of(second)
    assert number_of(first) != number_of(TensorType(f32, [8, 4]))


def test_types_of_values_count() -> None:
    assert number_of(IntegerAttr(1, i64)) != number_of(IntegerAttr(1, 32))


def test_absence_has_a_number_of_its_own() -> None:
    numbers = {number_of(attribute) for attribute in (None, NoneAttr(), UnitAttr(), IntegerAttr(-1, i64))}
    assert len(numbers) == 4
