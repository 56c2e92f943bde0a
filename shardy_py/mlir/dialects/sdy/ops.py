"""The operations of the sdy dialect, and their constructors, which infer the types of results.

Their assembly forms are in `forms.py`, the checks on them in `verify.py`.

>>> from xdsl.dialects.builtin import TensorType, f32
>>> from xdsl.ir import Block
>>> from shardy_py.sharding import TensorSharding
>>> (value,) = Block(arg_types=[TensorType(f32, [8])]).args
>>> str(ReshardOp(value, TensorSharding.fully_closed("mesh", 1)).result.type)
'tensor<8xf32>'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl import irdl
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.checked_arguments import with_checked_arguments
from shardy_py.mlir.dialects.sdy.attributes import (
    AllToAllParam,
    AllToAllParamListAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.mlir.dialects.sdy.interfaces import ManualDataFlow, RegionDataFlow
from shardy_py.mlir.dialects.sdy.syntax import PROPAGATION_DIRECTIONS
from shardy_py.mlir.dialects.traits import ShardingProperty, UnfoldableConstant
from shardy_py.mlir.text.xdsl_hooks import PrettyOp, define_op
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding import AxisRef, Mesh, TensorSharding

Value = SSAValue | Operation
"""A value, or the op whose only result it is."""

AxisRefs = Sequence[AxisRef]
AxesByDimension = Sequence[AxisRefs]

Reduction = str | None
"""`sum`, `max` or `min`; None where the op does not reduce."""


def _enum(what: str, name: str, names: Sequence[str]) -> Attribute:
    """The attribute of a name of an enum. Raises `ShardyError` for another name."""
    if name not in names:
        raise ShardyError.unknown(what, name, names)
    return IntegerAttr(names.index(name), 32)


@define_op
@with_checked_arguments
class MeshOp(PrettyOp):
    """`sdy.mesh @mesh = <["x"=2]>`: a named mesh."""

    name = "sdy.mesh"
    sym_name = irdl.prop_def(StringAttr)
    mesh = irdl.prop_def(MeshAttr)
    traits = irdl.traits_def(SymbolOpInterface())

    def __init__(self, sym_name: str, mesh: Mesh) -> None:
        super().__init__(properties={"sym_name": StringAttr(sym_name), "mesh": MeshAttr(mesh)})


class _Identity(PrettyOp):
    """An op whose result has the type of its one operand."""

    result = irdl.result_def()

    def _build(self, operand: Value, properties: Mapping[str, Attribute | None]) -> None:
        super().__init__(
            operands=[operand],
            result_types=[SSAValue.get(operand).type],
            properties={name: value for name, value in properties.items() if value is not None},
        )


class _Annotation(_Identity):
    """An op that gives a tensor a sharding."""

    input = irdl.operand_def()
    sharding = irdl.prop_def(TensorShardingAttr)

    def __init__(self, input: Value, sharding: TensorSharding) -> None:
        self._build(input, {"sharding": TensorShardingAttr(sharding)})


@define_op
@with_checked_arguments
class ShardingConstraintOp(_Annotation):
    """`sdy.sharding_constraint %0 <@mesh, [...]> : type`: the sharding required of a tensor or its uses."""

    name = "sdy.sharding_constraint"
    traits = irdl.traits_def(ShardingProperty("sharding"))


@define_op
@with_checked_arguments
class ReshardOp(_Annotation):
    """`sdy.reshard %0 <@mesh, [...]> : type`: the tensor in another sharding."""

    name = "sdy.reshard"
    traits = irdl.traits_def(Pure(), ShardingProperty("sharding"))


@define_op
@with_checked_arguments
class ReturnOp(PrettyOp):
    """`sdy.return %0 : type`: ends the regions of sdy ops."""

    name = "sdy.return"
    values = irdl.var_operand_def()
    traits = irdl.traits_def(IsTerminator(), Pure())

    def __init__(self, *values: Value) -> None:
        super().__init__(operands=[values])


@define_op
@with_checked_arguments
class ManualComputationOp(PrettyOp):
    """A region that is local along its manual axes and global along the others."""

    name = "sdy.manual_computation"
    tensors = irdl.var_operand_def()
    in_shardings = irdl.prop_def(TensorShardingPerValueAttr)
    out_shardings = irdl.prop_def(TensorShardingPerValueAttr)
    manual_axes = irdl.prop_def(ManualAxesAttr)
    res = irdl.var_result_def()
    body = irdl.region_def("single_block")
    traits = irdl.traits_def(IsolatedFromAbove(), RecursiveMemoryEffect(), ManualDataFlow())

    def __init__(
        self,
        tensors: Sequence[Value],
        in_shardings: Sequence[TensorSharding],
        out_shardings: Sequence[TensorSharding],
        manual_axes: Sequence[str],
        body: Region,
        result_types: Sequence[Attribute],
    ) -> None:
        """The types of the results do not follow from the body: it knows local shapes only."""
        properties: dict[str, Attribute] = {
            "in_shardings": TensorShardingPerValueAttr(tuple(in_shardings)),
            "out_shardings": TensorShardingPerValueAttr(tuple(out_shardings)),
            "manual_axes": ManualAxesAttr(tuple(manual_axes)),
        }
        super().__init__(
            operands=[tensors], result_types=[result_types], properties=properties, regions=[body]
        )


@define_op
@with_checked_arguments
class ShardingGroupOp(PrettyOp):
    """`sdy.sharding_group %0 group_id=1 : type`: all of a group get one sharding."""

    name = "sdy.sharding_group"
    input = irdl.operand_def()
    group_id = irdl.prop_def(IntegerAttr)

    def __init__(self, input: Value, group_id: int) -> None:
        super().__init__(operands=[input], properties={"group_id": IntegerAttr(group_id, 64)})


@define_op
@with_checked_arguments
class ConstantOp(PrettyOp):
    """`sdy.constant dense<0.0> : type`: a constant that no folder merges with its equals."""

    name = "sdy.constant"
    value = irdl.prop_def(Attribute)
    output = irdl.result_def()
    traits = irdl.traits_def(Pure(), UnfoldableConstant())

    def __init__(self, value: DenseIntOrFPElementsAttr) -> None:
        super().__init__(result_types=[value.type], properties={"value": value})


@define_op
@with_checked_arguments
class DataFlowEdgeOp(_Identity):
    """Bridges the sources and targets of an op with regions, which share one sharding."""

    name = "sdy.data_flow_edge"
    input = irdl.operand_def()
    sharding = irdl.opt_prop_def(TensorShardingAttr)
    traits = irdl.traits_def(ShardingProperty("sharding"))

    def __init__(self, input: Value, sharding: TensorSharding | None = None) -> None:
        self._build(input, {"sharding": None if sharding is None else TensorShardingAttr(sharding)})


@define_op
@with_checked_arguments
class FuncDataFlowEdgeOp(_Identity):
    """Bridges a function's argument, or a call's result, with the other side of the call."""

    name = "sdy.func_data_flow_edge"
    operand = irdl.operand_def()

    def __init__(self, operand: Value) -> None:
        self._build(operand, {})


@define_op
@with_checked_arguments
class PropagationBarrierOp(_Identity):
    """`sdy.propagation_barrier %0 allowed_direction=FORWARD : type`: lets shardings pass one way only."""

    name = "sdy.propagation_barrier"
    input = irdl.operand_def()
    allowed_direction = irdl.prop_def(IntegerAttr)
    traits = irdl.traits_def(Pure())

    @property
    def direction(self) -> str:
        """`NONE`, `FORWARD`, `BACKWARD` or `BOTH`."""
        return PROPAGATION_DIRECTIONS[self.allowed_direction.value.data]

    def __init__(self, input: Value, direction: str) -> None:
        self._build(input, {"allowed_direction": _enum("direction", direction, PROPAGATION_DIRECTIONS)})


@define_op
@with_checked_arguments
class NamedComputationOp(PrettyOp):
    """A computation with a name, through which propagation flows as if it were inlined."""

    name = "sdy.named_computation"
    name_ = irdl.prop_def(StringAttr, prop_name="name")
    inputs = irdl.var_operand_def()
    in_shardings = irdl.opt_prop_def(TensorShardingPerValueAttr)
    out_shardings = irdl.opt_prop_def(TensorShardingPerValueAttr)
    res = irdl.var_result_def()
    body = irdl.region_def("single_block")
    traits = irdl.traits_def(
        IsolatedFromAbove(), RecursiveMemoryEffect(), RecursivelySpeculatable(), RegionDataFlow()
    )

    def __init__(
        self,
        name: str,
        inputs: Sequence[Value],
        body: Region,
        in_shardings: Sequence[TensorSharding] | None = None,
        out_shardings: Sequence[TensorSharding] | None = None,
    ) -> None:
        """The types of the results are those of what the body returns."""
        given = {"in_shardings": in_shardings, "out_shardings": out_shardings}
        shardings = {n: TensorShardingPerValueAttr(tuple(s)) for n, s in given.items() if s is not None}
        returned = body.block.last_op
        types = [] if returned is None else [value.type for value in returned.operands]
        super().__init__(
            operands=[inputs],
            result_types=[types],
            properties={"name": StringAttr(name), **shardings},
            regions=[body],
        )


class CollectiveOp(_Identity):
    """A collective: its result is its operand in another sharding.

    Beside `tensor` and `out_sharding`, a collective has a property with its axes.
    """

    tensor = irdl.operand_def()
    out_sharding = irdl.prop_def(TensorShardingAttr)
    traits = irdl.traits_def(ShardingProperty("out_sharding"))

    def _build_over(
        self, tensor: Value, axes: Attribute | None, out_sharding: TensorSharding, reduction: Reduction = None
    ) -> None:
        """Builds the op over `axes`, the value of the one property that is neither of the other two."""
        kind = None if reduction is None else _enum("reduction", reduction, REDUCTIONS)
        names = self.get_irdl_definition().properties.keys() - {"out_sharding", "reduction_op"}
        over = dict.fromkeys(names, axes)
        self._build(tensor, {**over, "reduction_op": kind, "out_sharding": TensorShardingAttr(out_sharding)})


class _ByDimension(CollectiveOp):
    """A collective over lists of axes, one for each dimension."""

    def __init__(
        self, tensor: Value, axes: AxesByDimension, out_sharding: TensorSharding, reduction: Reduction = None
    ) -> None:
        self._build_over(tensor, ListOfAxisRefListsAttr(tuple(map(tuple, axes))), out_sharding, reduction)


class _OverAxes(CollectiveOp):
    """A collective over one list of axes."""

    def __init__(
        self,
        tensor: Value,
        axes: Sequence[AxisRef],
        out_sharding: TensorSharding,
        reduction: Reduction = None,
    ) -> None:
        self._build_over(tensor, AxisRefListAttr(tuple(axes)), out_sharding, reduction)


@define_op
@with_checked_arguments
class AllGatherOp(_ByDimension):
    """Gathers chunks along axes, dimension by dimension."""

    name = "sdy.all_gather"
    gathering_axes = irdl.prop_def(ListOfAxisRefListsAttr)


@define_op
@with_checked_arguments
class AllSliceOp(_ByDimension):
    """Keeps each device's chunk along axes, dimension by dimension."""

    name = "sdy.all_slice"
    slicing_axes = irdl.prop_def(ListOfAxisRefListsAttr)


