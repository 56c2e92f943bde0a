from __future__ import annotations

import pytest
from xdsl.ir import Operation

from shardy_py.mlir.data_flow import (
    edge_of_owner,
    edge_of_source,
    edge_of_target,
    edge_owners,
    edge_sources,
    edge_targets,
    source_values,
)
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.ir import walk_pre_order
from tests.mlir.programs import MANUAL, WHILE

CASE = """
func.func @main(%i: tensor<i32>, %a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<8xf32>
  }, {
    %4 = stablehlo.negate %a : tensor<8xf32>
    stablehlo.return %4 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  %1 = sdy.data_flow_edge %0 : tensor<8xf32>
  %2:2 = stablehlo.optimization_barrier %1, %a : tensor<8xf32>, tensor<8xf32>
  %3 = sdy.data_flow_edge %2#1 : tensor<8xf32>
  return %2#0, %3 : tensor<8xf32>, tensor<8xf32>
}
"""


def find(text: str, name: str, index: int = 0) -> Operation:
    """The op of that name; the module stays alive through its parents."""
    return [op for op in walk_pre_order(parse_module(text)) if op.name == name][index]


def test_a_loop_has_an_edge_a_value_it_carries() -> None:
    loop = find(WHILE, "stablehlo.while")
    condition, body = (region.blocks[0] for region in loop.regions)
    assert edge_owners(loop) == tuple(loop.results)
    owner = loop.results[0]
    assert source_values(owner) == (loop.operands[0], body.last_op.operands[0])  # type: ignore[union-attr]
    assert edge_targets(owner) == (owner, condition.args[0], body.args[0])
    edge = edge_of_owner(owner)
    assert edge is not None
    assert edge.name == "sdy.data_flow_edge"
    assert edge_of_owner(loop.results[1]) is None
    for target in edge_targets(owner):
        assert edge_of_target(target) is edge
    for user, index in edge_sources(owner):
        assert edge_of_source(user, index) is edge
    assert edge_of_source(loop, 1) is None


def test_branches_and_barriers() -> None:
    case = find(CASE, "stablehlo.case")
    assert [user.name for user, _ in edge_sources(case.results[0])] == ["stablehlo.return"] * 2
    assert edge_of_source(edge_sources(case.results[0])[1][0], 0) is edge_of_owner(case.results[0])
    barrier = find(CASE, "stablehlo.optimization_barrier")
    assert source_values(barrier.results[1]) == (barrier.operands[1],)
    assert edge_of_owner(barrier.results[0]) is None
    assert edge_of_source(barrier, 1) is edge_of_owner(barrier.results[1])


def test_manual_computations_have_edges_on_both_sides() -> None:
    manual = find(MANUAL, "sdy.manual_computation")
    argument, result = manual.regions[0].blocks[0].args[0], manual.results[0]
    assert edge_owners(manual) == (argument, result)
    assert edge_sources(argument) == ((manual, 0),)
    ((terminator, index),) = edge_sources(result)
    assert (terminator.name, index) == ("sdy.return", 0)
    assert edge_of_source(terminator, 0) is edge_of_owner(result)
    # As in C++: from outside, the edge of the argument is not found.
    assert edge_of_source(manual, 0) is None
    assert edge_of_target(argument) is edge_of_owner(argument)


@pytest.mark.parametrize("name", ["stablehlo.tanh", "func.func", "stablehlo.negate"])
def test_other_ops_have_none(name: str) -> None:
    assert edge_owners(find(WHILE, name)) == ()
