"""Kinds of types by what they accept."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.chlo import OPS as CHLO
from shardy_py.mlir.dialects.stablehlo import OPS as STABLEHLO
from shardy_py.mlir.dialects.stablehlo.type_kinds import TYPE_KINDS


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        ("tensor", "tensor<?xbf16>", "tensor<*xf32>"),
        ("tensor", "tensor<2xf8E4M3FN>", "tensor<2xindex>"),
        ("int", "tensor<2xui4>", "tensor<2xi1>"),
        ("signed", "tensor<2xi8>", "tensor<2xui8>"),
        ("complex", "tensor<2xcomplex<f64>>", "tensor<2xf64>"),
        ("vector", "tensor<2xf32>", "tensor<f32>"),
        ("scalar_int", "tensor<i32>", "tensor<1xi32>"),
        ("shape", "tensor<2xindex>", "tensor<?xindex>"),
        ("static_or_bounded", "tensor<?x2xf32, #stablehlo.bounds<3, ?>>", "tensor<?x2xf32>"),
        ("tuple", "tuple<tensor<f32>, tuple<!stablehlo.token>>", "tuple<i32>"),
        ("value_or_buffer", "memref<2xf32>", "tuple<>"),
        ("custom", "tensor<*xf32>", "i32"),
        ("token", "!stablehlo.token", "tensor<f32>"),
    ],
)
def test_kinds(kind: str, accepted: str, refused: str) -> None:
    module = parse_module(f"func.func private @f({accepted}, {refused})")
    types = module.body.block.first_op.function_type.inputs.data  # pyright: ignore
    assert [TYPE_KINDS[kind].accepts(type_) for type_ in types] == [True, False]


def test_rows_use_every_kind() -> None:
    rows = (*STABLEHLO.rows.values(), *CHLO.rows.values())
    used = {slot.kind for row in rows for slot in (*row.operand_slots, *row.result_slots)}
    assert used == {"", *TYPE_KINDS}
