"""`sdy-add-data-flow-edges`: inserts an op for each data-flow edge.

The edge gets the sharding and the uses of its owner.

    before  %0 = stablehlo.while(%i = %a) ...          return %0
    after   %0 = stablehlo.while(%i = %a) ...          %1 = sdy.data_flow_edge %0   return %1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, OpResult, SSAValue

from shardy_py.dialects.sdy import DataFlowEdgeOp, TensorShardingAttr
from shardy_py.dialects.traits import data_flow
from shardy_py.graph.data_flow import argument_owners, edge_of_target, result_owners
from shardy_py.graph.value_shardings import has_static_shape, sharding_of
from shardy_py.ir import build_operation, find_ops_where, place_after_value, replace_uses


def add_data_flow_edges(module: ModuleOp) -> None:
    """Inserts an edge for each edge owner."""
    for inner in find_ops_where(module, data_flow):
        insert_edges(argument_owners(inner))
        insert_edges(result_owners(inner))


def insert_edges(owners: Sequence[SSAValue]) -> None:
    """Insert an edge after each owner of static shape that has none, with its sharding and uses."""
    for owner in reversed(owners):
        if has_static_shape(owner.type) and edge_of_target(owner) is None:
            sharding = sharding_of(owner)
            properties: dict[str, Attribute] = {"sharding": TensorShardingAttr(sharding)} if sharding else {}
            location = owner.op.location if isinstance(owner, OpResult) else cast(Any, owner).location
            edge = build_operation(DataFlowEdgeOp, [owner], [owner.type], properties, {}, location)
            place_after_value(edge, owner)
            replace_uses(owner, edge.results[0], but_not_in=edge)
