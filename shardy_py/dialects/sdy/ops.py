"""The operations of the sdy dialect.

Their assembly forms are in `forms.py`, the checks on them in `verify.py`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

from shardy_py.dialects.sdy.attributes import (
    AllToAllParamListAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.dialects.sdy.syntax import PROPAGATION_DIRECTIONS
from shardy_py.sharding import Mesh


@irdl_op_definition
class MeshOp(IRDLOperation):
    """`sdy.mesh @mesh = <["x"=2]>`: a named mesh."""

    name = "sdy.mesh"
    sym_name = prop_def(StringAttr)
    mesh = prop_def(MeshAttr)
    traits = traits_def(SymbolOpInterface())

    def __init__(self, sym_name: str, mesh: Mesh) -> None:
        super().__init__(properties={"sym_name": StringAttr(sym_name), "mesh": MeshAttr(mesh)})


@irdl_op_definition
class ShardingConstraintOp(IRDLOperation):
    """`sdy.sharding_constraint %0 <@mesh, [...]> : type`: how a tensor, or its uses, must be sharded."""

    name = "sdy.sharding_constraint"
    input = operand_def()
    sharding = prop_def(TensorShardingAttr)
    result = result_def()


@irdl_op_definition
class ReshardOp(IRDLOperation):
    """`sdy.reshard %0 <@mesh, [...]> : type`: the tensor in another sharding."""

    name = "sdy.reshard"
    input = operand_def()
    sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`sdy.return %0 : type`: ends the regions of sdy ops."""

    name = "sdy.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator(), NoMemoryEffect())


@irdl_op_definition
class ManualComputationOp(IRDLOperation):
    """A region that is local along its manual axes and global along the others."""

    name = "sdy.manual_computation"
    tensors = var_operand_def()
    in_shardings = prop_def(TensorShardingPerValueAttr)
    out_shardings = prop_def(TensorShardingPerValueAttr)
    manual_axes = prop_def(ManualAxesAttr)
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())


@irdl_op_definition
class ShardingGroupOp(IRDLOperation):
    """`sdy.sharding_group %0 group_id=1 : type`: all of a group get one sharding."""

    name = "sdy.sharding_group"
    input = operand_def()
    group_id = prop_def(IntegerAttr)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """`sdy.constant dense<0.0> : type`: a constant that no folder merges with its equals."""

    name = "sdy.constant"
    value = prop_def(Attribute)
    output = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class DataFlowEdgeOp(IRDLOperation):
    """Bridges the sources and targets of an op with regions, which share one sharding."""

    name = "sdy.data_flow_edge"
    input = operand_def()
    sharding = opt_prop_def(TensorShardingAttr)
    result = result_def()


@irdl_op_definition
class FuncDataFlowEdgeOp(IRDLOperation):
    """Bridges a function's argument, or a call's result, with the other side of the call."""

    name = "sdy.func_data_flow_edge"
    operand = operand_def()
    result = result_def()


@irdl_op_definition
class PropagationBarrierOp(IRDLOperation):
    """`sdy.propagation_barrier %0 allowed_direction=FORWARD : type`: lets shardings pass one way only."""

    name = "sdy.propagation_barrier"
    input = operand_def()
    allowed_direction = prop_def(IntegerAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())

    @property
    def direction(self) -> str:
        """`NONE`, `FORWARD`, `BACKWARD` or `BOTH`."""
        return PROPAGATION_DIRECTIONS[self.allowed_direction.value.data]


@irdl_op_definition
class NamedComputationOp(IRDLOperation):
    """A computation with a name, through which propagation flows as if it were inlined."""

    name = "sdy.named_computation"
    name_ = prop_def(StringAttr, prop_name="name")
    inputs = var_operand_def()
    in_shardings = opt_prop_def(TensorShardingPerValueAttr)
    out_shardings = opt_prop_def(TensorShardingPerValueAttr)
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())


@irdl_op_definition
class AllGatherOp(IRDLOperation):
    """Gathers chunks along axes, dimension by dimension."""

    name = "sdy.all_gather"
    tensor = operand_def()
    gathering_axes = prop_def(ListOfAxisRefListsAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class AllSliceOp(IRDLOperation):
    """Keeps each device's chunk along axes, dimension by dimension."""

    name = "sdy.all_slice"
    tensor = operand_def()
    slicing_axes = prop_def(ListOfAxisRefListsAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class AllToAllOp(IRDLOperation):
    """Moves axes from one dimension to another."""

    name = "sdy.all_to_all"
    tensor = operand_def()
    params = prop_def(AllToAllParamListAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class CollectivePermuteOp(IRDLOperation):
    """Sends each device's chunk to another device, to replace or reorder axes."""

    name = "sdy.collective_permute"
    tensor = operand_def()
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class AllReduceOp(IRDLOperation):
    """Reduces chunks along axes."""

    name = "sdy.all_reduce"
    tensor = operand_def()
    reduction_axes = prop_def(AxisRefListAttr)
    reduction_op = opt_prop_def(IntegerAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ReduceScatterOp(IRDLOperation):
    """Reduces chunks along axes and keeps each device's part of the result."""

    name = "sdy.reduce_scatter"
    tensor = operand_def()
    reduce_scatter_axes = prop_def(ListOfAxisRefListsAttr)
    reduction_op = opt_prop_def(IntegerAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ShardedToUnreducedOp(IRDLOperation):
    """Makes axes that shard the operand unreduced in the result."""

    name = "sdy.sharded_to_unreduced"
    tensor = operand_def()
    axes = prop_def(ListOfAxisRefListsAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())


@irdl_op_definition
class ReplicatedToUnreducedOp(IRDLOperation):
    """Makes axes that the operand is replicated on unreduced in the result."""

    name = "sdy.replicated_to_unreduced"
    tensor = operand_def()
    axes = prop_def(AxisRefListAttr)
    out_sharding = prop_def(TensorShardingAttr)
    result = result_def()
    traits = traits_def(NoMemoryEffect())
