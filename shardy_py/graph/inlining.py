"""Calls to named computations and back: moving the bodies of functions into their callers and out again.

Not here: copying functions so that each has one call (`call_graph.py`).
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Operation, Region

from shardy_py.dialects.sdy import (
    NamedComputationOp,
    ReturnOp,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.errors import warn_once
from shardy_py.graph.call_graph import ORIGINAL_NAME, calls_in, functions_bottom_up, original_name
from shardy_py.graph.calls import function_name
from shardy_py.graph.cloning import clone_region_into
from shardy_py.graph.computation_names import NAMED, separate_names
from shardy_py.graph.data_flow import argument_owners
from shardy_py.graph.edge_ops import edge_shardings, remove_edges
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.movements import note_moved
from shardy_py.graph.rewiring import replace_op
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.value_shardings import argument_shardings
from shardy_py.ir import build_operation, erase, find_ops, innermost_first, operands_of
from shardy_py.text.source import position_of

_SEVERAL_CALLS = "function @{} has multiple call ops, we need to clone the function body for each call"
THREAD = "execution_thread"
"""The attribute that says on which thread a function runs; it moves along with the body."""


def import_calls(module: ModuleOp) -> None:
    """Replace every call by a named computation, and erase the functions that were called."""
    symbols = Symbols(module)
    separate_names(module, symbols)
    bodies = _Bodies()
    for function in functions_bottom_up(module):
        for call in calls_in(function):
            _import_call(call, bodies, symbols)
    for name in bodies.used:
        symbols.erase(symbols.function(name))


class _Bodies:
    """The bodies of functions: the first one to ask for a body gets it, all others get copies.

    used: by the name of the function, where its body has gone.
    """

    def __init__(self) -> None:
        self.used: dict[str, Region] = {}

    def take(self, function: Operation, call: Operation) -> Region:
        """A body of `function` for `call`; the first copy of all is worth a warning."""
        name = function_name(function)
        if name not in self.used:
            region = self.used[name] = function.detach_region(0)
            function.add_region(Region())
            _replace_terminators(region, ReturnOp)
            return region
        warn_once("several calls", _SEVERAL_CALLS.format(name), position_of(call.location))
        copy = Region()
        clone_region_into(self.used[name], copy, {})
        return copy


def _import_call(call: Operation, bodies: _Bodies, symbols: Symbols) -> None:
    function = symbols.callee(call)
    if not function.regions[0].blocks and function_name(function) not in bodies.used:
        return  # only declared: nothing is known of what it does
    properties: dict[str, Attribute] = {"name": original_name(function)}
    shardings = argument_shardings(function, symbols)
    if shardings is not None:
        properties["in_shardings"] = TensorShardingPerValueAttr(shardings)
    attributes = dict(call.attributes)
    given = attributes.pop(SHARDING, None)
    if given is not None:
        properties["out_shardings"] = given
    if THREAD in function.attributes:
        attributes[THREAD] = function.attributes[THREAD]
    computation = build_operation(
        NamedComputationOp,
        operands_of(call),
        [result.type for result in call.results],
        properties,
        attributes,
        call.location,
        regions=[bodies.take(function, call)],
    )
    replace_op(call, computation)
    note_moved(computation.results, call.results, "sdy-import-func-calls", call)


def export_named_computations(module: ModuleOp) -> None:
    """Replace every named computation by a call of a new private function that holds its body.

    Data-flow edges at the border go; their shardings become those of the arguments and results.
    """
    symbols = Symbols(module)
    calls = [_export(op, symbols) for op in innermost_first(find_ops(module, NAMED))]
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
    """A function with the body of a named computation, which loses it."""
    name = cast(StringAttr, computation.properties["name"])
    in_shardings = computation.properties.get("in_shardings")
    region = computation.detach_region(0)
    computation.add_region(Region())
    _replace_terminators(region, FuncReturnOp)
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


def _replace_terminators(region: Region, terminator: type[Operation]) -> None:
    """End each block with an op of class `terminator` instead of what ends it now."""
    for block in region.blocks:
        old = block.last_op
        assert old is not None
        build_operation(terminator, operands_of(old), (), {}, {}, old.location, block)
        erase(old)
