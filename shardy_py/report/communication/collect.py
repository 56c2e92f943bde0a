"""The collectives of a module, each with its cost and with what caused it.

The module holds them as ops: reshards have become collectives before (`sdy-reshard-to-collectives`). A
record of the passes tells for the sake of which op each was put in. Not here: totals and text.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.errors import Position
from shardy_py.graph.movements import Movement
from shardy_py.graph.plain import plain, tensor_type
from shardy_py.graph.sharding_reader import ShardingReader
from shardy_py.graph.value_table import ValueTable, location_text
from shardy_py.ops.record import TensorType
from shardy_py.partition.cost import AxisSize, Cost, CostModel
from shardy_py.report.collect import module_meshes
from shardy_py.report.communication.loops import trip_counts
from shardy_py.report.communication.user_collectives import USER_KINDS, user_axes
from shardy_py.report.memory.sizes import tensor_size
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.meshes import resolve
from shardy_py.text.source import position_of

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

_AXES_OF = {
    "sdy.all_gather": "gathering_axes",
    "sdy.all_reduce": "reduction_axes",
    "sdy.all_slice": "slicing_axes",
    "sdy.reduce_scatter": "reduce_scatter_axes",
    "sdy.replicated_to_unreduced": "axes",
    "sdy.sharded_to_unreduced": "axes",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a collective is there.

    op: the name of the op for whose sake.
    operand: which operand of it is brought to another sharding; -1: its result is.
    reason: in words.
    location: of that op in the source, "" if unknown. position: the file position in it, None if unknown.
    is_explicit: whether the program itself asks for it: a collective, a constraint or a reshard.
    """

    op: str
    operand: int
    reason: str
    location: str
    position: Position | None = None
    is_explicit: bool = False


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


def collect_uses(module: ModuleOp, model: CostModel, record: Iterable[object] = ()) -> tuple[Use, ...]:
    """All collectives of `module` in program order; `record` holds the `Movement`s of the passes."""
    collector = _Collector(module, model, record)
    return tuple(collector.uses())


class _Collector:
    def __init__(self, module: ModuleOp, model: CostModel, record: Iterable[object]) -> None:
        self.table = ValueTable(module)
        self.meshes: Mapping[str, Mesh] = module_meshes(module)
        self.model = model
        self.reader = ShardingReader()
        self.moved = {id(event.target): event for event in record if isinstance(event, Movement)}
        self.trips = trip_counts(module)

    def uses(self) -> Iterator[Use]:
        done: set[int] = set()
        for entry in self.table.entries:
            op = entry.op
            kind = KINDS.get(op.name)
            if kind is None or entry.role != "intermediate" or id(op) in done:
                continue
            done.add(id(op))
            use = self._use(op, kind, entry.name, entry.function)
            if use is not None:
                yield use

    def _use(self, op: Operation, kind: str, name: str, function: str) -> Use | None:
        value = op._operands[0]
        type_ = tensor_type(value._type)
        if type_ is None:
            return None
        source, target = self.reader.of(value), self.reader.of(op.results[0])
        held = sum(map(self._held, op._operands)) if op.name in USER_KINDS else self._held(value)
        axes = self._axes(op, source, target)
        times, is_known = self.trips(op)
        return Use(
            kind=kind,
            axes=axes,
            value=name,
            function=function,
            type=type_,
            source=source,
            target=target,
            held_bytes=held,
            cost=self._cost(kind, axes, held),
            times=times,
            is_estimate=not is_known,
            cause=self._cause(op),
        )

    def _held(self, value: SSAValue) -> int:
        """What each device holds of a value; 0 for what is no tensor."""
        type_ = tensor_type(value._type)
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

    def _axes(
        self, op: Operation, source: TensorSharding | None, target: TensorSharding | None
    ) -> tuple[AxisSize, ...]:
        if op.name in USER_KINDS:
            return user_axes(op, self.meshes)
        meshes = [resolve(s.mesh, self.meshes) for s in (target, source) if s is not None]
        mesh = next((mesh for mesh in meshes if not mesh.is_maximal), None)
        if mesh is None:
            return ()
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

    def _cause(self, op: Operation) -> Cause:
        if op.name in USER_KINDS:
            return _cause_at(op, op.name, -1, "written in the program", is_explicit=True)
        event = self._movement(op.results[0])
        cause_op = event.op if event is not None and event.op is not None else None
        if event is not None and cause_op is not None:
            if event.index >= 0:
                reason = f"operand {event.index} of {cause_op.name} is needed in another sharding"
            elif op.name in ("sdy.all_reduce", "sdy.reduce_scatter"):
                reason = f"{cause_op.name} sums over a sharded dimension"
            else:
                reason = f"the result of {cause_op.name} is used in another sharding"
            place = cause_op if location_text(_location(cause_op)) else op
            return _cause_at(place, cause_op.name, event.index, reason)
        return self._cause_alone(op, event)

    def _cause_alone(self, op: Operation, event: Movement | None) -> Cause:
        """The cause of what no other op brought about."""
        source = op._operands[0]
        if isinstance(source, OpResult) and source.op.name == "func.call":
            return _cause_at(op, source.op.name, -1, "a call gives another sharding than its user takes")
        wanted = event.source if event is not None else None
        name = wanted.op.name if isinstance(wanted, OpResult) else op.name
        if name == "sdy.sharding_constraint":
            return _cause_at(op, name, -1, "the program constrains the sharding here", is_explicit=True)
        return _cause_at(op, "sdy.reshard", -1, "the program reshards here", is_explicit=True)

    def _movement(self, value: SSAValue) -> Movement | None:
        """The first note that names an op, else the last one, from `value` back through what it replaced."""
        seen: set[int] = set()
        found = event = self.moved.get(id(value))
        while event is not None and event.op is None and id(event.source) not in seen:
            seen.add(id(event.source))
            found, event = event, self.moved.get(id(event.source))
        return event or found


def _cause_at(
    place: Operation, op_name: str, operand: int, reason: str, *, is_explicit: bool = False
) -> Cause:
    location = _location(place)
    return Cause(
        op_name, operand, reason, location_text(location), position_of(location), is_explicit=is_explicit
    )


def _flat(axes: Any) -> Iterator[AxisRef]:
    for entry in axes:
        if isinstance(entry, AxisRef):
            yield entry
        else:
            yield from cast("Iterable[AxisRef]", entry)


def _sized(axes: Iterable[AxisRef], mesh: Mesh) -> tuple[AxisSize, ...]:
    return tuple((axis.name, axis.size(mesh)) for axis in axes)


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


def _location(op: Operation) -> Any:
    return cast(Any, op).location
