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
    for axis in placement.axes:
        if axis not in found:
            raise unknown_axis(axis, dict.fromkeys(found), what="place of the hardware")
    return tuple(found.values())
