"""`sdy-add-func-data-flow-edges`: inserts an op after each argument of a function and each result of a call.

Shardings propagate between calls and functions through them. The main function, which is never called, has
none.

    before  %0 = call @f(%a)                                      return %0
    after   %0 = call @f(%a)   %1 = sdy.func_data_flow_edge %0    return %1
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import FuncDataFlowEdgeOp, TensorShardingPerValueAttr
from shardy_py.graph.calls import calls_in, is_defined_function
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import has_static_shape, sharding_of
from shardy_py.ir import build_operation, find_ops, place_after, place_at_start, replace_uses


def add_func_data_flow_edges(module: ModuleOp) -> None:
    """Inserts an edge for every argument of a function but main, and every result of a call."""
    main = Symbols(module).main()
    for function in find_ops(module, FuncOp.name):
        if function is not main and is_defined_function(function):
            for argument in reversed(function.regions[0].blocks[0].args):
                add_edge(argument, function)
    for call in calls_in(module):
        for result in reversed(call.results):
            add_edge(result, call)


def add_edge(value: SSAValue, op: Operation) -> None:
    """Inserts an edge after `value`, which `op` defines, if its shape is static; its users use the edge."""
    if not has_static_shape(value.type):
        return
    sharding = sharding_of(value)
    attributes: dict[str, Attribute] = {SHARDING: TensorShardingPerValueAttr((sharding,))} if sharding else {}
    edge = build_operation(FuncDataFlowEdgeOp, [value], [value.type], {}, attributes, op.location)
    if isinstance(value, OpResult):
        place_after(edge, op)
    else:
        place_at_start(edge, op.regions[0].blocks[0])
    replace_uses(value, edge.results[0], but_not_in=edge)
