"""Checks of plain values: meshes, lists of their axes, lists of factors, steps of propagation edges.

Not here: which lists an attribute has (`verify_sharding.py`, `verify_collectives.py`).

>>> mesh = Mesh((MeshAxis("x", 4),))
>>> check_axis_list((AxisRef("x"), AxisRef("x")), AxisUses(mesh))
Traceback (most recent call last):
...
shardy_py.mlir.dialects.faults.Fault: duplicate axis ref: "x"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.sharding import AxisRef, EdgeValueRef, Mesh, MeshAxis, PropagationStep


def check_mesh_axis(axis: MeshAxis) -> None:
    """An axis has at least one device."""
    if axis.size <= 0:
        raise Fault(f"axis size must be at least 1, got: {axis.size}")


def check_mesh(mesh: Mesh) -> None:
    """A mesh, in this order:

    - no device id is negative
    - without axes there is at most one device id; names of axes are unique
    - device ids, where given, are as many as the axes have devices, each of 0, 1, 2, ... once
    """
    for device in mesh.device_ids:
        if device < 0:
            raise Fault(f"device id must be non-negative, got: {device}")
    if not mesh.axes and len(mesh.device_ids) > 1:
        raise Fault("axes is empty and device_ids has more than one element")
    names: set[str] = set()
    for axis in mesh.axes:
        if axis.name in names:
            raise Fault(f'duplicate axis name: "{axis.name}"')
        names.add(axis.name)
    if mesh.axes and mesh.device_ids:
        _check_device_ids(mesh.device_ids, mesh.device_count)


def _check_device_ids(ids: tuple[int, ...], count: int) -> None:
    if len(ids) != count:
        raise Fault(
            f"total product of axis sizes must match total number of device ids, got: {count} != {len(ids)}"
        )
    ordered = tuple(sorted(ids))
    if ordered != tuple(range(count)):
        raise Fault(f"sorted device ids must be iota(product(axes)), got: {', '.join(map(str, ordered))}")
    if ids == ordered:
        raise Fault(
            "if the ordered device ids are the same as iota(product(axes)), no need to specify them for "
            "simplicity"
        )


@dataclass
class AxisUses:
    """The axes that one attribute has named so far.

    sub_axes: by name of axis, in the order of their first mention.
    """

    mesh: Mesh
    seen: set[AxisRef] = field(default_factory=set[AxisRef])
    sub_axes: dict[str, list[AxisRef]] = field(default_factory=dict[str, list[AxisRef]])


def check_axis_list(axes: Sequence[AxisRef], uses: AxisUses) -> None:
    """A list of axes, behind those of the same attribute that `uses` knows:

    - the mesh has each of them; none is named twice
    - no two neighbours are sub-axes that could be merged
    """
    previous: AxisRef | None = None
    for axis in axes:
        if axis.name not in uses.mesh.sizes:
            raise Fault(f'unknown axis name: "{axis.name}"')
        if axis in uses.seen:
            raise Fault(f"duplicate axis ref: {axis}")
        uses.seen.add(axis)
        if axis.sub_axis is not None:
            uses.sub_axes.setdefault(axis.name, []).append(axis)
            if previous is not None and previous.can_merge(axis):
                raise Fault(f"two consecutive sub-axes can be merged: {previous}, {axis}")
        previous = axis


def check_sorted_axis_list(axes: Sequence[AxisRef], uses: AxisUses, what: str) -> None:
    """A list as in `check_axis_list` whose axes are in the order of the mesh."""
    if any(_comes_before(b, a, uses.mesh) for a, b in pairwise(axes)):
        raise Fault(f"{what} axes are not ordered w.r.t. mesh")
    check_axis_list(axes, uses)


def _comes_before(first: AxisRef, second: AxisRef, mesh: Mesh) -> bool:
    if first.name == second.name:
        return first.order < second.order
    unknown = len(mesh.axes)
    return mesh.order.get(first.name, unknown) < mesh.order.get(second.name, unknown)


def check_sub_axes(uses: AxisUses) -> None:
    """All sub-axes that `uses` knows, axis by axis, the major ones first:

    - the axis is not also used whole
    - a pre-size is at least 1, a size at least 2; both together divide the axis, and are not all of it
    - no two overlap
    """
    for name, sub_axes in uses.sub_axes.items():
        if AxisRef(name) in uses.seen:
            raise Fault(f'both sub-axis and full-axis are used for axis name: "{name}"')
        previous: AxisRef | None = None
        for axis in sorted(sub_axes, key=lambda a: a.order):
            _check_sub_axis(axis, previous, uses.mesh.sizes[name])
            previous = axis


def _check_sub_axis(axis: AxisRef, previous: AxisRef | None, full_size: int) -> None:
    sub = axis.sub_axis
    assert sub is not None
    if sub.pre_size < 1:
        raise Fault(f"sub-axis pre-size must be at least 1: {axis}")
    if sub.size <= 1:
        raise Fault(f"sub-axis sizes must be greater than 1: {axis}")
    if full_size % sub.next_pre_size:
        whole = f"the size of the full axis {full_size}"
        raise Fault(f"sub-axis next pre-size {sub.next_pre_size} doesn't divide {whole}: {axis}")
    if sub.size == full_size:
        raise Fault(f"sub-axis size is equal to the full axis size: {axis}")
    before = previous.sub_axis if previous is not None else None
    if before is not None and before.next_pre_size > sub.pre_size:
        raise Fault(f"overlapping sub-axes: {previous}, {axis}")


_KINDS = ("reduction", "need_replication", "permutation")


def check_factor_lists(listed: Mapping[str, Sequence[int]], factor_count: int) -> None:
    """The lists behind a sharding rule's factors (`reduction={i}`):

    - each is sorted, names no factor twice and only factors there are
    - none but `blocked_propagation` names a factor that another names
    """
    for name in _KINDS:
        _check_factor_list(listed[name], factor_count)
    kinds = [index for name in _KINDS for index in listed[name]]
    if len(set(kinds)) != len(kinds):
        raise Fault(
            "a factor can only be in one of the reduction, need replication, or permutation factor sets"
        )
    _check_factor_list(listed["blocked_propagation"], factor_count)


def _check_factor_list(indices: Sequence[int], factor_count: int) -> None:
    if any(a > b for a, b in pairwise(indices)):
        raise Fault("indices of special factors must be sorted")
    if len(set(indices)) != len(indices):
        raise Fault("indices of special factors must be unique")
    if indices and indices[-1] >= factor_count:
        raise Fault(f"index must be less than {factor_count}, got: {indices[-1]}")


def check_steps(steps: Sequence[PropagationStep]) -> None:
    """Propagation edges in themselves, step by step:

    - the index of a step is not negative, and no other step has it
    - an edge does not lead to where it comes from, nor twice to the same value
    """
    indices: set[int] = set()
    for step in steps:
        if step.index < 0:
            raise Fault(f"propagation edges have negative step index: {step.index}")
        if step.index in indices:
            raise Fault(f"propagation edges have duplicate step index: {step.index}")
        indices.add(step.index)
        for edge in step.edges:
            targets: set[EdgeValueRef] = set()
            for target in edge.targets:
                if target == edge.source:
                    raise Fault("propagation edges have a source that is the same as a target")
                if target in targets:
                    where = f"step index: {step.index} and axis: {edge.axis.name}"
                    raise Fault(f"propagation edges have duplicate targets for {where}")
                targets.add(target)
