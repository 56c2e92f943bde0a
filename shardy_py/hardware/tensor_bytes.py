"""The bytes of one tensor: global, on each device, and on each device with the padding of its layout.

`json_fields` shows them, and other fields of report values, in JSON.

Not here: the tensors of a program (`summary.py`, `memory/`), which of them are alive at a time.

>>> from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 4),))
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)), DimensionSharding()))
>>> tensor_size(TensorType((40, 100), "f32"), sharding, {"mesh": mesh}, "tpu").bytes
TensorBytes(global_bytes=16000, local_bytes=4000, padded_bytes=8192)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import Cost
from shardy_py.indexing.layout import layout_bytes
from shardy_py.indexing.layout.formats import Target
from shardy_py.ops.record import TensorType
from shardy_py.sharding import TensorSharding, local_shape
from shardy_py.sharding.meshes import Meshes, mesh_of


@dataclass(frozen=True, slots=True)
class TensorBytes:
    """Bytes of one tensor or of several.

    global_bytes: of the whole tensor, unpadded.
    local_bytes: of the largest shard, unpadded.
    padded_bytes: of the largest shard in the layout of the target.
    """

    global_bytes: int = 0
    local_bytes: int = 0
    padded_bytes: int = 0

    def __add__(self, other: TensorBytes) -> TensorBytes:
        whole, local = self.global_bytes + other.global_bytes, self.local_bytes + other.local_bytes
        return TensorBytes(whole, local, self.padded_bytes + other.padded_bytes)

    @property
    def waste(self) -> float:
        """The share of padding on each device, 0 to 1; 0 if there are no bytes."""
        return 1 - self.local_bytes / self.padded_bytes if self.padded_bytes else 0.0


@dataclass(frozen=True, slots=True)
class TensorSize:
    """The size of a shard; `problem`: the reason why its bytes are not counted, "" if they are."""

    local_shape: tuple[int | None, ...]
    bytes: TensorBytes
    problem: str = ""


def tensor_size(
    tensor: TensorType, sharding: TensorSharding | None, meshes: Meshes, target: Target
) -> TensorSize:
    """Returns the size of a tensor whose dynamic dimensions are given by their bounds, None if unbounded.

    Raises:
        ShardyError: the sharding does not fit the tensor, or there is no mesh of its name.
    """
    shape = tensor.shape
    if sharding is not None:
        shape = local_shape(sharding, mesh_of(sharding, meshes), shape)
    static_sizes = tuple(size for size in shape if size is not None)
    if len(static_sizes) < len(shape):
        return TensorSize(shape, TensorBytes(), "a dynamic dimension without a bound")
    try:
        local = layout_bytes(tensor.element, static_sizes, target)
        whole = layout_bytes(tensor.element, tuple(size or 0 for size in tensor.shape), target)
    except ShardyError as error:
        return TensorSize(shape, TensorBytes(), error.first.message)
    return TensorSize(shape, TensorBytes(whole.unpadded, local.unpadded, local.padded))


_MERGED: dict[type, Callable[[Any], JsonObject]] = {
    Cost: asdict,
    TensorBytes: asdict,
    TensorType: lambda type_: {"shape": list(type_.shape), "element_type": type_.element},
}


def json_fields(value: Any, *names: str) -> JsonObject:
    """Returns the fields of a dataclass in order, or those of these names, as JSON values.

    >>> json_fields(TensorSize((8, 2), TensorBytes(64, 64, 64), "none"))["padded_bytes"]
    64
    """
    found: JsonObject = {}
    for name in names or (field.name for field in fields(value)):
        item = getattr(value, name)
        if type(item) in _MERGED:
            found |= _MERGED[type(item)](item)
        else:
            found[name] = str(item) if isinstance(item, TensorSharding) else item
    return found
