"""From IR to plain data: walks, data-flow edges, op records and the op graph.

The only folder between xDSL and the mathematics: what comes out of it knows ops by number and values by slot.
What needs all dialects is imported when it is first asked for, so that a walk costs no more than itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shardy_py.graph.data_flow import (
    DATA_FLOW,
    edge_of_owner,
    edge_of_source,
    edge_of_target,
    edge_owners,
    edge_sources,
    edge_targets,
    source_values,
)
from shardy_py.ir import (
    blocks_of,
    owning_op,
    terminator_of,
    walk_post_order,
    walk_pre_order,
)

if TYPE_CHECKING:
    from shardy_py.graph.build import Program, build_program
    from shardy_py.graph.op_graph import OpGraph
    from shardy_py.graph.record import record_of

__all__ = [
    "DATA_FLOW",
    "OpGraph",
    "Program",
    "blocks_of",
    "build_program",
    "edge_of_owner",
    "edge_of_source",
    "edge_of_target",
    "edge_owners",
    "edge_sources",
    "edge_targets",
    "owning_op",
    "record_of",
    "source_values",
    "terminator_of",
    "walk_post_order",
    "walk_pre_order",
]

_ON_DEMAND = {
    "OpGraph": "op_graph",
    "Program": "build",
    "build_program": "build",
    "record_of": "record",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(name)
    return getattr(import_module(f"shardy_py.graph.{_ON_DEMAND[name]}"), name)
