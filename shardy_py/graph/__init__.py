"""From IR to plain data: walks, data-flow edges, op records and the op graph.

The only folder between xDSL and the mathematics: what comes out of it knows ops by number and values by slot.
"""

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
from shardy_py.graph.walk import (
    blocks_of,
    owning_op,
    terminator_of,
    walk_post_order,
    walk_pre_order,
)

__all__ = [
    "DATA_FLOW",
    "blocks_of",
    "edge_of_owner",
    "edge_of_source",
    "edge_of_target",
    "edge_owners",
    "edge_sources",
    "edge_targets",
    "owning_op",
    "source_values",
    "terminator_of",
    "walk_post_order",
    "walk_pre_order",
]
