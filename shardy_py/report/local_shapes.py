"""The shards of every tensor of a program: local shapes, slices of the global tensor, tables.

Inside a manual computation types are local along its manual axes already, and shardings contain free axes
only. Arguments and returned values of its body are parts of global tensors, first sharded by `in_shardings`
and `out_shardings`: their slices are those of the global tensor. Any other value there is a separate tensor
for each position along the manual axes (`is_global` is False), and its slices are those of that tensor.

Not here: the arithmetic (`sharding/slices.py`), manual computations (`surroundings.py`), one sharding in
words and pictures (`view.py`), bytes and liveness (`memory/`).

    for value in local_values(module):
        print(value.name, value.local_shape, value.slices.of(3))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.ops.record import TensorType
from shardy_py.report.surroundings import RegionScope, Surroundings, within
from shardy_py.report.tables import table, type_text
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding, device_slices, local_shape
from shardy_py.sharding.meshes import mesh_of

_NOT_GLOBAL = "* slice of the local tensor in a manual computation; the program has no global tensor for it"


@dataclass(frozen=True, slots=True, eq=False)
class LocalValue:
    """One tensor of a program and the parts of it that devices hold.

    entry: its names and location.
    type: as in the program: global, but local along `manual_axes`.
    sharding: None if there is none: every device holds the whole tensor.
    mesh: of the sharding; without one, of the manual computation around or the only mesh of the module, else
        the empty mesh.
    local_shape: the shape that each device allocates, None for a dynamic size.
    slices: the parts that devices hold; None if a size is dynamic.
    manual_axes: those of the manual computations around it.
    is_global: whether `slices` are of the global tensor; else of the tensor of `type`, which differs along
        `manual_axes`.
    """

    entry: ValueEntry
    type: TensorType
    sharding: TensorSharding | None
    mesh: Mesh
    local_shape: tuple[int | None, ...]
    slices: DeviceSlices | None
    manual_axes: tuple[str, ...] = ()
    is_global: bool = True

    @property
    def name(self) -> str:
        """`%3`, `%arg0`, `result 0`; `@f:%3` in functions other than main."""
        return str(self.entry)

    @property
    def copies(self) -> int | None:
        """The number of devices that hold each element; None if a size is dynamic."""
        if self.slices is None or self.is_global:
            return self.slices and self.slices.replication
        return self.slices.replication // prod(self.mesh.sizes.get(axis, 1) for axis in self.manual_axes)


def local_values(module: ModuleOp, values: ValueTable | None = None) -> tuple[LocalValue, ...]:
    """Returns every ranked tensor of a program, in program order, with the parts that devices hold.

    values: those of the module, if they are collected already.

    Raises:
        ShardyError: a sharding does not fit its value, or the module has no mesh of its name.
    """
    return tuple(_Localizer(module).localize(values or ValueTable(module)))


def local_shapes_text(values: Iterable[LocalValue], device_id: int | None = None) -> str:
    """Returns a table with a row a value: the shape that each device allocates, the copies of each element.

    device_id: also show the slice that this device holds.

    Raises:
        ShardyError: a mesh of the program has no such device.
    """
    listed = tuple(values)
    held = ("value", "type", "sharding", "each device", "copies", f"device {device_id}")
    rows: list[tuple[str, ...]] = [held if device_id is not None else held[:-1]]
    for value in listed:
        element, copies = value.type.element, "?" if value.copies is None else str(value.copies)
        types = (
            type_text(value.type.shape, element),
            str(value.sharding or "-"),
            type_text(value.local_shape, element),
        )
        last = () if device_id is None else (_held_text(value, device_id),)
        rows.append((value.name, *types, copies, *last))
    has_local = device_id is not None and not all(value.is_global for value in listed)
    return table(rows) + (f"\n{_NOT_GLOBAL}" if has_local else "")


def local_shapes_data(values: Iterable[LocalValue]) -> list[JsonObject]:
    """Returns the same as dictionaries for JSON; None where a size is dynamic."""
    return [
        {
            "value": value.name,
            "label": value.entry.label,
            "type": type_text(value.type.shape, value.type.element),
            "sharding": str(value.sharding) if value.sharding else None,
            "local_shape": list(value.local_shape),
            "global_shape": list(value.slices.shape) if value.slices and value.is_global else None,
            "parts": list(value.slices.parts) if value.slices else None,
            "copies": value.copies,
            "manual_axes": list(value.manual_axes),
        }
        for value in values
    ]


def _held_text(value: LocalValue, device_id: int) -> str:
    if value.slices is None:
        return "?"
    held = value.slices.of(device_id)
    return "nothing" if held is None else f"{held}{'' if value.is_global else '*'}"


_Layout = tuple[TensorType, Mesh, tuple[int | None, ...], DeviceSlices | None]
"""The part of a `LocalValue` that depends on type, sharding and mesh only."""


class _Localizer:
    def __init__(self, module: ModuleOp) -> None:
        self._meshes = Symbols(module).meshes()
        self._reader = ShardingReader()
        self._layouts: dict[tuple[int, int, int], tuple[_Layout | None, object]] = {}
        with_axes = [mesh for mesh in self._meshes.values() if mesh.axes]
        self._default_mesh = with_axes[0] if len(with_axes) == 1 else Mesh()
        self._surroundings = Surroundings(module, self._meshes)

    def localize(self, values: ValueTable) -> Iterator[LocalValue]:
        for entry in values.entries:
            scope = self._surroundings.of(entry)
            if scope.is_program:
                sharding = self._reader.of(entry.value) if entry.value is not None else entry.sharding
                try:
                    layout = self._layout(entry.type, sharding, scope)
                except ShardyError as error:
                    raise ShardyError(f"{entry}: {error.first.message}") from error
                if layout is not None:
                    yield self._local_value(entry, sharding, layout, scope.manual_axes)

    def _local_value(
        self, entry: ValueEntry, sharding: TensorSharding | None, layout: _Layout, axes: tuple[str, ...]
    ) -> LocalValue:
        type_, mesh, shape, slices = layout
        outer = self._surroundings.outer(entry.value) if axes and entry.value is not None else None
        whole = within(slices, outer) if slices is not None and outer is not None else None
        is_global = not axes or whole is not None
        return LocalValue(entry, type_, sharding, mesh, shape, whole or slices, axes, is_global)

    def _layout(
        self, type_: Attribute, sharding: TensorSharding | None, scope: RegionScope
    ) -> _Layout | None:
        key = (id(type_), id(sharding), id(scope.mesh))
        entry = self._layouts.get(key)
        if entry is None:
            kept_alive = (type_, sharding, scope)
            entry = self._layouts[key] = (self._new_layout(type_, sharding, scope), kept_alive)
        return entry[0]

    def _new_layout(
        self, type_: Attribute, sharding: TensorSharding | None, scope: RegionScope
    ) -> _Layout | None:
        tensor = tensor_type(type_)
        if tensor is None:
            return None
        if sharding is None:
            mesh = scope.mesh or self._default_mesh
            sharding = TensorSharding.fully_open(mesh, 0 if mesh.is_maximal else tensor.rank)
        else:
            mesh = mesh_of(sharding, self._meshes)
        slices = device_slices(sharding, mesh, tensor.shape) if None not in tensor.shape else None
        return tensor, mesh, local_shape(sharding, mesh, tensor.shape), slices
