"""Meshes: named axes with sizes over devices.

Not here: parsing and printing of `#sdy.mesh` (see `dialects/sdy`), references into axes (`axes.py`).

>>> str(Mesh((MeshAxis("data", 4), MeshAxis("tensor", 2))))
'<["data"=4, "tensor"=2]>'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod
from operator import index
from typing import SupportsIndex

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.sharding.spelling import string_literal


@dataclass(frozen=True, slots=True)
class MeshAxis:
    """A named axis of `size` devices; size >= 1."""

    name: str
    size: int

    def __str__(self) -> str:
        return f"{string_literal(self.name)}={self.size}"


def _lacking(size: object) -> str:
    """Returns what is expected instead of the size of an axis; "" for a valid one."""
    expected = "a number of devices"
    try:
        if isinstance(size, SupportsIndex):
            expected = "at least 1 device" if index(size) < 1 else ""
    except TypeError:  # arrays and classes have the method, too
        pass
    return expected


def _not_by_name(given: object) -> ShardyError:
    """The error for a mesh that is not made of sizes by the names of axes."""
    got = " ".join(repr(given).split())[:200]
    remedy = "Mesh.of(data=4, model=2) makes one"
    if hasattr(given, "ndim"):
        remedy += "; numbers of devices are its device_ids="
    return ShardyError.unexpected("mesh", expected="sizes by axis", got=got, remedy=remedy)


@dataclass(frozen=True)
class Mesh:
    """An n-dimensional grid of devices.

    axes: major to minor. Empty: a maximal mesh if there is one device id, else the empty mesh.
    device_ids: row-major over the axes; empty: 0, 1, 2, ... (iota).
    """

    axes: tuple[MeshAxis, ...] = ()
    device_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if type(self.axes) is not tuple or (self.axes and type(self.axes[0]) is not MeshAxis):
            raise _not_by_name(self.axes)
        if type(self.device_ids) is not tuple:
            remedy = "Mesh.of(data=2, device_ids=[1, 0]) takes any numbers"
            got, expected = repr(self.device_ids), "a tuple of numbers"
            raise ShardyError.unexpected("device_ids", expected=expected, got=got, remedy=remedy)

    @staticmethod
    def of(
        sizes: Mapping[str, int] | None = None, *others: object, device_ids: Iterable[int] = (), **axes: int
    ) -> Mesh:
        """The mesh of axes of these sizes, major to minor.

        >>> str(Mesh.of(data=4, model=2))
        '<["data"=4, "model"=2]>'

        Raises ShardyError if a size is below 1, or the device ids are not 0, 1, 2, ... in some order.
        """
        if others or not isinstance(sizes, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _not_by_name((sizes, *others) if others else sizes)
        named = {**(sizes or {}), **axes}
        for name, size in named.items():
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ShardyError.unexpected("name of an axis", expected="text", got=repr(name))
            if expected := _lacking(size):
                raise ShardyError.unexpected(f'axis "{name}" of a mesh', expected=expected, got=repr(size))
        try:
            ids = tuple(map(index, device_ids))
        except TypeError:
            got = repr(device_ids)
            raise ShardyError.unexpected("device_ids", expected="numbers of devices", got=got) from None
        mesh = Mesh(tuple(MeshAxis(name, index(size)) for name, size in named.items()), ids)
        count = mesh.device_count
        if ids and not mesh.is_maximal and (len(ids) != count or sorted(ids) != list(range(count))):
            got = str([*ids]) if len(ids) <= 16 else f"{len(ids)} numbers"
            expected = f"0 to {count - 1} in some order"
            raise ShardyError.unexpected("device_ids", expected=expected, got=got)
        return mesh

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
        """Returns whether it is one given device."""
        return not self.axes and len(self.device_ids) == 1

    @property
    def maximal_device_id(self) -> int | None:
        """The device of a maximal mesh."""
        return self.device_ids[0] if self.is_maximal else None

    def position_of(self, device_id: int) -> int | None:
        """The position of a device in the mesh, row-major over the axes; None if it is not in the mesh."""
        if self.device_ids:
            return self._positions.get(device_id)
        return device_id if 0 <= device_id < self.device_count else None

    @cached_property
    def _positions(self) -> dict[int, int]:
        return dict(zip(self.device_ids, range(len(self.device_ids)), strict=True))

    def __str__(self) -> str:
        if self.is_maximal:
            return f"<[], device_ids=[{self.device_ids[0]}]>"
        ids = f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else ""
        return f"<[{', '.join(map(str, self.axes))}]{ids}>"
