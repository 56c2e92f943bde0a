"""What every device holds of every tensor of a program: local shapes, and slices of the global tensor.

Inside a manual computation types are local along its manual axes already; shardings speak of the free axes
alone. Arguments of its body and what it returns are parts of global tensors, cut first as `in_shardings` and
`out_shardings` say: their slices are those of the global tensor. Any other value there is a tensor of its own
for each place along the manual axes (`is_global` is False), and its slices are parts of that tensor.

Not here: the arithmetic (`sharding/local.py`), what is manual where (`surroundings.py`), tables
(`local_tables.py`), bytes and liveness (`memory/`).

    for value in local_values(module):
        print(value.name, value.local_shape, value.slices.of(3))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from shardy_py.errors import ShardyError
from shardy_py.graph.holders import attribute_list_shardings
from shardy_py.graph.sharding_reader import ShardingReader
from shardy_py.graph.value_table import ValueEntry, ValueTable
from shardy_py.ops import record
from shardy_py.report.collect import module_meshes
from shardy_py.report.surroundings import Around, Surroundings, find_mesh, tensor_type, within
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding, device_slices, local_shape
from shardy_py.sharding.meshes import Meshes


@dataclass(frozen=True, slots=True, eq=False)
class LocalValue:
    """One tensor of a program and what devices hold of it.

    entry: its names, and where it stands.
    type: as in the program: global, but local along `manual_axes`.
    sharding: None if nobody decided one: every device holds the tensor whole.
    mesh: that of the sharding; without one, that of the manual computation around or the only one of the
        module, else the empty mesh.
    local_shape: what a device allocates, None for a dynamic size.
    slices: the parts that devices hold; None if a size is dynamic.
    manual_axes: bound by manual computations around it.
    is_global: whether `slices` are of the global tensor; else of the tensor of `type`, which differs along
        `manual_axes` in a way that the program does not tell.
    """

    entry: ValueEntry
    type: record.TensorType
    sharding: TensorSharding | None
    mesh: Mesh
    local_shape: tuple[int | None, ...]
    slices: DeviceSlices | None
    manual_axes: tuple[str, ...] = ()
    is_global: bool = True

    @property
    def name(self) -> str:
        """`%3`, `%arg0`, `result 0`; `@f:%3` in another function than main."""
        return str(self.entry)

    @property
    def copies(self) -> int | None:
        """How many devices hold each element; None if a size is dynamic."""
        if self.slices is None or self.is_global:
            return self.slices and self.slices.replication
        return self.slices.replication // prod(self.mesh.sizes.get(axis, 1) for axis in self.manual_axes)


def local_values(module: ModuleOp, table: ValueTable | None = None) -> tuple[LocalValue, ...]:
    """Every ranked tensor of a program, in program order, with what devices hold of it.

    table: the names of the values, if there are some already.

    Raises:
        ShardyError: a sharding does not fit its value, or the module has no mesh of its name.
    """
    return tuple(_Localizer(module).localize(table or ValueTable(module)))


@dataclass(frozen=True, slots=True)
class _Placed:
    """The part of a `LocalValue` that depends on type, sharding and surroundings alone."""

    type: record.TensorType
    mesh: Mesh
    local_shape: tuple[int | None, ...]
    slices: DeviceSlices | None


class _Localizer:
    def __init__(self, module: ModuleOp) -> None:
        self._meshes: Meshes = module_meshes(module)
        self._reader = ShardingReader()
        self._placed: dict[tuple[int, int, int], tuple[_Placed, object]] = {}
        self._results: dict[int, tuple[TensorSharding | None, ...]] = {}
        self._only_mesh = _only_mesh(self._meshes)
        self._surroundings = Surroundings(module, self._meshes)

    def localize(self, table: ValueTable) -> Iterator[LocalValue]:
        """All values of the table that are tensors of the program."""
        for entry in table.entries:
            if isinstance(entry.type, TensorType):
                value = entry.value
                if value is not None:
                    around = self._surroundings.around(value)
                else:
                    around = self._surroundings.around_results(entry.op)
                if around.is_program:
                    yield self._localized(entry, around)

    def _localized(self, entry: ValueEntry, around: Around) -> LocalValue:
        sharding = self._reader.of(entry.value) if entry.value is not None else self._of_result(entry)
        try:
            placed = self._place(entry.type, sharding, around)
        except ShardyError as error:
            raise ShardyError(f"{entry}: {error.diagnostics[0].message}") from error
        slices, axes = placed.slices, around.manual_axes
        outer = self._surroundings.outer(entry.value) if axes and entry.value is not None else None
        whole = within(slices, outer) if slices is not None and outer is not None else None
        is_global = not axes or whole is not None
        shape = placed.local_shape
        return LocalValue(entry, placed.type, sharding, placed.mesh, shape, whole or slices, axes, is_global)

    def _of_result(self, entry: ValueEntry) -> TensorSharding | None:
        function = entry.op
        if id(function) not in self._results:
            self._results[id(function)] = attribute_list_shardings(function.properties.get("res_attrs"))
        shardings = self._results[id(function)]
        return shardings[entry.index] if shardings else None

    def _place(self, type_: Attribute, sharding: TensorSharding | None, around: Around) -> _Placed:
        key = (id(type_), id(sharding), id(around.mesh))
        known = self._placed.get(key)
        if known is None:
            kept_alive = (type_, sharding, around)
            known = self._placed[key] = (self._new_place(type_, sharding, around), kept_alive)
        return known[0]

    def _new_place(self, type_: Attribute, sharding: TensorSharding | None, around: Around) -> _Placed:
        tensor = tensor_type(cast("TensorType[Any]", type_))
        shape = tensor.shape
        if sharding is None:
            mesh = around.mesh or self._only_mesh
            sharding = TensorSharding.fully_open(mesh, 0 if mesh.is_maximal else tensor.rank)
        else:
            mesh = find_mesh(sharding, self._meshes)
        slices = device_slices(sharding, mesh, shape) if None not in shape else None
        return _Placed(tensor, mesh, local_shape(sharding, mesh, shape), slices)


def _only_mesh(meshes: Meshes) -> Mesh:
    """The mesh of a module that has no other; the empty one if there are several."""
    found = [mesh for mesh in meshes.values() if mesh.axes]
    return found[0] if len(found) == 1 else Mesh()
