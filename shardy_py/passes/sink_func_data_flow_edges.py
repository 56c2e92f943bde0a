"""`sdy-sink-func-data-flow-edges`: removes the edges of functions and calls, and sinks their shardings.

A value whose edge has no sharding becomes open if it had one.

    before  func.func private @f(%a) { %0 = sdy.func_data_flow_edge %a {sdy.sharding = ...}  return %0 }
    after   func.func private @f(%a {sdy.sharding = ...}) { return %a }
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from shardy_py.graph.movements import note_moved
from shardy_py.graph.value_shardings import set_sharding, sharding_of
from shardy_py.ir import erase, find_ops, replace_uses
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True)
class SinkFuncDataFlowEdgesPass(ModulePass):
    """Moves the sharding of each edge of a function or call to its operand."""

    name = "sdy-sink-func-data-flow-edges"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for edge in find_ops(op, "sdy.func_data_flow_edge"):
            sink(edge)


def sink(edge: Operation) -> None:
    """Give the operand of `edge` its sharding, and the users of `edge` the operand; erase `edge`."""
    operand, result = edge.operands[0], edge.results[0]
    old, new = sharding_of(operand), sharding_of(result)
    if new is None and old is not None:
        new = TensorSharding.fully_open(old.mesh, old.rank)
    if new is not None:
        set_sharding(operand, new)
        note_moved((operand,), (result,), SinkFuncDataFlowEdgesPass.name)
    replace_uses(result, operand)
    erase(edge)
