"""The tensors of a program as nodes show them: types with axes, local shapes, bytes on a device, copies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.value_table import ValueTable
from shardy_py.ops.record import TensorType
from shardy_py.report.local_shapes import LocalValue, local_values
from shardy_py.report.tables import bytes_text
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True, slots=True)
class ShownTensor:
    """A tensor on the devices of its mesh.

    text: its global type with the axes of each dimension. local_shape, sharding: as text, "" if it has none.
    local_bytes: of the largest shard; None: of a dynamic size. copies: the devices that hold each element;
    None if a size is dynamic. devices: of its mesh.
    """

    text: str
    local_shape: str
    sharding: str
    local_bytes: int | None
    copies: int | None
    devices: int

    def attributes(self) -> Mapping[str, str]:
        """Returns what is shown of it, by label; `shape` is what Model Explorer shows on edges."""
        size = "unknown" if self.local_bytes is None else bytes_text(self.local_bytes)
        copies = "" if self.copies is None else f"{self.copies} of {self.devices} devices"
        rows = {
            "shape": self.text,
            "sharding": self.sharding or "none",
            "local shape": self.local_shape,
            "bytes per device": size,
            "copies": copies,
        }
        return {key: value for key, value in rows.items() if value}


def tensors_of(table: ValueTable) -> dict[int, ShownTensor]:
    """Returns the ranked tensors of a program by their positions in the value table.

    Raises:
        ShardyError: a sharding does not fit its value.
    """
    numbers = {id(entry): number for number, entry in enumerate(table.entries)}
    return {numbers[id(value.entry)]: _tensor(value) for value in local_values(table.module, table)}


def _tensor(value: LocalValue) -> ShownTensor:
    return _measured(value.type, value.sharding, value.local_shape, value.copies, value.mesh.device_count)


@SESSION.cache(4096)
def _measured(
    type_: TensorType,
    sharding: TensorSharding | None,
    local_shape: tuple[int | None, ...],
    copies: int | None,
    devices: int,
) -> ShownTensor:
    local = [size for size in local_shape if size is not None]
    is_static = len(local) == len(local_shape)
    size = -(-prod(local) * element_type(type_.element).bits // 8) if is_static else None
    text = str(sharding) if sharding else ""
    return ShownTensor(
        type_with_axes(type_, sharding),
        _brackets(type_.element, map(_size, local_shape)),
        text,
        size,
        copies,
        devices,
    )


def type_with_axes(type_: TensorType, sharding: TensorSharding | None) -> str:
    """Returns the global type of a tensor with the axes of each dimension: `f32[8@data,4@model]`."""
    dimensions = sharding.dimensions if sharding else ()
    axes = ["".join(f"@{axis}".replace('"', "") for axis in d.axes) for d in dimensions]
    axes += [""] * (len(type_.shape) - len(axes))
    sizes = (f"{_size(size)}{names}" for size, names in zip(type_.shape, axes, strict=True))
    return _brackets(type_.element, sizes)


def _size(size: int | None) -> str:
    return "?" if size is None else str(size)


def _brackets(element: str, sizes: Iterable[str]) -> str:
    return f"{element}[{','.join(sizes)}]"
