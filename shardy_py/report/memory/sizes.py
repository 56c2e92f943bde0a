"""The bytes of one tensor: whole, on each device, and on each device with the padding of its layout.

Not here: which tensors there are (`collect.py`), which of them live at a time (`liveness.py`).

>>> from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 4),))
>>> sharding = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)), DimensionSharding()))
>>> tensor_size(TensorType((40, 100), "f32"), sharding, {"mesh": mesh}, "tpu").bytes
Bytes(global_bytes=16000, local_bytes=4000, padded_bytes=8192)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from shardy_py.errors import ShardyError
from shardy_py.layout import layout_bytes
from shardy_py.ops.record import TensorType
from shardy_py.sharding import TensorSharding, local_shape
from shardy_py.sharding.meshes import Meshes, resolve

Target = Literal["tpu", "linear"]
TARGETS: tuple[Target, ...] = get_args(Target)


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of one tensor or of several.

    global_bytes: of the whole tensor, unpadded.
    local_bytes: what each device holds of it, unpadded; every device counts as the one that holds most.
    padded_bytes: the same in the layout of the target.
    """

    global_bytes: int = 0
    local_bytes: int = 0
    padded_bytes: int = 0

    def __add__(self, other: Bytes) -> Bytes:
        return Bytes(
            self.global_bytes + other.global_bytes,
            self.local_bytes + other.local_bytes,
            self.padded_bytes + other.padded_bytes,
        )

    @property
    def wasted_bytes(self) -> int:
        """The padding on each device."""
        return self.padded_bytes - self.local_bytes

    @property
    def waste(self) -> float:
        """The share of padding in what each device holds, 0 to 1; 0 for nothing."""
        return self.wasted_bytes / self.padded_bytes if self.padded_bytes else 0.0


@dataclass(frozen=True, slots=True)
class TensorSize:
    """What a device holds of a tensor; `problem` says why its bytes count as none, "" if they count."""

    local_shape: tuple[int | None, ...]
    bytes: Bytes
    problem: str = ""


def tensor_size(
    tensor: TensorType, sharding: TensorSharding | None, meshes: Meshes, target: Target
) -> TensorSize:
    """The size of a tensor; its sizes are bounds where they are dynamic, None where they have none.

    meshes: what the names of meshes stand for.

    Raises:
        ShardyError: the sharding does not fit the tensor, or there is no mesh of its name.
    """
    shape = tensor.shape if sharding is None else _local_shape(tensor, sharding, meshes)
    known = tuple(size for size in shape if size is not None)
    if len(known) < len(shape):
        return TensorSize(shape, Bytes(), "a dynamic dimension without a bound")
    try:
        local = layout_bytes(tensor.element, known, target)
        whole = layout_bytes(tensor.element, tuple(size or 0 for size in tensor.shape), target)
    except ShardyError as error:
        return TensorSize(shape, Bytes(), error.diagnostics[0].message)
    return TensorSize(shape, Bytes(whole.unpadded, local.unpadded, local.padded))


def _local_shape(tensor: TensorType, sharding: TensorSharding, meshes: Meshes) -> tuple[int | None, ...]:
    try:
        mesh = resolve(sharding.mesh, meshes)
    except KeyError:
        raise ShardyError(f"the module has no mesh @{sharding.mesh}, which a sharding names") from None
    return local_shape(sharding, mesh, tensor.shape)
