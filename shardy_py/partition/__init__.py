"""What a sharded program needs before it can be cut into local programs: even borders, reshards, reductions.

Plain values only: rules, shardings and meshes in, decisions out. The passes carry them out on the IR.

The whole is described in docs/design/reshards.md.
"""

from shardy_py.partition.boundary import closed_like, evenly_divided, without_sub_axes
from shardy_py.partition.collectives import (
    AllGather,
    AllSlice,
    AllToAll,
    Collective,
    CollectivePermute,
    collectives_between,
)
from shardy_py.partition.common_axes import common_axes, compatible_axes
from shardy_py.partition.compare import is_equivalent, is_replicated
from shardy_py.partition.reshard_plan import OpShardings, ReshardPlan, minimal_plan, reshard_plan
from shardy_py.partition.scatter_fusion import ScatterFusion, scatter_fusion
from shardy_py.partition.steps import (
    AllReduce,
    ReplicatedToUnreduced,
    Reshard,
    ShardedToUnreduced,
    Step,
    steps_between,
)
from shardy_py.partition.strides import is_same_layout
from shardy_py.partition.unreduced_axes import mismatch_fault, transition_fault

__all__ = [
    "AllGather",
    "AllReduce",
    "AllSlice",
    "AllToAll",
    "Collective",
    "CollectivePermute",
    "OpShardings",
    "ReplicatedToUnreduced",
    "Reshard",
    "ReshardPlan",
    "ScatterFusion",
    "ShardedToUnreduced",
    "Step",
    "closed_like",
    "collectives_between",
    "common_axes",
    "compatible_axes",
    "evenly_divided",
    "is_equivalent",
    "is_replicated",
    "is_same_layout",
    "minimal_plan",
    "mismatch_fault",
    "reshard_plan",
    "scatter_fusion",
    "steps_between",
    "transition_fault",
    "without_sub_axes",
]
