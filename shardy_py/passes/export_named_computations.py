"""`sdy-export-named-computations`: converts named computations back to private functions and calls.

Functions and calls get the shardings that propagation left on the data-flow edges of the named computation;
names already in use get a number.

    before  %0 = sdy.named_computation<"f">(%a) in_shardings=[...] out_shardings=[...] (%b) { sdy.return %c }
    after   %0 = call @f(%a) {sdy.sharding = ...}
            func.func private @f(%b {sdy.sharding = ...}) { return %c }

The name before numbering is kept in `sdy.original_func_name`.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation, Region

from shardy_py.dialects.sdy import NamedComputationOp, TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.graph.calls import ORIGINAL_NAME
from shardy_py.graph.data_flow import argument_owners
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.movements import note_moved, replace_op
from shardy_py.graph.nesting import innermost_first
from shardy_py.graph.symbols import Symbols
from shardy_py.ir import build_operation, find_ops, operands_of
from shardy_py.passes.import_func_calls import THREAD, replace_terminators
from shardy_py.passes.sink_data_flow_edges import edge_shardings, remove_edges


def export_named_computations(module: ModuleOp) -> None:
    """Replace each named computation by a call of a new private function with its body.

    Its data-flow edges are erased; their shardings become those of the arguments and results.
    """
    symbols = Symbols(module)
    calls = [_export(op, symbols) for op in innermost_first(find_ops(module, NamedComputationOp.name))]
    for call in calls:
        remove_edges(call.results)


def _export(computation: Operation, symbols: Symbols) -> Operation:
    properties = computation.properties
    for owners, name in (
        (argument_owners(computation), "in_shardings"),
        (computation.results, "out_shardings"),
    ):
        shardings = edge_shardings(owners)
        if shardings:
            properties[name] = TensorShardingPerValueAttr(tuple(shardings))
    result_types = [result.type for result in computation.results]
    attributes = dict(computation.attributes)
    thread = attributes.pop(THREAD, None)
    function = _outline(computation, result_types, thread)
    name = symbols.insert(function)
    if (shardings := properties.get("out_shardings")) is not None:
        attributes[SHARDING] = shardings
    call = build_operation(
        CallOp,
        operands_of(computation),
        result_types,
        {"callee": SymbolRefAttr(name)},
        attributes,
        computation.location,
    )
    replace_op(computation, call)
    note_moved(call.results, computation.results, "sdy-export-named-computations")
    return call


def _outline(computation: Operation, result_types: list[Attribute], thread: Attribute | None) -> Operation:
    """Returns a function with the body of a named computation, which is left without."""
    name = cast(StringAttr, computation.properties["name"])
    in_shardings = computation.properties.get("in_shardings")
    region = computation.detach_region(0)
    computation.add_region(Region())
    replace_terminators(region, FuncReturnOp)
    arguments = region.blocks[0].args
    remove_edges(arguments)
    properties: dict[str, Attribute] = {
        "sym_name": name,
        "function_type": FunctionType.from_lists([argument.type for argument in arguments], result_types),
        "sym_visibility": StringAttr("private"),
    }
    if isinstance(in_shardings, TensorShardingPerValueAttr) and in_shardings.data:
        properties["arg_attrs"] = ArrayAttr(
            [DictionaryAttr({SHARDING: TensorShardingAttr(sharding)}) for sharding in in_shardings.data]
        )
    attributes: dict[str, Attribute] = {ORIGINAL_NAME: name}
    if thread is not None:
        attributes[THREAD] = thread
    return build_operation(FuncOp, (), (), properties, attributes, computation.location, regions=[region])
