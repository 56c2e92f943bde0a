"""Shardings in patterns of xDSL's users: `match`, parameters, constraints of definitions, PDL."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, func, pdl, test
from xdsl.dialects.builtin import ArrayAttr, StringAttr, TensorType, f32
from xdsl.irdl import (
    AnyAttr,
    EqAttrConstraint,
    IRDLOperation,
    ParamAttrConstraint,
    VerificationContext,
    irdl_op_definition,
    operand_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.transforms.apply_pdl import ApplyPDLPass
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.sdy import Sdy, TensorShardingAttr
from shardy_py.mlir.dialects.sdy.patterns import ShardingConstraint
from shardy_py.mlir.dialects.stablehlo import xdsl_dialect
from shardy_py.mlir.ir import find_ops
from shardy_py.sharding import AxisRef, DimensionSharding, TensorSharding


def sharding(text: str) -> TensorShardingAttr:
    module = parse_module(f"func.func private @f(tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<{text}>}})")
    (function,) = find_ops(module, "func.func")
    attributes: Any = function.properties["arg_attrs"]
    return attributes.data[0].data["sdy.sharding"]


SHARDED = sharding('@mesh, [{"x"}, {"y":(1)2, ?}]')


def test_match_statements() -> None:
    match SHARDED:
        case TensorShardingAttr(TensorSharding("mesh", (DimensionSharding((AxisRef(name),)), *others))):
            assert (name, len(others)) == ("x", 1)
        case _:
            pytest.fail("no match")


def test_parameters() -> None:
    mesh, dimensions, replicated, unreduced, reduction = SHARDED.parameters
    assert (mesh, reduction) == (StringAttr("mesh"), StringAttr("sum"))
    assert str(dimensions) == '[#sdy<dimension_sharding{"x"}>, #sdy<dimension_sharding{"y":(1)2, ?}>]'
    assert replicated == unreduced == ArrayAttr(())
    any_: Any = AnyAttr()
    base: Any = TensorShardingAttr
    on_mesh = ParamAttrConstraint(base, (EqAttrConstraint(StringAttr("mesh")), any_, any_, any_, any_))
    on_mesh.verify(SHARDED, VerificationContext())
    with pytest.raises(VerifyException):
        on_mesh.verify(sharding("@other, [{}, {}]"), VerificationContext())


@pytest.mark.parametrize(
    ("constraint", "fault"),
    [
        (ShardingConstraint(), ""),
        (ShardingConstraint("mesh", 2, (("x",), ("y:(1)2",)), is_replicated=False), ""),
        (ShardingConstraint(axes=(None, ("y:(1)2",))), ""),
        (ShardingConstraint("other"), "expected mesh other, got mesh"),
        (ShardingConstraint(rank=1), "expected rank 1, got 2"),
        (ShardingConstraint(axes=(("y",), None)), "expected axes "),
        (ShardingConstraint(axes=(("x",),)), "expected axes "),
        (ShardingConstraint(is_replicated=True), "expected replicated True, got False"),
        (ShardingConstraint(is_closed=True), "expected closed dimensions"),
        (ShardingConstraint(is_closed=False), "expected open dimensions"),
    ],
)
def test_constraints(constraint: ShardingConstraint, fault: str) -> None:
    assert constraint.matches(SHARDED) == (not fault)
    assert not constraint.matches(StringAttr("x"))
    if fault:
        with pytest.raises(VerifyException, match=fault):
            constraint.verify(SHARDED, VerificationContext())


def test_a_constraint_in_a_definition() -> None:
    @irdl_op_definition
    class PlaceOp(IRDLOperation):
        name = "mine.place"
        value = operand_def(TensorType)
        sharding = prop_def(ShardingConstraint(rank=2))

    (value,) = test.TestOp(result_types=[TensorType(f32, [8, 8])]).results
    PlaceOp.create(operands=[value], properties={"sharding": SHARDED}).verify()
    other = TensorShardingAttr(TensorSharding.fully_open("mesh", 1))
    with pytest.raises(VerifyException, match="expected rank 2, got 1"):
        PlaceOp.create(operands=[value], properties={"sharding": other}).verify()


PROGRAM = """
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.reshard %a <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}
pdl.pattern : benefit(1) {
  %sharding = pdl.attribute = #sdy.sharding<@mesh, [{}, {}]>
  %type = pdl.type
  %operand = pdl.operand
  %op = pdl.operation "sdy.reshard" (%operand : !pdl.value) {"sharding" = %sharding} -> (%type : !pdl.type)
  pdl.rewrite %op {
    pdl.replace %op with (%operand : !pdl.value)
  }
}
"""


def test_pdl_matches_shardings() -> None:
    context = Context()
    for dialect in (builtin.Builtin, func.Func, pdl.PDL, Sdy, xdsl_dialect()):
        context.load_dialect(dialect)
    module = Parser(context, PROGRAM).parse_module()
    ApplyPDLPass().apply(context, module)
    text = StringIO()
    Printer(text).print_op(module)
    assert text.getvalue().count("sdy.reshard %") == 1
    assert 'sdy.reshard %a <@mesh, [{"x"}, {}]>' in text.getvalue()
