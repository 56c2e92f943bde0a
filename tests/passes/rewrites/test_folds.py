"""Constant operands of commutative ops stand last."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.registry import xdsl_context
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import find_ops
from shardy_py.passes.rewrites import FOLDS, put_constants_last


@pytest.mark.parametrize("name", ["chlo.mulhi", "chlo.broadcast_add", "arith.addi"])
def test_commutative_ops(name: str) -> None:
    (commute,) = [fold for fold in FOLDS if fold.apply is put_constants_last]
    assert commute.applies_to(class_of(name))


@pytest.mark.parametrize("name", ["chlo.broadcast_subtract", "stablehlo.add", "chlo.zeta", "arith.subi"])
def test_other_ops(name: str) -> None:
    (commute,) = [fold for fold in FOLDS if fold.apply is put_constants_last]
    assert not commute.applies_to(class_of(name))


def class_of(name: str) -> type[Operation]:
    found = xdsl_context().get_optional_op(name)
    assert found is not None
    return found


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


def test_the_rule_of_swapped_operands() -> None:
    """Shardy refuses the op that it makes: the ranks of the rule are those before the swap."""
    module = parse_module("""
      func.func @main(%x: tensor<8x4xi32>) {
        %c = stablehlo.constant dense<1> : tensor<2x8x4xi32>
        %0 = chlo.broadcast_or %c, %x {broadcast_dimensions = array<i64: 1, 2>,
            sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [j, k])->([i, j, k]) {i=2, j=8, k=4}>}
            : (tensor<2x8x4xi32>, tensor<8x4xi32>) -> tensor<2x8x4xi32>
        return
      }""")
    (op,) = find_ops(module, "chlo.broadcast_or")
    assert put_constants_last(op)
    verify_module(module)
    assert str(op.attributes["sdy.sharding_rule"]).endswith(
        "<([j, k], [i, j, k])->([i, j, k]) {i=2, j=8, k=4}>"
    )
