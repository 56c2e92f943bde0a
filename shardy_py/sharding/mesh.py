"""Meshes: named axes with sizes over devices.

Not here: parsing and printing of `#sdy.mesh` (see `dialects/sdy`), references into axes (`axes.py`).

>>> str(Mesh((MeshAxis("data", 4), MeshAxis("tensor", 2))))
'<["data"=4, "tensor"=2]>'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """A named axis of `size` devices; size >= 1."""

    name: str
    size: int

    def __str__(self) -> str:
        """As MLIR spells it."""
        return f'"{self.name}"={self.size}'


@dataclass(frozen=True)
class Mesh:
    """An n-dimensional grid of devices.

    axes: major to minor; empty with one device id: a maximal mesh (everything on that device); empty
        without: the empty mesh.
    device_ids: row-major over the axes; empty means 0, 1, 2, ... (iota).
    """

    axes: tuple[MeshAxis, ...] = ()
    device_ids: tuple[int, ...] = ()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Size by axis name."""
        return {axis.name: axis.size for axis in self.axes}

    @cached_property
    def order(self) -> dict[str, int]:
        """Position in the mesh by axis name, the major-most 0."""
        return {axis.name: index for index, axis in enumerate(self.axes)}

    @property
    def device_count(self) -> int:
        """The number of devices: the product of the axis sizes."""
        return prod(axis.size for axis in self.axes)

    @property
    def is_maximal(self) -> bool:
        """Whether everything lies on one given device."""
        return not self.axes and len(self.device_ids) == 1

    @property
    def maximal_device_id(self) -> int | None:
        """The device of a maximal mesh."""
        return self.device_ids[0] if self.is_maximal else None

    def __str__(self) -> str:
        """As MLIR spells it."""
        if self.is_maximal:
            return f"<[], device_ids=[{self.device_ids[0]}]>"
        ids = f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else ""
        return f"<[{', '.join(map(str, self.axes))}]{ids}>"
