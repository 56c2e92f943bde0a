"""Walks that go on with what the one before found."""

from __future__ import annotations

from dataclasses import fields, replace

from shardy_py.api.sharding import parse_sharding
from shardy_py.ops import OpRecord, TensorType
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.by_axes import ByAxes
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Block, PlannedOp, TiledValue
from shardy_py.xla.spmd.step_plans import StepPlans
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import plan_program

TYPE = TensorType((8, 8), "f32")
NUMBERS = {
    "lhs_batching_dimensions": (),
    "rhs_batching_dimensions": (),
    "lhs_contracting_dimensions": (1,),
    "rhs_contracting_dimensions": (0,),
}
PRODUCT = OpRecord("stablehlo.dot_general", (TYPE, TYPE), (TYPE,), {"dot_dimension_numbers": NUMBERS})
TANH = OpRecord("stablehlo.tanh", (TYPE,), (TYPE,))


def test_operands_of_products_that_come_and_go_are_looked_at_again() -> None:
    mesh = Mesh.of(x=4, y=2)
    sharding = parse_sharding('<@mesh, [{"x"}, {}]>')
    rows = Tiling.of_sharding(sharding, mesh).by(ByAxes.of(sharding, mesh))
    arguments = tuple(TiledValue(name, TYPE, rows) for name in "ab")
    later = PlannedOp(TANH, ("a",), ("t",), (rows,))
    of_a, of_b = (PlannedOp(PRODUCT, (name, "b"), (f"p{name}",), (rows,)) for name in "ab")
    plans = StepPlans()
    for product, knows_axes in ((of_a, False), (of_b, True), (of_b, True), (of_a, False)):
        plan_program(Block(arguments, (product, later), (*product.results, "t"), (rows, rows)), plans)
        (operand,) = plans.known[id(later)].facts.operands
        assert (operand.tiling.axes is not None) == knows_axes


def test_a_collective_is_sent_with_all_that_it_was() -> None:
    loop = PlannedCollective("all_gather", 4, "f32", (2, 8), "a", 2, "k", (0, 1, 2, 3), (8, 8))
    permute = replace(loop, kind="collective_permute", pairs=((0, 1),), instead=loop)
    sent, expected = permute.sent(6, "b", "l"), replace(permute, reason="b", times=6, key="l")
    assert [getattr(sent, each.name) for each in fields(sent)] == [
        getattr(expected, each.name) for each in fields(expected)
    ]
