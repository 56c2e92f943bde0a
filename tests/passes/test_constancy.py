"""Which ops keep constants constant, with which types."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.passes.import_.constants import Kind, is_preserving, kind_of


@pytest.mark.parametrize(
    ("kind", "op"),
    [
        (Kind.SOURCE, "%x = sdy.constant dense<1.0> : tensor<8xf32>"),
        (Kind.PRESERVING, "%x = stablehlo.iota dim = 0 : tensor<8xf32>"),
        (Kind.OTHER, "%x = chlo.constant dense<1.0> : tensor<8xf32>"),
        (Kind.PRESERVING, "%x = stablehlo.tanh %a : tensor<8xf32>"),
        (Kind.PRESERVING, "%x = stablehlo.slice %a [0:4] : (tensor<8xf32>) -> tensor<4xf32>"),
        (Kind.BITCAST, "%x = stablehlo.bitcast_convert %a : (tensor<8xf32>) -> tensor<8xi32>"),
        (Kind.OTHER, "%x = stablehlo.reverse %a, dims = [0] : tensor<8xf32>"),
        (Kind.OTHER, "%x = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<8xf32>"),
        (Kind.PRESERVING, "%x = sdy.propagation_barrier %a allowed_direction=NONE : tensor<8xf32>"),
        (Kind.CALL, "%x = func.call @main(%a, %d) : (tensor<8xf32>, tensor<?xf32>) -> tensor<8xf32>"),
        (Kind.IGNORED, "sdy.sharding_group %a group_id=0 : tensor<8xf32>"),
    ],
)
def test_kind(kind: Kind, op: str) -> None:
    assert kind_of(type(_first_op(op))) is kind


def test_terminators_are_a_kind() -> None:
    assert kind_of(type(_first_op(""))) is Kind.TERMINATOR


@pytest.mark.parametrize(
    ("preserves", "op"),
    [
        (True, "%x = stablehlo.add %a, %a : tensor<8xf32>"),
        (False, "%x = stablehlo.add %d, %d : tensor<?xf32>"),
        (True, "%x = stablehlo.negate %d : tensor<?xf32>"),
        (True, "%x = stablehlo.convert %a : (tensor<8xf32>) -> tensor<?xf32>"),
        (False, "%x = stablehlo.convert %d : (tensor<?xf32>) -> tensor<8xf32>"),
        (True, "%x = stablehlo.slice %d [0:4] : (tensor<?xf32>) -> tensor<?xf32>"),
        (False, "%x = stablehlo.reshape %d : (tensor<?xf32>) -> tensor<8xf32>"),
        (False, "%x = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<?xf32>) -> tensor<?xf32>"),
        (True, "%x = chlo.erf %d : tensor<?xf32> -> tensor<?xf32>"),
        (True, "%x = stablehlo.bitcast_convert %a : (tensor<8xf32>) -> tensor<8xi32>"),
        (False, "%x = stablehlo.bitcast_convert %a : (tensor<8xf32>) -> tensor<8x2xi16>"),
    ],
)
def test_is_preserving(preserves: bool, op: str) -> None:
    assert is_preserving(_first_op(op)) is preserves


def _first_op(text: str):
    module = parse_module(f"""
      func.func @main(%a: tensor<8xf32>, %d: tensor<?xf32>) -> tensor<8xf32> {{
        {text}
        return %a : tensor<8xf32>
      }}""")
    return list(walk_pre_order(module))[2]
