"""The sdy dialect: attributes around the values of `sharding/`, ops, their syntax.

`attributes.py` and `ops.py` define attributes and ops, `syntax.py` and `forms.py` read and print them,
`verify.py` checks them; `interfaces.py` is for ops of other dialects.
"""

from xdsl.ir import Dialect

from shardy_py.mlir.dialects.sdy.attributes import (
    AllToAllParamListAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    OpShardingRuleAttr,
    PropagationEdgesAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.dialects.sdy.forms import OPS
from shardy_py.mlir.dialects.sdy.interfaces import (
    BranchDataFlow,
    EachOperandDataFlow,
    LoopDataFlow,
    ManualDataFlow,
    RegionDataFlow,
    ShardableDataFlowOpInterface,
    ShardingRuleOpInterface,
)
from shardy_py.mlir.dialects.sdy.ops import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    CollectiveOp,
    CollectivePermuteOp,
    ConstantOp,
    DataFlowEdgeOp,
    FuncDataFlowEdgeOp,
    ManualComputationOp,
    MeshOp,
    NamedComputationOp,
    PropagationBarrierOp,
    ReduceScatterOp,
    ReplicatedToUnreducedOp,
    ReshardOp,
    ReturnOp,
    ShardedToUnreducedOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
from shardy_py.mlir.dialects.sdy.syntax import ATTRIBUTES, ENCLOSED
from shardy_py.mlir.text import DialectSyntax

SDY = DialectSyntax("sdy", OPS.get, ATTRIBUTES, enclosed=ENCLOSED)
"""The dialect as text knows it."""

Sdy = Dialect(
    "sdy",
    [syntax.op_class for syntax in OPS.values()],
    [syntax.attribute_class for syntax in (*ATTRIBUTES.values(), *ENCLOSED.values())],
)
"""The dialect as xDSL knows it."""

__all__ = [
    "SDY",
    "AllGatherOp",
    "AllReduceOp",
    "AllSliceOp",
    "AllToAllOp",
    "AllToAllParamListAttr",
    "AxisRefListAttr",
    "BranchDataFlow",
    "CollectiveOp",
    "CollectivePermuteOp",
    "ConstantOp",
    "DataFlowEdgeOp",
    "EachOperandDataFlow",
    "FuncDataFlowEdgeOp",
    "ListOfAxisRefListsAttr",
    "LoopDataFlow",
    "ManualAxesAttr",
    "ManualComputationOp",
    "ManualDataFlow",
    "MeshAttr",
    "MeshOp",
    "NamedComputationOp",
    "OpShardingRuleAttr",
    "PropagationBarrierOp",
    "PropagationEdgesAttr",
    "ReduceScatterOp",
    "RegionDataFlow",
    "ReplicatedToUnreducedOp",
    "ReshardOp",
    "ReturnOp",
    "Sdy",
    "ShardableDataFlowOpInterface",
    "ShardedToUnreducedOp",
    "ShardingConstraintOp",
    "ShardingGroupOp",
    "ShardingRuleOpInterface",
    "TensorShardingAttr",
    "TensorShardingPerValueAttr",
]
