"""Verifier of manual computations: the invariants of the sharding API.

    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"data"}, {"model", ?}]>]
        out_shardings=[<@mesh, [{"data"}, {?}]>] manual_axes={"data"} (%arg1: tensor<8x32xf32>) { ... }

Types in the body are local along the manual axes, and global along the free ones. A program may come with
manual axes in any order and leave those unmentioned that shard nothing; `sdy-manual-axes-cleanup` puts that
right, and `check_normal_form` says whether it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute

from shardy_py.dialects.sdy.ops import ManualComputationOp
from shardy_py.dialects.sdy.syntax import manual_axes_text
from shardy_py.dialects.sdy.verify_sharding import (
    axes_of,
    bound_axis_fault,
    prefixed,
    sharding_list_faults,
    sizes_of,
)
from shardy_py.dialects.verification.faults import Fault, Faults
from shardy_py.dialects.verification.scope import Scope
from shardy_py.sharding import Axes, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.text.attribute_writer import attribute_text


def check_manual_axes(op: ManualComputationOp, scope: Scope) -> Faults:
    """No manual axis is bound by a manual computation around."""
    for name in op.manual_axes.data:
        if name in scope.manual_axes:
            yield bound_axis_fault(name, scope.manual_axes[name])
            return


def check_manual_computation(op: ManualComputationOp, scope: Scope) -> Faults:
    """A manual computation, in this order, operands before results:

    - one sharding a value, each fitting the global type; as many values inside as outside
    - in each dimension manual axes precede free ones, and divide its size
    - the type inside is the local one
    - all shardings are of one mesh, or of an empty one; it has the manual axes
    """
    last = op.body.block.last_op
    returned = [value.type for value in last.operands] if last is not None else []
    ins, outs = op.in_shardings.data, op.out_shardings.data
    sides = (
        ("operand", ins, [v.type for v in op.operands], [v.type for v in op.body.block.args]),
        ("result", outs, [v.type for v in op.results], returned),
    )
    for what, shardings, outer, inner in sides:
        found = (*_side_faults(op, scope, what, shardings, outer, inner),)
        yield from found
        if found:
            return
    if ins or outs:
        yield from _mesh_faults(op, scope, (*ins, *outs))


def _side_faults(
    op: ManualComputationOp,
    scope: Scope,
    what: str,
    shardings: Sequence[TensorSharding],
    outer: Sequence[Attribute],
    inner: Sequence[Attribute],
) -> Faults:
    if not (outer or inner or shardings):
        return
    found = (*prefixed(f"{what} ", sharding_list_faults(shardings, outer, scope)),)
    yield from found
    if found:
        return
    if len(outer) != len(inner):
        yield Fault(
            f"number of op {what}s and region {what}s must match. Op has {len(outer)} op {what}s and "
            f"{len(inner)} region {what}s"
        )
        return
    for index, (sharding, global_type, local_type) in enumerate(zip(shardings, outer, inner, strict=False)):
        yield from _value_faults(op, scope, f"{what}", index, sharding, global_type, local_type)


def _value_faults(
    op: ManualComputationOp,
    scope: Scope,
    what: str,
    index: int,
    sharding: TensorSharding,
    global_type: Attribute,
    local_type: Attribute,
) -> Faults:
    manual = frozenset(op.manual_axes.data)
    for number, dimension in enumerate(sharding.dimensions):
        for axis, following in pairwise(dimension.axes):
            if axis.name not in manual and following.name in manual:
                yield Fault(
                    f"{what} sharding at index {index} must have all manual axes come before free axes in "
                    f"its dimension sharding at index {number}. Saw manual axis {following} after free axis "
                    f"{axis}"
                )
                return
    sizes = sizes_of(global_type)
    mesh = scope.mesh(sharding)
    if sizes is None or mesh is None or not isinstance(global_type, TensorType):
        return
    local: list[int] = []
    for size, dimension in zip(sizes, sharding.dimensions, strict=False):
        parts = _manual_size(dimension.axes, manual, mesh)
        if size is not None and size % parts:
            yield Fault(f"{what} dimension size {size} is not divisible by the manual axes size {parts}")
            return
        local.append(DYNAMIC_INDEX if size is None else size // parts)
    expected = _with_sizes(global_type, local)
    if expected != local_type:
        yield Fault(
            f"{what} shape, corresponding sharding, and region {what} shape at index {index} must match. "
            f"Expected local shape '{attribute_text(expected)}', actual local shape "
            f"'{attribute_text(local_type)}'"
        )


def _with_sizes(type_: Any, sizes: Sequence[int]) -> Attribute:
    """The tensor type of the same elements."""
    return TensorType(type_.element_type, sizes)


def _manual_size(axes: Axes, manual: frozenset[str], mesh: Mesh) -> int:
    return total_size([axis for axis in axes if axis.name in manual], mesh)


def _mesh_faults(op: ManualComputationOp, scope: Scope, shardings: Sequence[TensorSharding]) -> Faults:
    names = op.manual_axes.data
    meshes = {mesh for s in shardings if (mesh := scope.mesh(s)) is not None}
    filled = {mesh for mesh in meshes if mesh.axes or mesh.device_ids}
    if len(filled) > 1:
        if names:
            yield Fault("all in and out shardings must be bound to the same mesh or an empty mesh.")
        return
    mesh = next(iter(filled or meshes), None)
    for name in names:
        if mesh is not None and name not in mesh.sizes:
            yield Fault(f'unknown manual axis: "{name}"')
            return


def check_normal_form(op: ManualComputationOp, scope: Scope) -> Faults:
    """A manual computation in normal form:

    - its manual axes are in the order of the mesh, each once
    - every sharding of a tensor names every manual axis: in a dimension, as replicated or as unreduced axis
    """
    names = op.manual_axes.data
    ins, outs = op.in_shardings.data, op.out_shardings.data
    meshes = [mesh for sharding in (*ins, *outs) if (mesh := scope.mesh(sharding)) is not None and mesh.axes]
    if not meshes:
        return
    order = meshes[0].order
    expected = sorted(dict.fromkeys(names), key=lambda name: order.get(name, len(order)))
    if list(names) != expected:
        yield Fault(
            f"manual axes must be in mesh order, each once: expected {manual_axes_text(expected)}, got "
            f"{manual_axes_text(names)}"
        )
    for what, shardings, values in (("operand", ins, op.operands), ("result", outs, op.results)):
        for index, (sharding, value) in enumerate(zip(shardings, values, strict=False)):
            missing = set(names).difference(axis.name for axis in axes_of(sharding))
            if missing and sizes_of(value.type) is not None:
                listed = manual_axes_text(name for name in expected if name in missing)
                yield Fault(
                    f"{what} sharding at index {index} must name all manual axes: expected {listed} in a "
                    f"dimension or as replicated axes, got {sharding}"
                )
