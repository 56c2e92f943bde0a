"""`sdy-sink-func-data-flow-edges`: erases edges between calls and functions.

Their shardings move to their operands; an operand whose edge has no sharding becomes open if it had one.

    before  func.func private @f(%a) { %0 = sdy.func_data_flow_edge %a {sdy.sharding = ...}  return %0 }
    after   func.func private @f(%a {sdy.sharding = ...}) { return %a }
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy import FuncDataFlowEdgeOp
from shardy_py.graph.movements import note_moved
from shardy_py.graph.value_shardings import set_sharding, sharding_of
from shardy_py.ir import erase, find_ops, replace_uses
from shardy_py.sharding import TensorSharding


def sink_func_data_flow_edges(module: ModuleOp) -> None:
    """Moves the sharding of each edge of a function or call to its operand."""
    for edge in find_ops(module, FuncDataFlowEdgeOp.name):
        sink(edge)


def sink(edge: Operation) -> None:
    """Erases `edge`: its operand gets its sharding and its uses."""
    operand, result = edge.operands[0], edge.results[0]
    old, new = sharding_of(operand), sharding_of(result)
    if new is None and old is not None:
        new = TensorSharding.fully_open(old.mesh, old.rank)
    if new is not None:
        set_sharding(operand, new)
        note_moved((operand,), (result,), "sdy-sink-func-data-flow-edges")
    replace_uses(result, operand)
    erase(edge)
