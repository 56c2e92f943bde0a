"""Kinds of types by what they accept."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.chlo import OPS as CHLO
from shardy_py.mlir.dialects.kinds import TypeKind
from shardy_py.mlir.dialects.stablehlo import OPS as STABLEHLO
from shardy_py.mlir.dialects.stablehlo import type_kinds as t


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (t.TENSOR, "tensor<?xbf16>", "tensor<*xf32>"),
        (t.TENSOR, "tensor<2xf8E4M3FN>", "tensor<2xindex>"),
        (t.INT, "tensor<2xui4>", "tensor<2xi1>"),
        (t.SIGNED, "tensor<2xi8>", "tensor<2xui8>"),
        (t.COMPLEX, "tensor<2xcomplex<f64>>", "tensor<2xf64>"),
        (t.VECTOR, "tensor<2xf32>", "tensor<f32>"),
        (t.SCALAR_INT, "tensor<i32>", "tensor<1xi32>"),
        (t.SHAPE, "tensor<2xindex>", "tensor<?xindex>"),
        (t.STATIC_OR_BOUNDED, "tensor<?x2xf32, #stablehlo.bounds<3, ?>>", "tensor<?x2xf32>"),
        (t.TUPLE, "tuple<tensor<f32>, tuple<!stablehlo.token>>", "tuple<i32>"),
        (t.VALUE_OR_BUFFER, "memref<2xf32>", "tuple<>"),
        (t.CUSTOM, "tensor<*xf32>", "i32"),
        (t.TOKEN, "!stablehlo.token", "tensor<f32>"),
    ],
)
def test_kinds(kind: TypeKind, accepted: str, refused: str) -> None:
    module = parse_module(f"func.func private @f({accepted}, {refused})")
    types = module.body.block.first_op.function_type.inputs.data  # pyright: ignore
    assert [kind.accepts(type_) for type_ in types] == [True, False]


def test_rows_use_every_kind() -> None:
    rows = (*STABLEHLO.rows.values(), *CHLO.rows.values())
    used = {id(slot.kind) for row in rows for slot in (*row.operands, *row.results)}
    kinds = {name: kind for name, kind in vars(t).items() if isinstance(kind, TypeKind) and name[0] != "_"}
    assert not [name for name, kind in kinds.items() if id(kind) not in used]
