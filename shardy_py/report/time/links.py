"""The links that the axes of a mesh lie on, by default those of the hardware's network.

Axes are placed minor to major: those that fit in the network are along it, others go beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.hardware import Hardware, Link
from shardy_py.partition.cost import CostModel
from shardy_py.sharding import Mesh


def links_of(hardware: Hardware, meshes: Iterable[Mesh]) -> CostModel:
    """Returns the costs of links along the axes of meshes."""
    by_axis: dict[str, Link] = {}
    for mesh in meshes:
        devices = 1
        for axis in reversed(mesh.axes):
            devices *= axis.size
            if devices > hardware.network.devices:
                by_axis[axis.name] = hardware.beyond.link
    network = hardware.network.link
    return CostModel(hardware.name, network.link, by_axis, network.source)
