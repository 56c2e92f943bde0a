"""Verifiers of the shardings of values: on results, arguments, constraints.

Not here: axes themselves (`verify_axes.py`), which op has which sharding (`verify_ops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    TensorType,
    TupleType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute

from shardy_py.dialects.sdy.attributes import TensorShardingAttr
from shardy_py.dialects.sdy.ops import ManualComputationOp
from shardy_py.dialects.sdy.verify_axes import (
    AxisUses,
    axis_list_faults,
    sorted_axis_list_faults,
    sub_axis_faults,
)
from shardy_py.dialects.verification.faults import Fault, Faults, Note
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.text.attribute_writer import attribute_text


def prefixed(prefix: str, faults: Iterable[Fault]) -> Faults:
    """The faults with `prefix` in front of their messages."""
    for fault in faults:
        yield replace(fault, message=prefix + fault.message)


def sizes_of(type_: Attribute) -> tuple[int | None, ...] | None:
    """The sizes of a shaped type, None for a dynamic one; None for a type without shape or rank."""
    if not isinstance(type_, TensorType | MemRefType | VectorType):
        return None
    shape: Any = type_.get_shape()  # pyright: ignore[reportUnknownMemberType]
    return tuple(None if size == DYNAMIC_INDEX else size for size in shape)


def sharding_faults(sharding: TensorSharding, type_: Attribute | None, scope: Scope) -> Faults:
    """The sharding of a value of a type (None: of no value), in this order:

    - its mesh exists; on a maximal mesh it names no dimension and no axis
    - the type is a ranked tensor, or a tuple of one; without a shape, no dimension and no axis is named
    - it has as many dimensions as the tensor
    - a priority is not negative, and a dimension that is closed and empty has none
    - axes of the dimensions, then replicated, then unreduced axes are lists as in `verify_axes.py`
    - it names no axis that a manual computation around it has bound
    """
    mesh = scope.mesh(sharding)
    if mesh is None:
        yield Fault(f"unknown mesh: @{sharding.mesh}")
        return
    if mesh.is_maximal or (type_ is None and sharding.is_fully_replicated):
        if _says_something(sharding):
            yield Fault(
                "a maximal sharding can only have a sharding with rank 0 and no replicated or unreduced axes."
            )
        return
    shaped = type_
    if isinstance(type_, TupleType):
        parts: Sequence[Attribute] = type_.types.data
        if len(parts) != 1:
            yield Fault(f"ops can only have a sharding for a tuple of size 1: '{attribute_text(type_)}'")
            return
        shaped = parts[0]
    if isinstance(shaped, UnrankedTensorType):
        yield Fault(f"only ranked tensors can have a sharding. type: '{_text(type_)}'")
        return
    sizes = sizes_of(shaped) if shaped is not None else None
    if sizes is None:
        if _says_something(sharding):
            yield Fault(
                "non-shaped tensors can only have a sharding with rank 0 and no replicated or unreduced "
                f"axes. type: '{_text(type_)}', sharding: {attribute_text(TensorShardingAttr(sharding))}"
            )
        return
    if sharding.rank != len(sizes):
        yield Fault(f"sharding doesn't match tensor rank: {sharding.rank} != {len(sizes)}")
        return
    messages = [*axis_messages(sharding, mesh)]
    yield from map(Fault, messages)
    if not messages and scope.manual_axes:
        yield from _bound_axis_faults(sharding, scope.manual_axes)


def _text(type_: Attribute | None) -> str:
    return attribute_text(type_) if type_ is not None else "<<NULL TYPE>>"


def _says_something(sharding: TensorSharding) -> bool:
    return bool(sharding.rank or sharding.replicated_axes or sharding.unreduced_axes)


def axis_messages(sharding: TensorSharding, mesh: Mesh) -> Iterable[str]:
    """Messages on the axes of a sharding on its mesh."""
    uses = AxisUses(mesh)
    for index, dimension in enumerate(sharding.dimensions):
        found = [*_priority_messages(index, dimension), *axis_list_faults(dimension.axes, uses)]
        yield from found
        if found:
            return
    for what, axes in (("replicated", sharding.replicated_axes), ("unreduced", sharding.unreduced_axes)):
        found = [*sorted_axis_list_faults(axes, uses, what)]
        yield from found
        if found:
            return
    yield from sub_axis_faults(uses)


def _priority_messages(index: int, dimension: DimensionSharding) -> Iterable[str]:
    if dimension.priority is None:
        return
    if dimension.priority < 0:
        yield f"dim {index} has a negative priority"
    if dimension.is_closed and not dimension.axes:
        yield f"dim {index} is empty and closed but has a priority"


def _bound_axis_faults(sharding: TensorSharding, owners: Mapping[str, ManualComputationOp]) -> Faults:
    for axis in axes_of(sharding):
        if axis.name in owners:
            yield bound_axis_fault(axis.name, owners[axis.name])
            return


def bound_axis_fault(name: str, owner: ManualComputationOp) -> Fault:
    """The fault of using an axis that a manual computation around has bound."""
    note = Note("parent bounding this axis as manual", owner.location)
    return Fault(
        f'operates on axis "{name}" which is already bound by a parent sdy.manual_computation op',
        notes=(note,),
    )


def axes_of(sharding: TensorSharding) -> Iterable[AxisRef]:
    """All axes that a sharding names."""
    for dimension in sharding.dimensions:
        yield from dimension.axes
    yield from sharding.replicated_axes
    yield from sharding.unreduced_axes


def sharding_list_faults(
    shardings: Sequence[TensorSharding], types: Sequence[Attribute], scope: Scope
) -> Faults:
    """One sharding a value, each as in `sharding_faults`.

    An op without values may have one sharding: the devices that it runs on.
    """
    if not types and len(shardings) == 1:
        mesh = scope.mesh(shardings[0])
        if (mesh is not None and mesh.is_maximal) or shardings[0].is_fully_replicated:
            yield from prefixed("0 - ", sharding_faults(shardings[0], None, scope))
            return
    if len(shardings) != len(types):
        yield Fault(
            f"shardings don't match number of values: {len(shardings)} shardings vs {len(types)} values"
        )
        return
    place: Callable[[int], str] = (lambda index: "- ") if len(types) == 1 else (lambda index: f"{index} - ")
    for index, (sharding, type_) in enumerate(zip(shardings, types, strict=True)):
        yield from prefixed(place(index), sharding_faults(sharding, type_, scope))
