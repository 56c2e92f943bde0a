"""The ops `sdy.data_flow_edge`: inserting them, taking their shardings, removing them.

Not here: what is an edge, its owner and its targets (`data_flow.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import DataFlowEdgeOp, TensorShardingAttr
from shardy_py.graph.data_flow import EDGE_NAME, argument_owners, edge_of_target, result_owners
from shardy_py.graph.holders import Holder, Place, read, write_all
from shardy_py.graph.value_shardings import has_static_shape, own_holder, rank_of, sharding_of
from shardy_py.ir import build_operation, erase, operands_of, place_after_value, replace_uses
from shardy_py.sharding import TensorSharding


def insert_edges(owners: Sequence[SSAValue]) -> None:
    """An edge behind each owner of static shape, with its sharding; what used the owner uses the edge.

    An owner that has its edge keeps it: an edge of an edge would have no source.
    """
    for owner in reversed(owners):
        if has_static_shape(owner.type) and edge_of_target(owner) is None:
            sharding = sharding_of(owner)
            properties: dict[str, Attribute] = {"sharding": TensorShardingAttr(sharding)} if sharding else {}
            edge = build_operation(DataFlowEdgeOp, [owner], [owner.type], properties, {}, location_of(owner))
            place_after_value(edge, owner)
            replace_uses(owner, edge.results[0], but_not_in=edge)


def sink_edge_shardings(op: Operation) -> None:
    """Give the owners of edges of `op` the shardings of their edges, if any edge has one; the edges stay."""
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
    """Remove the edges of owners; what used an edge uses its owner."""
    for owner in owners:
        use = owner.first_use
        if use is not None and use.operation.name == EDGE_NAME:
            remove_edge(use.operation)


def remove_edge(edge: Operation) -> None:
    """Remove an edge; what used it uses its operand."""
    replace_uses(edge.results[0], operands_of(edge)[0])
    erase(edge)


def location_of(value: SSAValue) -> Any:
    """Where a value was written."""
    return value.op.location if isinstance(value, OpResult) else cast(Any, value).location
