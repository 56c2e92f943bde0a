"""Verifiers of meshes and of lists of their axes; plain values in, messages out.

Not here: which lists an attribute has (`verify_sharding.py`, `verify_collectives.py`).

>>> mesh = Mesh((MeshAxis("x", 4),))
>>> [*axis_list_faults((AxisRef("x"), AxisRef("x")), AxisUses(mesh))]
['duplicate axis ref: "x"']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from shardy_py.sharding import AxisRef, Mesh, MeshAxis

Messages = Iterator[str]


def mesh_axis_faults(axis: MeshAxis) -> Messages:
    """An axis has at least one device."""
    if axis.size <= 0:
        yield f"axis size must be at least 1, got: {axis.size}"


def mesh_faults(mesh: Mesh) -> Messages:
    """A mesh, in this order:

    - no device id is negative
    - without axes there is at most one device id; names of axes are unique
    - device ids, where given, are as many as the axes have devices, each of 0, 1, 2, ... once
    """
    for device in mesh.device_ids:
        if device < 0:
            yield f"device id must be non-negative, got: {device}"
            return
    if not mesh.axes:
        if len(mesh.device_ids) > 1:
            yield "axes is empty and device_ids has more than one element"
        return
    names: set[str] = set()
    for axis in mesh.axes:
        if axis.name in names:
            yield f'duplicate axis name: "{axis.name}"'
            return
        names.add(axis.name)
    if mesh.device_ids:
        yield from _device_id_faults(mesh)


def _device_id_faults(mesh: Mesh) -> Messages:
    ids = mesh.device_ids
    if len(ids) != mesh.device_count:
        yield (
            "total product of axis sizes must match total number of device ids, got: "
            f"{mesh.device_count} != {len(ids)}"
        )
        return
    ordered = tuple(sorted(ids))
    if ordered != tuple(range(len(ids))):
        listed = ", ".join(map(str, ordered))
        yield f"sorted device ids must be iota(product(axes)), got: {listed}"
    elif ids == ordered:
        yield (
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


def axis_list_faults(axes: Sequence[AxisRef], uses: AxisUses) -> Messages:
    """A list of axes, behind those of the same attribute that `uses` knows:

    - the mesh has each of them; none is named twice
    - no two neighbours are sub-axes that could be merged
    """
    previous: AxisRef | None = None
    for axis in axes:
        if axis.name not in uses.mesh.sizes:
            yield f'unknown axis name: "{axis.name}"'
            return
        if axis in uses.seen:
            yield f"duplicate axis ref: {axis}"
            return
        uses.seen.add(axis)
        if axis.sub_axis is not None:
            uses.sub_axes.setdefault(axis.name, []).append(axis)
            if previous is not None and previous.can_merge(axis):
                yield f"two consecutive sub-axes can be merged: {previous}, {axis}"
                return
        previous = axis


def sorted_axis_list_faults(axes: Sequence[AxisRef], uses: AxisUses, what: str) -> Messages:
    """A list as in `axis_list_faults` whose axes are in the order of the mesh."""
    if any(_comes_before(b, a, uses.mesh) for a, b in pairwise(axes)):
        yield f"{what} axes are not ordered w.r.t. mesh"
        return
    yield from axis_list_faults(axes, uses)


def _comes_before(first: AxisRef, second: AxisRef, mesh: Mesh) -> bool:
    if first.name == second.name:
        return first.order < second.order
    unknown = len(mesh.axes)
    return mesh.order.get(first.name, unknown) < mesh.order.get(second.name, unknown)


def sub_axis_faults(uses: AxisUses) -> Messages:
    """All sub-axes that `uses` knows, axis by axis, the major ones first:

    - the axis is not also used whole
    - a pre-size is at least 1, a size at least 2; both together divide the axis, and are not all of it
    - no two overlap
    """
    for name, found in uses.sub_axes.items():
        if AxisRef(name) in uses.seen:
            yield f'both sub-axis and full-axis are used for axis name: "{name}"'
            return
        previous: AxisRef | None = None
        for axis in sorted(found, key=lambda a: a.order):
            fault = _sub_axis_fault(axis, previous, uses.mesh.sizes[name])
            if fault is not None:
                yield fault
                return
            previous = axis


def _sub_axis_fault(axis: AxisRef, previous: AxisRef | None, full_size: int) -> str | None:
    sub = axis.sub_axis
    assert sub is not None
    if sub.pre_size < 1:
        return f"sub-axis pre-size must be at least 1: {axis}"
    if sub.size <= 1:
        return f"sub-axis sizes must be greater than 1: {axis}"
    if full_size % sub.next_pre_size:
        whole = f"the size of the full axis {full_size}"
        return f"sub-axis next pre-size {sub.next_pre_size} doesn't divide {whole}: {axis}"
    if sub.size == full_size:
        return f"sub-axis size is equal to the full axis size: {axis}"
    if (
        previous is not None
        and previous.sub_axis is not None
        and previous.sub_axis.next_pre_size > sub.pre_size
    ):
        return f"overlapping sub-axes: {previous}, {axis}"
    return None


_KINDS = ("reduction", "need_replication", "permutation")


def factor_list_faults(listed: Mapping[str, Sequence[int]], factor_count: int) -> Messages:
    """The lists behind a sharding rule's factors (`reduction={i}`):

    - each is sorted, names no factor twice and only factors there are
    - none but `blocked_propagation` names a factor that another names
    """
    for name in _KINDS:
        yield from _factor_list_faults(listed[name], factor_count)
    kinds = [index for name in _KINDS for index in listed[name]]
    if len(set(kinds)) != len(kinds):
        yield ("a factor can only be in one of the reduction, need replication, or permutation factor sets")
    yield from _factor_list_faults(listed["blocked_propagation"], factor_count)


def _factor_list_faults(indices: Sequence[int], factor_count: int) -> Messages:
    if any(a > b for a, b in pairwise(indices)):
        yield "indices of special factors must be sorted"
    elif len(set(indices)) != len(indices):
        yield "indices of special factors must be unique"
    elif indices and indices[-1] >= factor_count:
        yield f"index must be less than {factor_count}, got: {indices[-1]}"
