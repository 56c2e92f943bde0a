"""What every device holds of every tensor of a program: local shapes, and slices of the global tensor.

Inside a manual computation types are local along its manual axes already; shardings speak of the free axes
alone. Arguments of its body and what it returns are parts of global tensors, cut first as `in_shardings` and
`out_shardings` say: their slices are those of the global tensor. Any other value there is a tensor of its own
for each place along the manual axes (`is_global` is False), and its slices are parts of that tensor.

Not here: the arithmetic (`sharding/local.py`), tables (`local_tables.py`), bytes with layouts, liveness.

    for value in local_values(module):
        print(value.name, value.local_shape, value.slices.of(3))
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from shardy_py.errors import ShardyError
from shardy_py.graph.call_graph import calls_in, functions_top_down
from shardy_py.graph.calls import callee_name, function_name
from shardy_py.graph.holders import attribute_list_shardings, manual_axes
from shardy_py.graph.sharding_reader import ShardingReader
from shardy_py.graph.value_table import ValueEntry, ValueTable
from shardy_py.graph.walk import find_ops, terminator_of
from shardy_py.ops import record
from shardy_py.report.collect import module_meshes
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding, device_slices, local_shape
from shardy_py.sharding.manual_axes import without_free_axes
from shardy_py.sharding.meshes import Meshes, resolve

MANUAL = "sdy.manual_computation"
BODIES = frozenset(
    (
        "builtin.module",
        "func.func",
        "stablehlo.async_start",
        "stablehlo.case",
        "stablehlo.if",
        "stablehlo.while",
        "sdy.manual_computation",
        "sdy.named_computation",
    )
)
"""Ops whose regions are part of the program; those of other ops say how elements are combined."""


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
class _Surroundings:
    """What holds for all values of a block: whether it is part of the program, what is manual around it."""

    is_program: bool
    manual_axes: tuple[str, ...] = ()
    mesh: Mesh | None = None


@dataclass(frozen=True, slots=True)
class _Placed:
    """The part of a `LocalValue` that depends on type, sharding and surroundings alone."""

    type: record.TensorType
    mesh: Mesh
    local_shape: tuple[int | None, ...]
    slices: DeviceSlices | None


class _Localizer:
    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._meshes: Meshes = module_meshes(module)
        self._reader = ShardingReader()
        self._blocks: dict[int, _Surroundings] = {}
        self._placed: dict[tuple[int, int, int], tuple[_Placed, object]] = {}
        self._results: dict[int, tuple[TensorSharding | None, ...]] = {}
        manual = find_ops(module, MANUAL)
        self._bound = _axes_bound_by_callers(module) if manual else {}
        self._only_mesh = _only_mesh(self._meshes)
        self._outer: dict[int, DeviceSlices | None] = {}
        for op in manual:
            self._add_manual(op)

    def localize(self, table: ValueTable) -> Iterator[LocalValue]:
        """All values of the table that are tensors of the program."""
        for entry in table.entries:
            if isinstance(entry.type, TensorType):
                value = entry.value
                around = self._around(value) if value is not None else self._around_results(entry.op)
                if around.is_program:
                    yield self._localized(entry, around)

    def _localized(self, entry: ValueEntry, around: _Surroundings) -> LocalValue:
        sharding = self._reader.of(entry.value) if entry.value is not None else self._of_result(entry)
        try:
            placed = self._place(entry.type, sharding, around)
        except ShardyError as error:
            raise ShardyError(f"{entry}: {error.diagnostics[0].message}") from error
        slices, axes = placed.slices, around.manual_axes
        outer = self._outer.get(id(entry.value)) if axes else None
        whole = _within(slices, outer) if slices is not None and outer is not None else None
        is_global = not axes or whole is not None
        shape = placed.local_shape
        return LocalValue(entry, placed.type, sharding, placed.mesh, shape, whole or slices, axes, is_global)

    def _of_result(self, entry: ValueEntry) -> TensorSharding | None:
        function = entry.op
        if id(function) not in self._results:
            self._results[id(function)] = attribute_list_shardings(function.properties.get("res_attrs"))
        shardings = self._results[id(function)]
        return shardings[entry.index] if shardings else None

    def _place(self, type_: Attribute, sharding: TensorSharding | None, around: _Surroundings) -> _Placed:
        key = (id(type_), id(sharding), id(around.mesh))
        known = self._placed.get(key)
        if known is None:
            kept_alive = (type_, sharding, around)
            known = self._placed[key] = (self._new_place(type_, sharding, around), kept_alive)
        return known[0]

    def _new_place(self, type_: Attribute, sharding: TensorSharding | None, around: _Surroundings) -> _Placed:
        tensor = _tensor_type(cast("TensorType[Any]", type_))
        shape = tensor.shape
        if sharding is None:
            mesh = around.mesh or self._only_mesh
            sharding = TensorSharding.fully_open(mesh, 0 if mesh.is_maximal else tensor.rank)
        else:
            mesh = self._mesh(sharding)
        slices = device_slices(sharding, mesh, shape) if None not in shape else None
        return _Placed(tensor, mesh, local_shape(sharding, mesh, shape), slices)

    def _mesh(self, sharding: TensorSharding) -> Mesh:
        try:
            return resolve(sharding.mesh, self._meshes)
        except KeyError:
            known = ", ".join(f"@{name}" for name in self._meshes) or "none"
            raise ShardyError(
                f"the module has no mesh @{sharding.mesh}; expected one of its meshes: {known}"
            ) from None

    # ------------------------------------------------------------------ manual computations

    def _add_manual(self, op: Operation) -> None:
        """Notes how the arguments of the body, and what it returns, are cut out of global tensors."""
        axes = manual_axes(op)
        around, mesh = self._around_block(op.parent), self._manual_mesh(op) or Mesh()
        last = terminator_of(op.regions[0])
        returned = last._operands if last is not None else ()
        sides = (
            ("in_shardings", op._operands, op.regions[0].blocks[0].args),
            ("out_shardings", op.results, returned),
        )
        for name, outside, inside in sides:
            shardings = cast(Any, op.properties[name]).data
            for sharding, outer, inner in zip(shardings, outside, inside, strict=True):
                slices = self._manual_slices(sharding, mesh, outer, axes)
                if slices is not None and around.manual_axes:
                    further = self._outer.get(id(outer))
                    slices = _within(slices, further) if further is not None else None
                self._note(inner, slices)

    def _note(self, value: SSAValue, slices: DeviceSlices | None) -> None:
        """An argument keeps its slices; a value that is returned as parts of different tensors has none."""
        if id(value) not in self._outer:
            self._outer[id(value)] = slices
        elif not isinstance(value.owner, Block) and self._outer[id(value)] != slices:
            self._outer[id(value)] = None

    def _manual_slices(
        self, sharding: TensorSharding, mesh: Mesh, value: SSAValue, axes: tuple[str, ...]
    ) -> DeviceSlices | None:
        type_ = value._type
        if not isinstance(type_, TensorType):
            return None
        shape = _tensor_type(cast("TensorType[Any]", type_)).shape
        return device_slices(without_free_axes(sharding, axes), mesh, shape) if None not in shape else None

    def _manual_mesh(self, op: Operation) -> Mesh | None:
        """The mesh of a manual computation: the one of its shardings that are not on the empty mesh."""
        both = (cast(Any, op.properties[name]).data for name in ("in_shardings", "out_shardings"))
        meshes = [self._mesh(sharding) for shardings in both for sharding in shardings]
        return next((mesh for mesh in meshes if mesh.axes), None)

    # ------------------------------------------------------------------ surroundings

    def _around(self, value: SSAValue) -> _Surroundings:
        owner = value.owner
        return self._around_block(owner if isinstance(owner, Block) else owner.parent)

    def _around_results(self, function: Operation) -> _Surroundings:
        is_defined = function.regions[0].first_block is not None
        return _Surroundings(is_defined, self._bound.get(function_name(function), ()))

    def _around_block(self, block: Block | None) -> _Surroundings:
        if block is None:
            return _Surroundings(True)
        known = self._blocks.get(id(block))
        if known is None:
            known = self._blocks[id(block)] = self._new_surroundings(block)
        return known

    def _new_surroundings(self, block: Block) -> _Surroundings:
        op = block.parent_op()
        if op is None:
            return _Surroundings(True)
        outer = self._around_block(op.parent)
        if op.name not in BODIES or not outer.is_program:
            return _Surroundings(False)
        if op.name == "func.func":
            return self._around_results(op)
        if op.name == MANUAL:
            mesh = self._manual_mesh(op) or outer.mesh
            return _Surroundings(True, outer.manual_axes + manual_axes(op), mesh)
        return outer


def _tensor_type(type_: TensorType[Any]) -> record.TensorType:
    shape = tuple(None if size < 0 else size for size in type_.get_shape())
    return record.TensorType(shape, str(type_.element_type))


def _within(inner: DeviceSlices, outer: DeviceSlices) -> DeviceSlices | None:
    """`inner` as slices of the tensor of which `outer` gives each device a part; None: on another mesh."""
    if inner.mesh == Mesh():
        inner = replace(inner, mesh=outer.mesh)
    return inner.within(outer) if inner.mesh == outer.mesh else None


def _only_mesh(meshes: Meshes) -> Mesh:
    """The mesh of a module that has no other; the empty one if there are several."""
    found = [mesh for mesh in meshes.values() if mesh.axes]
    return found[0] if len(found) == 1 else Mesh()


def _axes_bound_by_callers(module: ModuleOp) -> dict[str, tuple[str, ...]]:
    """The manual axes that are bound where a function is called, by function."""
    bound: dict[str, tuple[str, ...]] = {}
    for function in functions_top_down(module):
        own = bound.get(function_name(function), ())
        for call in calls_in(function):
            axes = [*bound.get(callee_name(call), ()), *own]
            op = call.parent_op()
            while op is not None and op is not function:
                axes += manual_axes(op) if op.name == MANUAL else ()
                op = op.parent_op()
            bound[callee_name(call)] = tuple(dict.fromkeys(axes))
    return bound
