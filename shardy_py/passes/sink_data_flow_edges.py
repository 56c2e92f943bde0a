"""`sdy-sink-data-flow-edges`: removes the data-flow edges and moves their shardings to the owners.

If one edge of an op has a sharding, owners whose edge has none get an open one. The options also move the
debug attributes of the edges to the op.

    before  %0 = stablehlo.while ...   %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]>   return %1
    after   %0 = stablehlo.while ... attributes {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}   return %0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.traits import data_flow
from shardy_py.graph.data_flow import EDGE_NAME, argument_owners, edge_of_target, result_owners
from shardy_py.graph.holders import Holder, Place, read, write_all
from shardy_py.graph.value_shardings import own_holder, rank_of
from shardy_py.ir import erase, find_ops_where, operands_of, replace_uses
from shardy_py.passes.debug_notes import EDGES, ORIGINS, sink_notes
from shardy_py.passes.options import SinkDataFlowEdgesOptions
from shardy_py.sharding import TensorSharding


def sink_data_flow_edges(module: ModuleOp, options: SinkDataFlowEdgesOptions) -> None:
    """Moves the sharding of each data-flow edge to its owner."""
    notes = (ORIGINS,) * options.sink_debug_sharding_origins
    notes += (EDGES,) * options.sink_debug_propagation_edge_sharding
    for inner in find_ops_where(module, lambda op: op.name == EDGE_NAME or data_flow(op)):
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
    replace_uses(edge.results[0], operands_of(edge)[0])
    erase(edge)
