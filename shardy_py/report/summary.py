"""How much was sharded, over which axes, and what a device then holds: counts over plain values.

Not here: where the values come from (`collect.py`), how the counts are shown (`tables.py`).

>>> from shardy_py.sharding import DimensionSharding, Mesh, MeshAxis
>>> x = DimensionSharding((AxisRef("x"),), is_closed=True)
>>> value = ReportedValue(TensorType((10, 3), "bf16"), TensorSharding("mesh", (x, DimensionSharding())))
>>> local_shape(value, {"mesh": Mesh((MeshAxis("x", 4),))})
(3, 3)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from shardy_py.layout import element_type
from shardy_py.ops.record import TensorType
from shardy_py.sharding import AxisRef, TensorSharding, local
from shardy_py.sharding.meshes import Meshes, mesh_of

Role = Literal["arguments", "results", "intermediates"]
ROLES: tuple[Role, ...] = ("arguments", "results", "intermediates")


@dataclass(frozen=True, slots=True)
class ReportedValue:
    """One tensor of the program; sharding None means nobody decided one, so it is replicated."""

    type: TensorType
    sharding: TensorSharding | None = None
    role: Role = "intermediates"

    @property
    def axes(self) -> tuple[AxisRef, ...]:
        """All axes that shard it, dimension by dimension."""
        dimensions = self.sharding.dimensions if self.sharding else ()
        return tuple(axis for dimension in dimensions for axis in dimension.axes)


@dataclass(frozen=True, slots=True)
class Bytes:
    """The values of one role: how many, their bytes in all, and those on each device."""

    count: int
    global_bytes: int
    local_bytes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What was decided.

    sharded, replicated, scalars: numbers of values; they add up to all of them.
    by_axis: values sharded over each axis, in whole or in part; most used first.
    bytes: by role.
    dynamic: values with a dynamic dimension, which count as no bytes.
    """

    sharded: int
    replicated: int
    scalars: int
    by_axis: tuple[tuple[str, int], ...]
    bytes: Mapping[Role, Bytes]
    dynamic: int = 0

    @property
    def values(self) -> int:
        """The number of all values."""
        return self.sharded + self.replicated + self.scalars


def summarize(values: Iterable[ReportedValue], meshes: Meshes) -> Summary:
    """The counts over all values."""
    listed = tuple(values)
    scalars = sum(value.type.rank == 0 for value in listed)
    sharded = sum(bool(value.axes) for value in listed)
    by_axis = Counter(name for value in listed for name in dict.fromkeys(axis.name for axis in value.axes))
    return Summary(
        sharded=sharded,
        replicated=len(listed) - scalars - sharded,
        scalars=scalars,
        by_axis=tuple(by_axis.most_common()),
        bytes={role: _bytes([v for v in listed if v.role == role], meshes) for role in ROLES},
        dynamic=sum(None in value.type.shape for value in listed),
    )


def local_shape(value: ReportedValue, meshes: Meshes) -> tuple[int | None, ...]:
    """The shape that each device allocates for a value; padding counts (see `sharding/local.py`)."""
    sharding = value.sharding
    if sharding is None:
        return value.type.shape
    return local.local_shape(sharding, mesh_of(sharding, meshes), value.type.shape)


def size_bytes(shape: tuple[int | None, ...], element: str) -> int:
    """The bytes of a dense tensor; 0 if a size is not known.

    `i1` takes a byte; narrower types than a byte are packed, the tensor rounded up to whole bytes.
    """
    if None in shape:
        return 0
    return -(-prod(size for size in shape if size is not None) * element_type(element).bits // 8)


def _bytes(values: list[ReportedValue], meshes: Meshes) -> Bytes:
    return Bytes(
        count=len(values),
        global_bytes=sum(size_bytes(v.type.shape, v.type.element) for v in values),
        local_bytes=sum(size_bytes(local_shape(v, meshes), v.type.element) for v in values),
    )
