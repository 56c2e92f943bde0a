"""The passes that insert data-flow edges for propagation, and remove them afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.calls import calls_in, is_defined_function
from shardy_py.mlir.data_flow import EDGE_NAME, argument_owners, edge_of_target, result_owners
from shardy_py.mlir.dialects.sdy import DataFlowEdgeOp, FuncDataFlowEdgeOp, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.traits import data_flow
from shardy_py.mlir.holders import SHARDING, Holder, Place, read, write_all
from shardy_py.mlir.movements import note_moved
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import has_static_shape, own_holder, rank_of, set_sharding, sharding_of
from shardy_py.passes.export.communication_ops import identity_op, location_of
from shardy_py.passes.options import SinkDataFlowEdgesOptions
from shardy_py.passes.propagate.debug_trail import EDGES, ORIGINS, sink_notes
from shardy_py.sharding import TensorSharding


def add_data_flow_edges(module: ModuleOp) -> None:
    """`sdy-add-data-flow-edges`: inserts an op for each data-flow edge.

    The edge gets the sharding and the uses of its owner.

    before  %0 = stablehlo.while(%i = %a) ...          return %0
    after   %0 = stablehlo.while(%i = %a) ...          %1 = sdy.data_flow_edge %0   return %1
    """
    for inner in ir.find_ops_where(module, data_flow):
        insert_edges(argument_owners(inner))
        insert_edges(result_owners(inner))


def insert_edges(owners: Sequence[SSAValue]) -> None:
    """Insert an edge after each owner of static shape that has none, with its sharding and uses."""
    for owner in reversed(owners):
        if has_static_shape(owner.type) and edge_of_target(owner) is None:
            edge = identity_op(DataFlowEdgeOp, owner, sharding_of(owner), location_of(owner))
            ir.place_after_value(edge, owner)
            ir.replace_uses(owner, edge.results[0], but_not_in=edge)


def sink_data_flow_edges(module: ModuleOp, options: SinkDataFlowEdgesOptions) -> None:
    """`sdy-sink-data-flow-edges`: removes the data-flow edges and moves their shardings to the owners.

    If one edge of an op has a sharding, owners whose edge has none get an open one. The options also move the
    debug attributes of the edges to the op.

    before  %0 = stablehlo.while ...   %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]>   return %1
    after   %0 = stablehlo.while ... attributes {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}   return %0
    """
    notes = (ORIGINS,) * options.sink_debug_sharding_origins
    notes += (EDGES,) * options.sink_debug_propagation_edge_sharding
    for inner in ir.find_ops_where(module, lambda op: op.name == EDGE_NAME or data_flow(op)):
        if inner.name == EDGE_NAME:
            remove_edge(inner)
        else:
            sink_edge_shardings(inner)
            if notes:
                sink_notes(inner, *notes)


def sink_edge_shardings(op: Operation) -> None:
    """Set the shardings of the owners of edges of `op`, if any edge has one; the edges stay."""
    for owners in (argument_owners(op), result_owners(op)):
        shardings = edge_shardings(owners)
        if shardings:
            places = ((own_holder(owner), s) for owner, s in zip(owners, shardings, strict=True))
            write_all((holder, sharding) for holder, sharding in places if holder is not None)


def edge_shardings(owners: Sequence[SSAValue]) -> list[TensorSharding]:
    """The sharding of the edge of each owner, open where there is none; [] if no edge has one."""
    edges = [edge_of_target(owner) for owner in owners]
    given = [read(Holder(Place.PROPERTY, edge)) if edge is not None else None for edge in edges]
    mesh = next((sharding.mesh for sharding in given if sharding is not None), None)
    if mesh is None:
        return []
    return [
        sharding or TensorSharding.fully_open(mesh, rank_of(owner.type))
        for sharding, owner in zip(given, owners, strict=True)
    ]


def remove_edges(owners: Iterable[SSAValue]) -> None:
    """Replace the edges of owners by the owners."""
    for owner in owners:
        use = owner.first_use
        if use is not None and use.operation.name == EDGE_NAME:
            remove_edge(use.operation)


def remove_edge(edge: Operation) -> None:
    """Replace an edge by its operand."""
    ir.replace_uses(edge.results[0], ir.operands_of(edge)[0])
    ir.erase(edge)


def add_func_data_flow_edges(module: ModuleOp) -> None:
    """`sdy-add-func-data-flow-edges`: inserts an op after arguments of functions and results of calls.

    Shardings propagate between calls and functions through them. The main function, which is never called,
    has none.

    before  %0 = call @f(%a)                                      return %0
    after   %0 = call @f(%a)   %1 = sdy.func_data_flow_edge %0    return %1
    """
    main = Symbols(module).main()
    for function in ir.find_ops(module, FuncOp.name):
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
    edge = ir.build_operation(FuncDataFlowEdgeOp, [value], [value.type], {}, attributes, op.location)
    ir.place_after_value(edge, value)
    ir.replace_uses(value, edge.results[0], but_not_in=edge)
    if sharding is not None:
        note_moved(edge.results, (value,), "sdy-add-func-data-flow-edges")


def sink_func_data_flow_edges(module: ModuleOp) -> None:
    """`sdy-sink-func-data-flow-edges`: erases edges between calls and functions.

    Their shardings move to their operands; an operand whose edge has no sharding becomes open if it had one.

    before  func.func private @f(%a) { %0 = sdy.func_data_flow_edge %a {sdy.sharding = ...}  return %0 }
    after   func.func private @f(%a {sdy.sharding = ...}) { return %a }
    """
    for edge in ir.find_ops(module, FuncDataFlowEdgeOp.name):
        operand, result = edge.operands[0], edge.results[0]
        old, new = sharding_of(operand), sharding_of(result)
        if new is None and old is not None:
            new = TensorSharding.fully_open(old.mesh, old.rank)
        if new is not None:
            set_sharding(operand, new)
            note_moved((operand,), (result,), "sdy-sink-func-data-flow-edges")
        remove_edge(edge)
