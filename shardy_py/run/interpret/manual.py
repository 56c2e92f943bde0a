"""Manual computations: the region runs on every device of the mesh, on its part of each operand.

Parts are taken along manual axes only; along free axes the region sees whole dimensions. Around the region
there is one logical device, or, inside of another manual computation, the devices that it runs on.

Of operands that are unreduced along manual axes, one device has the value and others zeros; such results are
combined.

Not here: how dimensions are split (`sharding/slices.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

import numpy as np
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ManualComputationOp
from shardy_py.mlir.typed import of_kind
from shardy_py.ops import COMBINERS, REDUCTIONS
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.lanes import in_lanes
from shardy_py.reshard.device_groups import replica_groups
from shardy_py.reshard.process_grid import Grid, check_devices
from shardy_py.run.interpret.build import Builder, NestedRegion
from shardy_py.run.interpret.control import region_once
from shardy_py.run.interpret.machine import Devices, Run, World
from shardy_py.run.interpret.values import Lanes, Value
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.slices import device_slices
from shardy_py.sharding.tensor_sharding import without_free_axes


@dataclass(frozen=True, eq=False)
class TensorParts:
    """The parts of one tensor on the devices, by device id.

    shape: of the whole tensor. counts, sizes: of the parts of each dimension. index: [dimension][device], the
    device's part.
    """

    shape: tuple[int, ...]
    counts: tuple[int, ...]
    sizes: tuple[int, ...]
    index: tuple[Lanes, ...]

    @staticmethod
    def of(sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...]) -> TensorParts:
        """Returns the parts of a tensor of that shape."""
        slices = device_slices(sharding, mesh, shape)
        sizes, counts = slices.local_shape, slices.parts
        positions = [mesh.position_of(device) or 0 for device in range(mesh.device_count)]
        index = np.array([slices.part_at(position) for position in positions], np.intp)
        columns = index.reshape(len(positions), len(shape)).T
        return TensorParts(shape, counts, sizes, tuple(columns))

    def taken(self, array: Array, devices: int) -> Array:
        """Returns each device's part of an array with one lane, or one for each device."""
        if all(count == 1 for count in self.counts):
            return array
        padding = [
            (0, count * size - whole)
            for count, size, whole in zip(self.counts, self.sizes, self.shape, strict=True)
        ]
        if any(after for _, after in padding):
            array = np.pad(array, [(0, 0), *padding])
        pairs = [n for pair in zip(self.counts, self.sizes, strict=True) for n in pair]
        split = array.reshape(len(array), *pairs)
        order = (0, *range(1, len(pairs), 2), *range(2, len(pairs) + 1, 2))
        lanes = np.zeros(devices, np.intp) if len(array) == 1 else np.arange(devices)
        return split.transpose(order)[(lanes, *self.index)]

    def put_together(self, array: Array, sources: Lanes) -> Array:
        """Returns whole arrays, one for each row of `sources`: the devices that hold each part, row-major."""
        rank = len(self.shape)
        if all(count == 1 for count in self.counts):
            return array if len(array) == 1 else array[sources[:, 0]]
        found = in_lanes(array, max(len(array), int(sources.max()) + 1))[sources]
        parts = found.reshape(len(sources), *self.counts, *self.sizes)
        order = (0, *(axis for d in range(rank) for axis in (1 + d, 1 + rank + d)))
        whole = [count * size for count, size in zip(self.counts, self.sizes, strict=True)]
        made = parts.transpose(order).reshape(len(sources), *whole)
        return made[(slice(None), *(slice(0, size) for size in self.shape))]

    def sources(self, groups: Lanes) -> Lanes:
        """Returns for each group of devices, and each part, the first device of the group that holds it."""
        number = np.zeros(len(groups), np.intp)
        for count, index in zip(self.counts, self.index, strict=True):
            number = number * count + index
        table = np.zeros((int(groups.max()) + 1, prod(self.counts)), np.intp)
        for device in range(len(groups) - 1, -1, -1):
            table[groups[device], number[device]] = device
        return table


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one tensor that is unreduced along manual axes.

    groups: [groups, size], the devices that hold the terms of one element; None: the tensor is not unreduced.
    reduction: as in shardings.
    """

    groups: Lanes | None
    reduction: str

    @staticmethod
    def of(sharding: TensorSharding, mesh: Mesh, axes: tuple[str, ...]) -> Terms:
        """Returns the terms along those of the axes that a tensor is unreduced along."""
        own = tuple(axis for axis in sharding.unreduced_axes if axis.name in axes)
        return Terms(replica_groups(mesh, own) if own else None, sharding.reduction)

    def of_whole(self, array: Array) -> Array:
        """Returns the terms of the parts of a tensor: of a sum, the first has all, the others zeros."""
        if self.groups is None or self.reduction != REDUCTIONS[0]:
            return array
        made = in_lanes(array, self.groups.size).copy()
        made[self.groups[:, 1:].ravel()] = 0
        return made

    def combined(self, array: Array) -> Array:
        """Returns what the terms on the devices are terms of, on each of them."""
        if self.groups is None:
            return array
        ufunc = current().ufunc(COMBINERS[self.reduction].ufunc)
        terms = in_lanes(array, self.groups.size)
        made = terms.copy()
        made[self.groups] = ufunc.reduce(terms[self.groups], 1).astype(array.dtype)[:, None]
        return made


def manual_computation(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Shardy's `sdy.manual_computation`."""
    own = of_kind(op, ManualComputationOp)
    axes: tuple[str, ...] = tuple(own.manual_axes.data)
    inputs: Sequence[TensorSharding] = own.in_shardings.data
    outputs: Sequence[TensorSharding] = own.out_shardings.data
    if not axes or not (*inputs, *outputs):
        return region_once(builder, op, regions)
    mesh = builder.symbols.mesh((*inputs, *outputs)[0].mesh)
    assert mesh is not None
    check_devices(mesh.device_count)
    (body,) = regions
    count, size = len(op.operands), mesh.device_count
    parts = lru_cache(maxsize=256)(TensorParts.of)
    others = _groups_beside(mesh, axes)
    given, taken = ([Terms.of(sharding, mesh, axes) for sharding in side] for side in (inputs, outputs))

    def run(devices: Devices, operands: list[Value]) -> list[Value]:
        within = replace(devices, manual_axes=(*devices.manual_axes, *axes))
        if devices.world.grid.size == 1:
            within = Devices(devices.machine, World(Grid(1, size)), np.arange(size), axes)
            groups = np.zeros(size, np.intp)
        elif devices.world.grid == Grid(1, size) and devices.count == size and devices.world.is_manual:
            groups = others
        else:
            raise ShardyError("runs as part of one logical device; run the program without devices")
        local = [
            terms.of_whole(parts(without_free_axes(sharding, axes), mesh, array.shape[1:]).taken(array, size))
            for sharding, terms, array in zip(inputs, given, operands[:count], strict=True)
        ]
        operands[:count] = [None] * count
        results: list[Value] = []
        bodies = body(within, local, operands)
        for result, sharding, terms, array in zip(op.results, outputs, taken, bodies, strict=True):
            shape = of_kind(result.type, ShapedType).get_shape()
            whole = parts(without_free_axes(sharding, axes), mesh, shape)
            sources = whole.sources(groups)
            made = whole.put_together(terms.combined(array), sources)
            results.append(made if len(groups) == 1 or len(made) == 1 else made[groups])
        return results

    return run


def _groups_beside(mesh: Mesh, axes: tuple[str, ...]) -> Lanes:
    """For each device, the number of its group: those with the same coordinates along other axes."""
    number = np.zeros(mesh.device_count, np.intp)
    position = np.array([mesh.position_of(device) or 0 for device in range(mesh.device_count)])
    stride = mesh.device_count
    for axis in mesh.axes:
        stride //= axis.size
        if axis.name not in axes:
            number = number * axis.size + position // stride % axis.size
    return number
