"""Constant operands of commutative ops stand last."""

from __future__ import annotations

import pytest

from shardy_py.dialects import parse_module
from shardy_py.ir import find_ops
from shardy_py.passes.rewrites.commutation import COMMUTATIVE, put_constants_last


def test_which_ops_commute() -> None:
    assert {"chlo.mulhi", "chlo.broadcast_add", "chlo.broadcast_xor"} <= COMMUTATIVE
    assert COMMUTATIVE.isdisjoint({"chlo.broadcast_subtract", "stablehlo.add", "add", "chlo.zeta"})


@pytest.mark.parametrize(
    ("operands", "expected"),
    [("%c, %x", "%x, %c"), ("%x, %c", None), ("%c, %c", None), ("%x, %x", None), ("%s, %x", "%x, %s")],
)
def test_constants_last(operands: str, expected: str | None) -> None:
    module = parse_module(f"""
      func.func @main(%x: tensor<4xi32>) {{
        %c = stablehlo.constant dense<1> : tensor<4xi32>
        %s = sdy.constant dense<2> : tensor<4xi32>
        %0 = chlo.mulhi {operands} : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
        return
      }}""")
    (op,) = find_ops(module, "chlo.mulhi")
    before = tuple(op.operands)
    assert put_constants_last(op) is (expected is not None)
    assert tuple(op.operands) == (before if expected is None else before[::-1])
