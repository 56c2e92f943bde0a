"""Which tensor types are compatible, and which follow from several."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ComplexType, f16, f32, i1, i32, i64

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    bit_width,
    least_specific,
    merged,
    most_specific,
    read_tensor,
)


def _argument(type_: str) -> RankedTensor | None:
    module = parse_module(f"func.func private @f({type_})")
    return read_tensor(module.body.block.first_op.function_type.inputs.data[0])  # pyright: ignore


def test_types_are_read_and_written() -> None:
    for text in ("tensor<2x?xf32, #stablehlo.bounds<?, 8>>", "tensor<i1>", "tensor<0x3xcomplex<f32>>"):
        assert str(_argument(text)) == f"'{text}'"
    assert _argument("tensor<*xf32>") is None
    assert _argument("!stablehlo.token") is None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (RankedTensor((2, None), f32), RankedTensor((None, 3), f32), True),
        (RankedTensor((2,), f32), RankedTensor((3,), f32), False),
        (RankedTensor((2,), f32), RankedTensor((2, 1), f32), False),
        (RankedTensor((2,), f32), RankedTensor((2,), i32), False),
        (RankedTensor((None,), f32, (4,)), RankedTensor((4,), f32), True),
        (RankedTensor((None,), f32, (4,)), RankedTensor((5,), f32), False),
    ],
)
def test_compatible(first: RankedTensor, second: RankedTensor, expected: bool) -> None:
    assert first.is_compatible(second) is expected
    assert second.is_compatible(first) is expected


def test_equal_values_are_what_either_side_knows() -> None:
    bounded, known = RankedTensor((None, None), f32, (4, 9)), RankedTensor((3, None), f32, (None, 7))
    assert merged((bounded, known), most_specific) == RankedTensor((3, None), f32, (None, 7))


def test_one_value_or_the_other_is_what_holds_for_both() -> None:
    found = merged((RankedTensor((3, 2), f32), RankedTensor((None, 2), f32, (5, None))), least_specific)
    assert found == RankedTensor((None, 2), f32, (5, None))


def test_sizes_that_cannot_be_equal() -> None:
    with pytest.raises(Fault, match="Mismatched dimension sizes 2 and 3 in dimension 0"):
        merged((RankedTensor((2,)), RankedTensor((3,))), most_specific)
    with pytest.raises(Fault, match="Mismatched dimension size 5 and bound 4 in dimension 0"):
        merged((RankedTensor((5,)), RankedTensor((None,), None, (4,))), most_specific)


def test_promotion_stays_within_a_kind_and_widens() -> None:
    assert RankedTensor((), i32).is_promotable(RankedTensor((), i64))
    assert not RankedTensor((), i64).is_promotable(RankedTensor((), i32))
    assert RankedTensor((), f32).is_promotable(RankedTensor((), f16))
    assert not RankedTensor((), i32).is_promotable(RankedTensor((), f32))


def test_bit_widths() -> None:
    assert [bit_width(t) for t in (i1, f16, ComplexType(f32))] == [1, 16, 64]
