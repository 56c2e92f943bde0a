"""The collectives of a module, each with its cost and cause.

Reshards have been replaced by collectives before (`sdy-reshard-to-collectives`); the record of the passes
holds the op that requires each. Not here: data that ops exchange themselves (`halos.py`), totals and text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import AxisSize, Cost, CostModel
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.ir import op_names, operands_of
from shardy_py.mlir.loops import run_counts
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.record import row_of_op
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.ops import CALL, TABLE, Collective, TensorType
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.halos import KIND as HALO
from shardy_py.report.communication.halos import Halo, Halos
from shardy_py.report.surroundings import manual_computations_around
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.meshes import is_single_device, mesh_of, resolve
from shardy_py.xla.spmd.device_groups import UNKNOWN_AXIS, axes_of_devices

if TYPE_CHECKING:
    from shardy_py.xla.targets.model import PassChange

_KINDS = {row.collective.kind for row in TABLE.values() if row.collective is not None}
SENDING_KINDS = tuple(sorted((_KINDS | {HALO}) - {"all_slice"}))
"""The kinds of collectives that send data."""
Axes = tuple[AxisSize, ...]


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """One collective of the program.

    kind: as in the op table. axes: along which data moves, with sizes; "?" where the program has no names.
    value: the name of its result, in `function`. source, target: shardings before and after.
    held_bytes: on each device before. cost: of one run; bytes are received by each device.
    times: how often it runs, with the trip counts of loops; is_estimate: a trip count is unknown and counts
        as its bound, or one. is_scattered: XLA makes a reduce_scatter of this all_reduce after its
        partitioner, as each device keeps its part only: the seconds are those.
    before: as compiled for a device, the collectives of the partitioner that it does the work of; changes:
        what passes made of these. exposed: why a device waits for it; "" if it may compute meanwhile, or it
        is not known.
    """

    kind: str
    axes: tuple[AxisSize, ...]
    value: str
    function: str
    type: TensorType
    source: TensorSharding | None
    target: TensorSharding | None
    held_bytes: int
    cost: Cost
    times: int
    is_estimate: bool
    cause: Cause
    is_scattered: bool = False
    before: tuple[CollectiveUse, ...] = ()
    changes: tuple[PassChange, ...] = ()
    exposed: str = ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Its cause, or those of all that it does the work of."""
        return tuple(dict.fromkeys(use.cause for use in self.before)) or (self.cause,)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of its axes; of a sub-axis that of its axis."""
        return tuple(name.partition(":(")[0] for name, _ in self.axes)

    @property
    def total(self) -> Cost:
        """The cost of all its runs."""
        return Cost(self.cost.bytes * self.times, self.cost.seconds * self.times)


def collect_collectives(
    module: ModuleOp,
    model: CostModel,
    causes: Causes,
    meshes: Mapping[str, Mesh],
    *,
    only_written: bool = False,
    table: ValueTable | None = None,
) -> tuple[CollectiveUse, ...]:
    """Returns all collectives of `module` in program order.

    meshes: by name. only_written: those of StableHLO only, which list devices. table: of the module, for
    those who have it.
    """
    if only_written and not _has_written(module, table):
        return ()
    collector = _CollectiveCollector(module, model, causes, meshes, table)
    return tuple(use for _, use in collector.collectives(only_written=only_written))


def _has_written(module: ModuleOp, table: ValueTable | None) -> bool:
    """Returns whether ops of a module may list their devices. table: of the module, for those who have it."""
    names = op_names(module) if table is None else {op_class.name for op_class in table.op_classes}
    return any(map(_is_written, names))


def _is_written(op_name: str) -> bool:
    """Returns whether ops of a name list their devices; custom calls may."""
    collective = TABLE[op_name].collective
    return op_name == CALL or (collective is not None and collective.names_devices)


def collectives_by_op(
    module: ModuleOp,
    model: CostModel,
    meshes: Mapping[str, Mesh],
    *,
    only_written: bool = False,
    table: ValueTable | None = None,
) -> dict[int, list[CollectiveUse]]:
    """Returns the collectives of each op by its identity, without their causes; as `collect_collectives`."""
    found: dict[int, list[CollectiveUse]] = {}
    if only_written and not _has_written(module, table):
        return found
    collector = _CollectiveCollector(module, model, Causes(()), meshes, table)
    for op, use in collector.collectives(only_written=only_written):
        found.setdefault(id(op), []).append(use)
    return found


class _CollectiveCollector:
    def __init__(
        self,
        module: ModuleOp,
        model: CostModel,
        causes: Causes,
        meshes: Mapping[str, Mesh],
        table: ValueTable | None = None,
    ) -> None:
        self.table = table or ValueTable(module)
        self.meshes = meshes
        self.model = model
        self.reader = ShardingReader()
        self.halos = Halos(self.meshes, self.reader)
        self.causes = causes
        self.runs = run_counts(module)

    def collectives(self, *, only_written: bool) -> Iterator[tuple[Operation, CollectiveUse]]:
        for entry in self.table.entries:
            if entry.role != "intermediate" or entry.index or entry.value not in entry.op.results:
                continue  # each op once, by its first result
            if only_written and not _is_written(entry.op.name):
                continue
            collective = row_of_op(entry.op).collective
            if only_written and collective is None:
                continue
            if collective is None:
                yield from ((entry.op, self._exchange(entry, halo)) for halo in self.halos.of(entry.op))
            elif tensor_type(operands_of(entry.op)[0].type) is not None:
                yield entry.op, self._collective(entry, collective)

    def _collective(self, entry: ValueEntry, collective: Collective) -> CollectiveUse:
        op, kind = entry.op, collective.kind
        value = operands_of(op)[0]
        sides = self.reader.of(value), self.reader.of(op.results[0])
        held = self._held_by_all(op) if collective.names_devices else self._held(value)
        axes = self._axes(op, collective, *sides)
        if kind == "all_slice":
            cost = Cost()
        elif kind != "reshard":
            cost = getattr(self.model, kind)(axes, held)
        elif any(is_single_device(sharding, self.meshes) for sharding in sides):
            cost = self._device_cost(op, axes, *sides)
        else:
            cost = self.model.collective_permute(axes, held)
        return self._use(entry, kind, value, axes, (held, cost), self.causes.of(op))

    def _exchange(self, entry: ValueEntry, halo: Halo) -> CollectiveUse:
        value = operands_of(entry.op)[halo.operand]
        cost = self.model.collective_permute(halo.axes, halo.bytes)
        cause = self.causes.of_halo(entry.op, halo.operand)
        return self._use(entry, HALO, value, halo.axes, (self._held(value), cost), cause)

    def _use(
        self, entry: ValueEntry, kind: str, value: SSAValue, axes: Axes, cost: tuple[int, Cost], cause: Cause
    ) -> CollectiveUse:
        type_ = tensor_type(value.type)
        assert type_ is not None
        times, is_known = self.runs(entry.op)
        tensor = type_, self.reader.of(value), self.reader.of(entry.op.results[0])
        return CollectiveUse(
            kind, axes, entry.name, entry.function, *tensor, *cost, times, not is_known, cause
        )

    def _held_by_all(self, op: Operation) -> int:
        """The bytes of the operands of a collective of StableHLO on each device.

        Of a ragged one the smaller of data and buffer: no more is sent, or received, on average.
        """
        sizes = [*map(self._held, operands_of(op))]
        return min(sizes[:2]) if op.name == CALL else sum(sizes)

    def _held(self, value: SSAValue) -> int:
        """Returns the bytes of a value on each device; 0 for tokens."""
        type_ = tensor_type(value.type)
        if type_ is None:
            return 0
        return tensor_size(type_, self.reader.of(value), self.meshes, "linear").bytes.local_bytes

    def _device_cost(
        self, op: Operation, axes: Axes, source: TensorSharding | None, target: TensorSharding | None
    ) -> Cost:
        """Returns the cost of a reshard to or from a single device."""
        is_from, is_to = (is_single_device(sharding, self.meshes) for sharding in (source, target))
        held = self._held(operands_of(op)[0])
        if is_from and is_to:
            return self.model.collective_permute(axes, held)
        spread = target if is_from else source
        if spread is None:  # every device has all of it
            return Cost()
        mesh = mesh_of(spread, self.meshes)
        sharded = _sized((axis for dimension in spread.dimensions for axis in dimension.axes), mesh)
        if is_to:
            return self.model.all_gather(sharded, held)
        rest = tuple((name, size // dict(sharded).get(name, 1)) for name, size in mesh.sizes.items())
        return self.model.from_one_device(sharded, rest, self._held(op.results[0]))

    def _meshes_around(self, op: Operation) -> Mapping[str, Mesh]:
        """Returns all meshes, that of the manual computation around an op first."""
        around = next(manual_computations_around(op.parent_op()), None)
        for value in () if around is None else (*around.results, *operands_of(around)):
            sharding = self.reader.of(value)
            if sharding is not None:
                return {"": mesh_of(sharding, self.meshes), **self.meshes}
        return self.meshes

    def _axes(
        self, op: Operation, row: Collective, source: TensorSharding | None, target: TensorSharding | None
    ) -> Axes:
        if row.names_devices:
            return axes_of_devices(op, self._meshes_around(op))
        meshes = [resolve(s.mesh, self.meshes) for s in (target, source) if s is not None]
        mesh = next((mesh for mesh in meshes if not mesh.is_maximal), None)
        if mesh is None:  # from one device to another
            return ((UNKNOWN_AXIS, 2),) if len({other.device_ids for other in meshes}) > 1 else ()
        if any(other.is_maximal for other in meshes):  # between one device and all others
            return tuple(mesh.sizes.items())
        if row.axes:
            listed: tuple[AxisRef | tuple[AxisRef, ...], ...] = plain(op.properties[row.axes])
            groups = ((given,) if isinstance(given, AxisRef) else given for given in listed)
            return _sized(chain.from_iterable(groups), mesh)
        if row.kind == "all_to_all":
            params: Any = plain(op.properties["params"])
            return _sized((axis for param in params for axis in param[0]), mesh)
        if len({(other.axes, other.device_ids) for other in meshes}) > 1:  # devices in another order
            return tuple(mesh.sizes.items())
        return _sized(_differing(source, target, mesh), mesh)


def _sized(axes: Iterable[AxisRef], mesh: Mesh) -> Axes:
    """Returns names and sizes; sub-axes of an axis count together, up to its size: they may overlap."""
    sizes: dict[str, int] = {}
    for axis in axes:
        sizes[axis.name] = min(sizes.get(axis.name, 1) * axis.size(mesh), mesh.sizes[axis.name])
    return tuple(sizes.items())


def _differing(source: TensorSharding | None, target: TensorSharding | None, mesh: Mesh) -> list[AxisRef]:
    """Returns the axes that do not shard the same dimension into the same parts before and after.

    Sub-axes of a listed axis are left out.
    """
    changed = set(_placed(source, mesh)) ^ set(_placed(target, mesh))
    axes = list(dict.fromkeys(axis for _, _, axis in sorted(changed, key=lambda p: (p[0], p[2].order))))
    return [a for a in axes if not any(b != a and b.name == a.name and b.contains(a) for b in axes)]


def _placed(sharding: TensorSharding | None, mesh: Mesh) -> Iterator[tuple[int, int, AxisRef]]:
    """Returns for each axis its dimension, the number of parts together with the axes before, and itself."""
    for number, dimension in enumerate(sharding.dimensions if sharding is not None else ()):
        parts = 1
        for axis in dimension.axes:
            parts *= axis.size(mesh)
            yield number, parts, axis