@define_op
@with_checked_arguments
class AllToAllOp(CollectiveOp):
    """Moves axes from one dimension to another."""

    name = "sdy.all_to_all"
    params = irdl.prop_def(AllToAllParamListAttr)

    def __init__(self, tensor: Value, params: Sequence[AllToAllParam], out_sharding: TensorSharding) -> None:
        self._build_over(tensor, AllToAllParamListAttr(tuple(params)), out_sharding)


@define_op
@with_checked_arguments
class CollectivePermuteOp(CollectiveOp):
    """Sends each device's chunk to another device, to replace or reorder axes."""

    name = "sdy.collective_permute"

    def __init__(self, tensor: Value, out_sharding: TensorSharding) -> None:
        self._build_over(tensor, None, out_sharding)


@define_op
@with_checked_arguments
class AllReduceOp(_OverAxes):
    """Reduces chunks along axes."""

    name = "sdy.all_reduce"
    reduction_axes = irdl.prop_def(AxisRefListAttr)
    reduction_op = irdl.opt_prop_def(IntegerAttr)


@define_op
@with_checked_arguments
class ReduceScatterOp(_ByDimension):
    """Reduces chunks along axes and keeps each device's part of the result."""

    name = "sdy.reduce_scatter"
    reduce_scatter_axes = irdl.prop_def(ListOfAxisRefListsAttr)
    reduction_op = irdl.opt_prop_def(IntegerAttr)


@define_op
@with_checked_arguments
class ShardedToUnreducedOp(_ByDimension):
    """Makes axes that shard the operand unreduced in the result."""

    name = "sdy.sharded_to_unreduced"
    axes = irdl.prop_def(ListOfAxisRefListsAttr)


@define_op
@with_checked_arguments
class ReplicatedToUnreducedOp(_OverAxes):
    """Makes axes that the operand is replicated on unreduced in the result."""

    name = "sdy.replicated_to_unreduced"
    axes = irdl.prop_def(AxisRefListAttr)
