"""The sharding of a value, wherever it is written; verifiers of shardings on results, arguments, constraints.

Not here: axes themselves (`verify_values.py`), which op has which sharding (`verify_ops.py`), data-flow edges
as propagation sees them (`mlir/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.faults import Fault, note, prefixed
from shardy_py.mlir.dialects.sdy import verify_values
from shardy_py.mlir.dialects.sdy.attributes import TensorShardingAttr
from shardy_py.mlir.dialects.sdy.interfaces import sharding_at, shardings_of
from shardy_py.mlir.dialects.sdy.ops import DataFlowEdgeOp, ManualComputationOp, PropagationBarrierOp
from shardy_py.mlir.dialects.traits import data_flow, required_data_flow
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.ir import next_use
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.sharding import AxisRef, Mesh, TensorSharding

_RANKED: tuple[type[builtin.ShapedType], ...] = (builtin.TensorType, builtin.MemRefType, builtin.VectorType)


def sizes_of(type_: Attribute) -> tuple[int | None, ...] | None:
    """The sizes of a shaped type, None for a dynamic one; None for a type without shape or rank."""
    if not isinstance(type_, _RANKED):
        return None
    return tuple(None if size == builtin.DYNAMIC_INDEX else size for size in type_.get_shape())


def check_sharding(sharding: TensorSharding, type_: Attribute | None, scope: Scope) -> None:
    """The sharding of a value of a type (None: of no value), in this order:

    - its mesh exists; on a maximal mesh it names no dimension and no axis
    - the type is a ranked tensor, or a tuple of one; without a shape, no dimension and no axis is named
    - it has as many dimensions as the tensor
    - a priority is not negative, and a dimension that is closed and empty has none
    - axes of the dimensions, then replicated, then unreduced axes are lists as in `verify_values.py`
    - it names no axis that a manual computation around it has bound
    """
    mesh = scope.mesh(sharding)
    if mesh is None:
        raise Fault(f"unknown mesh: @{sharding.mesh}")
    is_empty = not (sharding.rank or sharding.replicated_axes or sharding.unreduced_axes)
    if mesh.is_maximal or (type_ is None and sharding.is_fully_replicated):
        if not is_empty:
            word = "single-device" if Behaviour.SINGLE_DEVICE_IS_THE_WORD.holds else "maximal"
            raise Fault(
                f"a {word} sharding can only have a sharding with rank 0 and no replicated or unreduced axes."
            )
        return
    shaped = type_
    if isinstance(type_, builtin.TupleType):
        parts: Sequence[Attribute] = type_.types.data
        if len(parts) != 1:
            raise Fault(f"ops can only have a sharding for a tuple of size 1: '{attribute_text(type_)}'")
        shaped = parts[0]
    text = attribute_text(type_) if type_ is not None else "<<NULL TYPE>>"
    if isinstance(shaped, builtin.UnrankedTensorType):
        raise Fault(f"only ranked tensors can have a sharding. type: '{text}'")
    sizes = sizes_of(shaped) if shaped is not None else None
    if sizes is None:
        if not is_empty:
            raise Fault(
                "non-shaped tensors can only have a sharding with rank 0 and no replicated or unreduced "
                f"axes. type: '{text}', sharding: {attribute_text(TensorShardingAttr(sharding))}"
            )
        return
    if sharding.rank != len(sizes):
        raise Fault(f"sharding doesn't match tensor rank: {sharding.rank} != {len(sizes)}")
    check_priorities_and_axes(sharding, mesh)
    if scope.manual_axes:
        in_dimensions = [axis for dimension in sharding.dimensions for axis in dimension.axes]
        check_unbound((*in_dimensions, *sharding.replicated_axes, *sharding.unreduced_axes), scope)


def check_priorities_and_axes(sharding: TensorSharding, mesh: Mesh) -> None:
    """The priorities and axes of a sharding on its mesh."""
    uses = verify_values.AxisUses(mesh)
    for index, dimension in enumerate(sharding.dimensions):
        if dimension.priority is not None:
            if dimension.priority < 0:
                raise Fault(f"dim {index} has a negative priority")
            if dimension.is_closed and not dimension.axes:
                raise Fault(f"dim {index} is empty and closed but has a priority")
        verify_values.check_axis_list(dimension.axes, uses)
    verify_values.check_sorted_axis_list(sharding.replicated_axes, uses, "replicated")
    verify_values.check_sorted_axis_list(sharding.unreduced_axes, uses, "unreduced")
    verify_values.check_sub_axes(uses)


def check_unbound(axes: Iterable[AxisRef], scope: Scope) -> None:
    """None of the axes is bound by a manual computation around."""
    for axis in axes:
        owner: ManualComputationOp | None = scope.manual_axes.get(axis.name)
        if owner is not None:
            raise Fault(
                f'operates on axis "{axis.name}" which is already bound by a parent '
                "sdy.manual_computation op",
                note("parent bounding this axis as manual", owner.location),
            )


def check_shardings(shardings: Sequence[TensorSharding], types: Sequence[Attribute], scope: Scope) -> None:
    """One sharding a value, each as in `check_sharding`.

    An op without values may have one sharding: the devices that it runs on.
    """
    if not types and len(shardings) == 1:
        mesh = scope.mesh(shardings[0])
        if (mesh is not None and mesh.is_maximal) or shardings[0].is_fully_replicated:
            with prefixed("0 - "):
                check_sharding(shardings[0], None, scope)
            return
    if len(shardings) != len(types):
        raise Fault(
            f"shardings don't match number of values: {len(shardings)} shardings vs {len(types)} values"
        )
    for index, (sharding, type_) in enumerate(zip(shardings, types, strict=True)):
        with prefixed("- " if len(types) == 1 else f"{index} - "):
            check_sharding(sharding, type_, scope)


_OWN = ("out_sharding", "sharding")
"""Properties that hold the sharding of the only result of an op."""


def sharding_of(value: SSAValue) -> TensorSharding | None:
    """The sharding of a value, None if it has none."""
    edge = _edge_of(value)
    if edge is not None:
        return edge.sharding.data if edge.sharding is not None else None
    if isinstance(value, OpResult):
        return _result_sharding(value.op, value.index)
    if isinstance(value, BlockArgument):
        return _argument_sharding(value)
    return None


def sharding_behind_barriers(value: SSAValue) -> TensorSharding | None:
    """The sharding of a value, or of what went into the propagation barriers that gave it."""
    while isinstance(value, OpResult) and isinstance(value.op, PropagationBarrierOp):
        value = value.op.input
    return sharding_of(value)


def _edge_of(value: SSAValue) -> DataFlowEdgeOp | None:
    """The data-flow edge that is the only user of the value."""
    use = value.first_use
    if use is None or next_use(use) is not None:
        return None
    user = use.operation
    return user if isinstance(user, DataFlowEdgeOp) else None


def _result_sharding(op: Operation, index: int) -> TensorSharding | None:
    if data_flow(op) is not None:
        return sharding_at(required_data_flow(op).op_result_edge_owner_shardings(op), index)
    if op.name.startswith("sdy."):
        for name in _OWN:
            attribute = op.properties.get(name)
            if isinstance(attribute, TensorShardingAttr):
                return attribute.data
    return sharding_at(shardings_of(op.attributes.get("sdy.sharding")), index)


def _argument_sharding(argument: BlockArgument) -> TensorSharding | None:
    op = argument.owner.parent_op()
    if isinstance(op, FuncOp):
        return _at_function(op.arg_attrs, argument.index)
    if op is None or (flow := data_flow(op)) is None:
        return None
    owner = flow.edge_owner_from_target(op, argument)
    if owner is argument:
        return flow.block_argument_edge_owner_sharding(op, argument.index)
    return sharding_of(owner) if owner is not None else None


def _at_function(dictionaries: ArrayAttr[DictionaryAttr] | None, index: int) -> TensorSharding | None:
    if dictionaries is None or index >= len(dictionaries.data):
        return None
    attribute = dictionaries.data[index].data.get("sdy.sharding")
    return attribute.data if isinstance(attribute, TensorShardingAttr) else None
