"""The collectives of a module, each with its cost and with what caused it.

The module holds them as ops: reshards have become collectives before (`sdy-reshard-to-collectives`). A
record of the passes tells for the sake of which op each was put in. Not here: what ops exchange by themselves
(`halos.py`), totals and text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.sharding_reader import ShardingReader
from shardy_py.graph.value_table import ValueEntry, ValueTable
from shardy_py.ir import operands_of
from shardy_py.ops.record import TensorType
from shardy_py.partition.cost import AxisSize, Cost, CostModel
from shardy_py.report.collect import module_meshes
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.halos import KIND as HALO
from shardy_py.report.communication.halos import Halo, Halos
from shardy_py.report.communication.loops import trip_counts
from shardy_py.report.communication.user_collectives import UNKNOWN_AXIS, USER_KINDS, user_axes
from shardy_py.report.memory.sizes import tensor_size
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.meshes import is_single_device, mesh_of, resolve

KINDS = {
    "sdy.all_gather": "all_gather",
    "sdy.all_reduce": "all_reduce",
    "sdy.all_slice": "all_slice",
    "sdy.all_to_all": "all_to_all",
    "sdy.collective_permute": "collective_permute",
    "sdy.reduce_scatter": "reduce_scatter",
    "sdy.replicated_to_unreduced": "all_slice",
    "sdy.sharded_to_unreduced": "all_slice",
    "sdy.reshard": "reshard",
    **USER_KINDS,
}
"""Ops that communicate, or (all_slice) merely cut, by the name of what they do."""
SENDING_KINDS = tuple(sorted({*KINDS.values(), HALO} - {"all_slice"}))
"""The kinds of what is sent."""

_AXES_OF = {
    "sdy.all_gather": "gathering_axes",
    "sdy.all_reduce": "reduction_axes",
    "sdy.all_slice": "slicing_axes",
    "sdy.reduce_scatter": "reduce_scatter_axes",
    "sdy.replicated_to_unreduced": "axes",
    "sdy.sharded_to_unreduced": "axes",
}


@dataclass(frozen=True, slots=True)
class Use:
    """One collective of the program.

    kind: as in `KINDS`. axes: along which it goes, with sizes; "?" where the program does not name them.
    value: the name of its result, of function `function`. source, target: shardings before and after.
    held_bytes: on each device before. cost: of one run; bytes are taken in by each device.
    times: how often it runs, loops with a known number of turns counted; is_estimate: a loop's is not known,
    so that it counts as one.
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

    @property
    def total(self) -> Cost:
        """The cost of all its runs."""
        return Cost(self.cost.bytes * self.times, self.cost.seconds * self.times)


def collect_uses(module: ModuleOp, model: CostModel, causes: Causes) -> tuple[Use, ...]:
    """All collectives of `module` in program order."""
    return tuple(_Collector(module, model, causes).uses())


@dataclass(frozen=True, slots=True)
class _Move:
    """What an op moves: of which operand, along which axes, at which cost of one run, and why."""

    kind: str
    value: SSAValue
    axes: tuple[AxisSize, ...]
    held_bytes: int
    cost: Cost
    cause: Cause


