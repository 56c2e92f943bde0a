"""The share of a program that is sharded, by axis, and the bytes that each device holds.

    print(summary_of(module))

Arguments and results are those of the public functions; every other function argument and every op result is
an intermediate. Block arguments and terminators only pass values on and are not counted.

>>> from shardy_py.sharding import DimensionSharding, Mesh, MeshAxis
>>> x = DimensionSharding((AxisRef("x"),), is_closed=True)
>>> value = ReportedValue(TensorType((10, 3), "bf16"), TensorSharding("mesh", (x, DimensionSharding())))
>>> summarize([value], {"mesh": Mesh((MeshAxis("x", 4),))}).bytes["intermediates"]
GroupBytes(count=1, global_bytes=60, local_bytes=18)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.base.records import dataclass
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops.record import TensorType
from shardy_py.report.tables import bytes_text, meshes_text, table
from shardy_py.sharding import AxisRef, TensorSharding
from shardy_py.sharding.meshes import Meshes

ValueGroup = Literal["arguments", "results", "intermediates"]
GROUPS: tuple[ValueGroup, ...] = ("arguments", "results", "intermediates")


@dataclass(frozen=True, slots=True)
class ReportedValue:
    """One tensor of the program; without a sharding it is replicated."""

    type: TensorType
    sharding: TensorSharding | None = None
    group: ValueGroup = "intermediates"

    @property
    def axes(self) -> tuple[AxisRef, ...]:
        """All axes that shard it, dimension by dimension."""
        dimensions = self.sharding.dimensions if self.sharding else ()
        return tuple(axis for dimension in dimensions for axis in dimension.axes)


@dataclass(frozen=True, slots=True)
class GroupBytes:
    """The number of values in a group, their global bytes, and the bytes on each device, with padding."""

    count: int
    global_bytes: int
    local_bytes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of a program; as text, tables of meshes, values, axes and bytes.

    sharded, replicated, scalars: numbers of values; they add up to all of them.
    by_axis: the number of values sharded along each axis or a sub-axis of it; largest first.
    dynamic: values with a dynamic dimension, whose bytes are not counted.
    """

    meshes: Meshes
    sharded: int
    replicated: int
    scalars: int
    by_axis: tuple[tuple[str, int], ...]
    bytes: Mapping[ValueGroup, GroupBytes]
    dynamic: int = 0

    @property
    def values(self) -> int:
        """The number of all values."""
        return self.sharded + self.replicated + self.scalars

    def __str__(self) -> str:
        tables = (table(rows) for rows in (self._value_rows(), self._axis_rows(), self._byte_rows()))
        note = "Intermediates are the results of all ops; they are not all alive at the same time."
        dynamic = f"{self.dynamic} values have dynamic dimensions; their bytes are not counted."
        parts = (meshes_text(self.meshes), *tables, note, dynamic if self.dynamic else "")
        return "\n\n".join(filter(None, parts))

    def _value_rows(self) -> Iterator[tuple[str, ...]]:
        yield "values", "count", "share"
        for name in ("sharded", "replicated", "scalars"):
            count: int = getattr(self, name)
            yield name, f"{count:,}", _share(count, self.values)
        yield "all", f"{self.values:,}", ""

    def _axis_rows(self) -> Iterator[tuple[str, ...]]:
        yield "sharded along", "size", "count", "share"
        sizes = {axis.name: axis.size for mesh in self.meshes.values() for axis in mesh.axes}
        for name, count in (dict.fromkeys((*dict(self.by_axis), *sizes), 0) | dict(self.by_axis)).items():
            yield f'"{name}"', str(sizes.get(name, "")), f"{count:,}", _share(count, self.values)

    def _byte_rows(self) -> Iterator[tuple[str, ...]]:
        yield "bytes", "values", "global", "each device", "share"
        for group, row in self.bytes.items():
            share = _share(row.local_bytes, row.global_bytes)
            yield group, f"{row.count:,}", bytes_text(row.global_bytes), bytes_text(row.local_bytes), share


def summary_of(module: ModuleOp) -> Summary:
    """Returns the summary of a module."""
    return summarize(collect_values(module), Symbols(module).meshes())


def summarize(values: Iterable[ReportedValue], meshes: Meshes) -> Summary:
    """Returns the counts over all values."""
    counts = Counter(values)
    by_axis: Counter[str] = Counter()
    for value, count in counts.items():
        by_axis.update(dict.fromkeys((axis.name for axis in value.axes), count))
    scalars = sum(count for value, count in counts.items() if value.type.rank == 0)
    sharded = sum(count for value, count in counts.items() if value.axes)
    return Summary(
        meshes=meshes,
        sharded=sharded,
        replicated=counts.total() - scalars - sharded,
        scalars=scalars,
        by_axis=tuple(by_axis.most_common()),
        bytes={group: _bytes(counts, group, meshes) for group in GROUPS},
        dynamic=sum(count for value, count in counts.items() if None in value.type.shape),
    )


def collect_values(module: ModuleOp) -> Iterator[ReportedValue]:
    """Returns every ranked tensor of the module, in program order."""
    reader = ShardingReader()
    for op in walk_pre_order(module):
        if isinstance(op, FuncOp):
            yield from _function_values(op)
        for result in op.results:
            yield from _value(result.type, reader.of(result), "intermediates")


def _function_values(function: FuncOp) -> Iterator[ReportedValue]:
    types = function.function_type
    is_public = function.sym_visibility is None or function.sym_visibility.data == "public"
    arguments = attribute_list_shardings(function.arg_attrs) or (None,) * len(types.inputs)
    for type_, sharding in zip(types.inputs, arguments, strict=True):
        yield from _value(type_, sharding, "arguments" if is_public else "intermediates")
    if is_public:  # those of private functions are results of the ops inside
        results = attribute_list_shardings(function.res_attrs) or (None,) * len(types.outputs)
        for type_, sharding in zip(types.outputs, results, strict=True):
            yield from _value(type_, sharding, "results")


def _value(type_: Attribute, sharding: TensorSharding | None, group: ValueGroup) -> Iterator[ReportedValue]:
    tensor = tensor_type(type_)
    if tensor is not None:
        yield ReportedValue(tensor, sharding, group)


def _bytes(counts: Counter[ReportedValue], group: ValueGroup, meshes: Meshes) -> GroupBytes:
    number = whole = local = 0
    for value, count in counts.items():
        if value.group == group:
            size = tensor_size(value.type, value.sharding, meshes, "linear").bytes
            number, whole = number + count, whole + count * size.global_bytes
            local += count * size.local_bytes
    return GroupBytes(number, whole, local)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
