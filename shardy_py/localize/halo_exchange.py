"""Inserts the ops of exchanges between neighbours: permutes, buffers, dynamic slices, in manual computations.

Which elements go where is decided in `localize/arithmetic/halo.py`; which op needs what in
`permutation_factors.py` and the files beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.localize.arithmetic.halo import Exchange, shifted_pairs
from shardy_py.localize.arithmetic.windows import Start
from shardy_py.localize.device_ids import (
    DeviceCounts,
    DeviceTables,
    device_id,
    shard_index,
    table_entry,
)
from shardy_py.mlir import ir
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, element_of, resized, shape_of
from shardy_py.reshard.device_groups import shard_indices
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.axis_lists import Axes, total_size
from shardy_py.sharding.slices import axis_stride
from shardy_py.sharding.tensor_sharding import without_manual_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DeviceNumbers:
    """The numbers of devices and of channels, for ops that name devices.

    channels: numbers that are not in use. counts: the grid of processes. tables: of pairs of devices.
    """

    channels: Iterator[int]
    counts: DeviceCounts
    tables: DeviceTables = field(default_factory=DeviceTables)


@dataclass(frozen=True, slots=True)
class Manual:
    """Axes of a mesh that become manual, by name, in the order of the mesh."""

    mesh: Mesh
    names: tuple[str, ...]

    @staticmethod
    def of(mesh: Mesh, axes: Axes, shardings: Sequence[TensorSharding]) -> Manual:
        """The axes, and those of dimensions of `shardings` that have one of them, or sub-axes of it."""
        names = {axis.name for axis in axes}
        lists = [{a.name for a in d.axes} for sharding in shardings for d in sharding.dimensions]
        while any(found & names and not found <= names for found in lists):
            names = names.union(*(found for found in lists if found & names))
        return Manual(mesh, tuple(axis.name for axis in mesh.axes if axis.name in names))

    def inner(self, sharding: TensorSharding) -> TensorSharding:
        """The sharding in the body of a value with this sharding."""
        return without_manual_axes(sharding, self.names)

    def local_shape(self, sharding: TensorSharding, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape in the body of a value."""
        return tuple(-(-size // n) for size, n in zip(shape, self._parts(sharding), strict=True))

    def even_shape(self, sharding: TensorSharding, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes rounded up to multiples of the numbers of parts along manual axes."""
        return tuple(-(-size // n) * n for size, n in zip(shape, self._parts(sharding), strict=True))

    def _parts(self, sharding: TensorSharding) -> list[int]:
        return [
            total_size([axis for axis in dimension.axes if axis.name in self.names], self.mesh)
            for dimension in sharding.dimensions
        ]


Tensor = tuple[Value, TensorSharding]
Body = Callable[["LocalBuilder", list[Value]], Sequence[Value]]


def manual_computation(
    op: Operation,
    manual: Manual,
    devices: DeviceNumbers,
    operands: Sequence[Tensor],
    results: Sequence[tuple[Attribute, TensorSharding]],
    body: Body,
) -> Sequence[Value]:
    """Inserts a manual computation before `op`; `body` gets a builder within it and its arguments.

    operands: with shardings whose manual axes divide the sizes. results: types and shardings, likewise.
    """
    block = Block()
    types = [resized(value, manual.local_shape(sharding, shape_of(value))) for value, sharding in operands]
    arguments = ir.append_arguments(block, [(type_, op.location) for type_ in types])
    end = ir.build_operation(sdy.ReturnOp, (), (), {}, {}, op.location, block)
    properties: dict[str, Attribute] = {
        "in_shardings": sdy.TensorShardingPerValueAttr(tuple(sharding for _, sharding in operands)),
        "out_shardings": sdy.TensorShardingPerValueAttr(tuple(sharding for _, sharding in results)),
        "manual_axes": sdy.ManualAxesAttr(manual.names),
    }
    values = [value for value, _ in operands]
    outer = [type_ for type_, _ in results]
    computation = ir.build_operation(
        sdy.ManualComputationOp, values, outer, properties, {}, op.location, None, (Region(block),)
    )
    ir.place_before(computation, op)
    inner = LocalBuilder(end, manual, devices, operands[0][1])
    ir.attach_operands(end, body(inner, list(arguments)))
    return computation.results


class LocalBuilder:
    """Inserts ops of a manual computation, on parts of a tensor.

    sharding: of that tensor, outside. `build` inserts ops with the sharding inside, `plain` ones without.
    """

    def __init__(
        self, before: Operation, manual: Manual, devices: DeviceNumbers, sharding: TensorSharding
    ) -> None:
        self.manual = manual
        self.devices = devices
        self.sharding = sharding
        self.plain = StablehloBuilder(before)
        self.build = StablehloBuilder(before, manual.inner(sharding))
        self._parts: dict[Axes, Value] = {}

    @property
    def mesh(self) -> Mesh:
        """The mesh of the manual axes."""
        return self.manual.mesh

    def build_for(self, sharding: TensorSharding) -> StablehloBuilder:
        """A builder of ops on parts of a tensor with another sharding outside."""
        return StablehloBuilder(self.plain.anchor, self.manual.inner(sharding))

    def part(self, axes: Axes) -> Value:
        """The position of the device along `axes`, computed once."""
        known = self._parts.get(axes)
        if known is None:
            known = shard_index(self.plain, self.mesh, axes, self.devices.counts, table=False)
            self._parts[axes] = known
        return known

    def linear(self, axes: Axes, slope: int, base: int) -> Value:
        """The position of the device along `axes`, times `slope`, plus `base`."""
        value = self.part(axes)
        if slope != 1:
            value = self.plain.binary("multiply", value, self.plain.integer(slope))
        return self.plain.binary("add", value, self.plain.integer(base)) if base else value

    def start(self, axes: Axes, start: Start) -> Value:
        """A position that depends on that of the device along `axes`."""
        if start.table:
            found = self.plain.dynamic_slice(self.plain.integers(start.table), [self.part(axes)], [1])
            return self.plain.reshape(found, ())
        value, by = self.linear(axes, start.slope, start.base), start.rounded
        if by is None:
            return value
        steps = self.linear(axes, by.step, by.shift)
        steps = self.plain.binary("divide", steps, self.plain.integer(by.divisor))
        if by.scale != 1:
            steps = self.plain.binary("multiply", steps, self.plain.integer(by.scale))
        return self.plain.binary("add", value, steps)

    def permute(self, value: Value, pairs: NDArray[np.int64], build: StablehloBuilder | None = None) -> Value:
        """Sends values from the first device of each pair to the second; others get zeros."""
        has_channel = self.devices.counts.has_channels
        channel = {"handle": next(self.devices.channels), "type": 1} if has_channel else None
        table = self.devices.tables.of(pairs)
        return (build or self.plain).one(
            "collective_permute", (value,), value.type, source_target_pairs=table, channel_handle=channel
        )

    def exchange(self, value: Value, exchange: Exchange, dimension: int, axes: Axes, padding: Value) -> Value:
        """The elements that a part reads along one dimension, as Shardy exchanges them.

        Shardy's permutes have no sharding, which is right only if other axes do not shard the part as well.
        """
        is_whole = self.manual.inner(self.sharding).is_fully_replicated
        permutes = self.plain if is_whole or self.devices.counts.is_narrow else self.build
        counts, pieces = self.devices.counts, list[Value]()
        part = spelled_out_index(self.plain, self.mesh, axes, counts) if counts.is_narrow else None
        for piece in exchange.pieces:
            pairs = shifted_pairs(self.mesh, axes, -piece.hop)
            received = self.permute(value, pairs, permutes) if piece.hop and len(pairs) else value
            if part is not None and piece.hop:
                received = self._where_received(received, piece.hop, axes, part, padding)
            pieces.append(received)
        shape = list(shape_of(value))
        shape[dimension] *= len(pieces)
        buffer = self.build.one("concatenate", pieces, resized(value, shape), dimension=dimension)
        edge, interior = ([0] * len(shape) for _ in range(2))
        edge[dimension], interior[dimension] = exchange.edge, exchange.interior
        buffer = self.build.pad(buffer, padding, edge, edge, interior)
        part = spelled_out_index(self.plain, self.mesh, axes, counts) if part is None else part
        if exchange.offsets:
            offset = self._entry(exchange.offsets, part)
            zero = self.plain.integer(0, counts.integer)
        else:
            slope, base = (self.plain.integer(n, counts.integer) for n in (exchange.slope, exchange.base))
            offset = self.plain.binary("add", self.plain.binary("multiply", part, slope), base)
            zero = self.plain.integer(0, counts.integer)
            offset = self.plain.binary("maximum", offset, zero)
        return cut(self.build, buffer, dimension, offset, exchange.size, zero)

    def _where_received(self, value: Value, hop: int, axes: Axes, part: Value, padding: Value) -> Value:
        """`value` in parts that have a part `hop` behind them (negative: before them); else padding."""
        plain, limit = self.plain, -hop if hop < 0 else total_size(axes, self.mesh) - hop
        bound = plain.integer(limit, self.devices.counts.integer)
        exists = plain.compare("GE" if hop < 0 else "LT", part, bound)
        filler = plain.broadcast(padding, shape_of(value))
        return plain.select(plain.broadcast(exists, shape_of(value)), value, filler)

    def _entry(self, table: Sequence[int], index: Value) -> Value:
        found = self.plain.dynamic_slice(
            self.plain.integers(table, self.devices.counts.integer), [index], [1]
        )
        return self.plain.reshape(found, ())


def cut(
    build: StablehloBuilder, value: Value, dimension: int, offset: Value, size: int, zero: Value
) -> Value:
    """`size` elements along one dimension from an offset on; all along the others."""
    sizes = list(shape_of(value))
    sizes[dimension] = size
    offsets = [zero] * len(sizes)
    offsets[dimension] = offset
    return build.dynamic_slice(value, offsets, sizes)


def spelled_out_index(build: StablehloBuilder, mesh: Mesh, axes: Axes, counts: DeviceCounts) -> Value:
    """The position of the device along `axes`, with a division and a remainder an axis, as in Shardy."""
    if mesh.device_ids:
        return table_entry(build, shard_indices(mesh, axes), counts)
    device = device_id(build, counts)
    integer = partial(build.integer, element=counts.integer)
    index: Value | None = None
    for axis in axes:
        size, stride = axis.size(mesh), axis_stride(mesh, axis)
        digit = device
        if stride > 1:
            digit = build.binary("divide", digit, integer(stride))
        if size < mesh.device_count:
            digit = build.binary("remainder", digit, integer(size))
        if index is not None:
            digit = build.binary("add", build.binary("multiply", index, integer(size)), digit)
        index = digit
    return integer(0) if index is None else index


def zero_of(build: StablehloBuilder, value: Value) -> Value:
    """The scalar 0 of the element type of `value`."""
    element = element_of(value)
    return build.zero(element)
