"""The links that the axes of meshes lie on. Not here: where they lie (`hardware/`), costs (`cost.py`)."""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.hardware import AxisLink, AxisPlacement
from shardy_py.sharding import Mesh
from shardy_py.sharding.spelling import unknown_axis


def axis_links(placement: AxisPlacement, meshes: Iterable[Mesh]) -> tuple[AxisLink, ...]:
    """Returns the links of the axes of meshes; of equal names those of the first mesh.

    Raises:
        ShardyError: the placement is of an axis that no mesh has, or an axis does not fit.
    """
    found: dict[str, AxisLink] = {}
    for mesh in meshes:
        for each in placement.links(mesh):
            found.setdefault(each.axis, each)
    _require_axes(placement, found)
    return tuple(found.values())


def require_placed_axes(placement: AxisPlacement, meshes: Iterable[Mesh]) -> None:
    """Raises `ShardyError` for a placement of an axis that no mesh has."""
    _require_axes(placement, (axis for mesh in meshes for axis in mesh.sizes))


def _require_axes(placement: AxisPlacement, known: Iterable[str]) -> None:
    names = dict.fromkeys(known)
    for axis in placement.axes:
        if axis not in names:
            raise unknown_axis(axis, names, what="place of the hardware")