class _Collector:
    def __init__(self, module: ModuleOp, model: CostModel, causes: Causes) -> None:
        self.table = ValueTable(module)
        self.meshes: Mapping[str, Mesh] = module_meshes(module)
        self.model = model
        self.reader = ShardingReader()
        self.halos = Halos(self.meshes, self.reader)
        self.causes = causes
        self.trips = trip_counts(module)

    def uses(self) -> Iterator[Use]:
        done: set[int] = set()
        for entry in self.table.entries:
            if entry.role != "intermediate" or id(entry.op) in done:
                continue
            done.add(id(entry.op))
            for move in self._moves(entry.op):
                yield self._use(entry, move)

    def _moves(self, op: Operation) -> Iterator[_Move]:
        kind = KINDS.get(op.name)
        if kind is None:
            yield from (self._exchange(op, halo) for halo in self.halos.of(op))
        elif tensor_type(operands_of(op)[0].type) is not None:
            yield self._collective(op, kind)

    def _collective(self, op: Operation, kind: str) -> _Move:
        value = operands_of(op)[0]
        source, target = self.reader.of(value), self.reader.of(op.results[0])
        held = sum(map(self._held, operands_of(op))) if op.name in USER_KINDS else self._held(value)
        axes = self._axes(op, source, target)
        if kind == "reshard" and any(is_single_device(s, self.meshes) for s in (source, target)):
            cost = self._device_cost(op, source, target)
        else:
            cost = self._cost(kind, axes, held)
        return _Move(kind, value, axes, held, cost, self.causes.of(op))

    def _exchange(self, op: Operation, halo: Halo) -> _Move:
        value = operands_of(op)[halo.operand]
        cost = self.model.collective_permute(halo.axes, halo.bytes)
        cause = self.causes.of_halo(op, halo.operand)
        return _Move(HALO, value, halo.axes, self._held(value), cost, cause)

    def _use(self, entry: ValueEntry, move: _Move) -> Use:
        type_ = tensor_type(move.value.type)
        assert type_ is not None
        times, is_known = self.trips(entry.op)
        return Use(
            kind=move.kind,
            axes=move.axes,
            value=entry.name,
            function=entry.function,
            type=type_,
            source=self.reader.of(move.value),
            target=self.reader.of(entry.op.results[0]),
            held_bytes=move.held_bytes,
            cost=move.cost,
            times=times,
            is_estimate=not is_known,
            cause=move.cause,
        )

    def _held(self, value: SSAValue) -> int:
        """What each device holds of a value; 0 for what is no tensor."""
        type_ = tensor_type(value.type)
        if type_ is None:
            return 0
        return tensor_size(type_, self.reader.of(value), self.meshes, "linear").bytes.local_bytes

    def _cost(self, kind: str, axes: tuple[AxisSize, ...], held: int) -> Cost:
        match kind:
            case "all_gather":
                return self.model.all_gather(axes, held)
            case "all_reduce":
                return self.model.all_reduce(axes, held)
            case "reduce_scatter":
                return self.model.reduce_scatter(axes, held)
            case "all_to_all":
                return self.model.all_to_all(axes, held)
            case "collective_permute" | "reshard":
                return self.model.collective_permute(axes, held)
            case "collective_broadcast":
                return self.model.collective_broadcast(axes, held)
            case _:
                return Cost()

    def _device_cost(
        self, op: Operation, source: TensorSharding | None, target: TensorSharding | None
    ) -> Cost:
        """The cost of a reshard to or from a single device."""
        is_from, is_to = (is_single_device(sharding, self.meshes) for sharding in (source, target))
        held = self._held(operands_of(op)[0])
        if is_from and is_to:
            return self._cost("collective_permute", self._axes(op, source, target), held)
        spread = target if is_from else source
        if spread is None:  # every device has all of it
            return Cost()
        mesh = mesh_of(spread, self.meshes)
        cut = _sized((axis for dimension in spread.dimensions for axis in dimension.axes), mesh)
        if is_to:
            return self.model.all_gather(cut, held)
        rest = tuple((name, size // dict(cut).get(name, 1)) for name, size in mesh.sizes.items())
        return self.model.from_one_device(cut, rest, self._held(op.results[0]))

    def _meshes_around(self, op: Operation) -> Mapping[str, Mesh]:
        """All meshes, that of the manual computation around an op first."""
        around = op.parent_op()
        while around is not None and around.name != "sdy.manual_computation":
            around = around.parent_op()
        for value in () if around is None else (*around.results, *operands_of(around)):
            sharding = self.reader.of(value)
            if sharding is not None:
                return {"": mesh_of(sharding, self.meshes), **self.meshes}
        return self.meshes

    def _axes(
        self, op: Operation, source: TensorSharding | None, target: TensorSharding | None
    ) -> tuple[AxisSize, ...]:
        if op.name in USER_KINDS:
            return user_axes(op, self._meshes_around(op))
        meshes = [resolve(s.mesh, self.meshes) for s in (target, source) if s is not None]
        mesh = next((mesh for mesh in meshes if not mesh.is_maximal), None)
        if mesh is None:  # from one device to another
            return ((UNKNOWN_AXIS, 2),) if len({other.device_ids for other in meshes}) > 1 else ()
        if any(other.is_maximal for other in meshes):  # to or from the one device all others take part
            return tuple((axis.name, axis.size) for axis in mesh.axes)
        if op.name == "sdy.all_to_all":
            params: Any = plain(op.properties["params"])
            return _sized((axis for param in params for axis in param[0]), mesh)
        name = _AXES_OF.get(op.name)
        if name is None:
            if len({(other.axes, other.device_ids) for other in meshes}) > 1:  # devices in another order
                return tuple((axis.name, axis.size) for axis in mesh.axes)
            return _sized(_differing(source, target, mesh), mesh)
        return _sized(_flat(plain(op.properties[name])), mesh)


def _flat(axes: Any) -> Iterator[AxisRef]:
    for entry in axes:
        if isinstance(entry, AxisRef):
            yield entry
        else:
            yield from cast("Iterable[AxisRef]", entry)


def _sized(axes: Iterable[AxisRef], mesh: Mesh) -> tuple[AxisSize, ...]:
    """Names and sizes; parts of one axis count together, as the axis at most: they may overlap."""
    sizes: dict[str, int] = {}
    for axis in axes:
        sizes[axis.name] = min(sizes.get(axis.name, 1) * axis.size(mesh), mesh.sizes[axis.name])
    return tuple(sizes.items())


def _differing(source: TensorSharding | None, target: TensorSharding | None, mesh: Mesh) -> list[AxisRef]:
    """The axes that do not cut the same dimension into the same parts before and after.

    Where a whole axis is among them, its parts are not listed beside it.
    """
    changed = set(_placed(source, mesh)) ^ set(_placed(target, mesh))
    axes = list(dict.fromkeys(axis for _, _, axis in sorted(changed, key=lambda p: (p[0], p[2].order))))
    return [a for a in axes if not any(b != a and b.name == a.name and b.contains(a) for b in axes)]


def _placed(sharding: TensorSharding | None, mesh: Mesh) -> Iterator[tuple[int, int, AxisRef]]:
    """The dimension that each axis cuts, into how many parts it is cut by then, and the axis."""
    for number, dimension in enumerate(sharding.dimensions if sharding is not None else ()):
        parts = 1
        for axis in dimension.axes:
            parts *= axis.size(mesh)
            yield number, parts, axis
