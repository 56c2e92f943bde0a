"""The collectives that XLA's SPMD partitioner sends for a propagated program, and those that it has already.

Not here: XLA's choices (`xla/spmd/`), the program as the planner reads it (`spmd_program.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base.errors import Position
from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import Cost, CostModel
from shardy_py.mlir.ir import blocks_of, operands_of, written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.symbols import function_name
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import of_kind
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.ops import TABLE, TensorType
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.collect import Axes, CollectiveUse, collect_collectives
from shardy_py.report.communication.scattered import cost_of, is_scattered
from shardy_py.xla.spmd.device_groups import UNKNOWN_AXIS, axes_of_collective
from shardy_py.xla.spmd.from_program import SpmdProgram, entered_operand, source_op
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Rematerialized, Sent


@dataclass(frozen=True, slots=True)
class Rematerialization:
    """An involuntary full rematerialization that XLA logs: it gathers a whole tensor to reshard it.

    op: the name of the op that requires it; made_for: that op. source, target: the shardings as HLO has them.
    """

    op: str
    function: str
    source: str
    target: str
    position: Position | None
    location: str
    made_for: Operation | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        """The place without its op: a pickle has no program."""
        words = self.op, self.function, self.source, self.target
        return Rematerialization, (*words, self.position, self.location)


def _hlo_text(tiling: Tiling) -> str:
    """The sharding as XLA writes it in its warning: `{devices=[4,1,2]<=[8] last_tile_dim_replicate}`."""
    from shardy_py.xla.hlo_sharding.hlo_sharding import HloSharding
    from shardy_py.xla.hlo_sharding.tile_assignment import TileAssignment

    tiles = TileAssignment((*tiling.dimensions, tiling.replicas), tiling.devices)
    return str(HloSharding.partial_tile(tiles.as_iota() or tiles))


def collectives_by_xla(
    program: SpmdProgram, model: CostModel
) -> tuple[tuple[CollectiveUse, ...], tuple[Rematerialization, ...]]:
    """Returns what XLA sends for a propagated program, and where it warns.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    module, meshes = program.module, program.meshes
    table = program.values
    written = collect_collectives(module, model, Causes(()), meshes, only_written=True, table=table)
    uses = PlannedUses(program, model)
    plans = [(f, program.planned(f)[1]) for f in program.entries]
    sent = ((f, each) for f, plan in plans for each in plan.sent if not is_written(each))
    warned = tuple(uses.rematerialization(each, f) for f, plan in plans for each in plan.rematerialized)
    return (*written, *(uses.of(each, function, program) for function, each in sent)), warned


def is_written(sent: Sent) -> bool:
    """Returns whether a collective is one of the program itself, which lists its devices."""
    row = None if sent.step is None else TABLE[sent.step.record.name].collective
    return row is not None and row.names_devices


@dataclass(frozen=True, slots=True)
class _Place:
    """The facts of a planned collective that no cost model changes, of which several reports ask for one.

    names: of the value that it is sent for, and of its function.
    """

    axes: Axes
    names: tuple[str, str]
    is_scattered: bool
    is_estimate: bool
    cause: Cause


class _Places(dict[int, tuple[Sent, _Place]]):
    """The places of the collectives of one program, by the identities of these, which are kept."""

    @staticmethod
    def of(program: SpmdProgram) -> _Places:
        """Returns those of a program: the same ones for all reports on it."""
        known = program.kept.get(_Places)
        if not isinstance(known, _Places):
            known = program.kept[_Places] = _Places()
        return known


class PlannedUses:
    """Collectives of the plan of a program, with their axes, costs and causes."""

    def __init__(self, program: SpmdProgram, model: CostModel) -> None:
        self.model = model
        self.meshes = program.meshes
        self.originals = program.originals
        self.runs = program.runs
        self.shardings = ShardingReader()
        self._known_axes: dict[tuple[int, bool, tuple[str, ...]], tuple[tuple[int, ...], Axes | None]] = {}
        self._costs: dict[tuple[str, Axes, int, bool], Cost] = {}
        """The cost of a kind of collectives along some axes, of so many bytes: the same in all layers."""
        self._texts: dict[int, tuple[str, Position | None]] = {}
        """By the identity of a location, which its op keeps, its text and position."""

    def _axes(self, collective: PlannedCollective, op: Operation) -> Axes:
        """The mesh axes along which devices communicate, if their groups are along axes.

        Those of the mesh of the op's own tensors take precedence.
        """
        names = self.meshes if len(self.meshes) == 1 else dict.fromkeys((*self._near(op), *self.meshes))
        is_permute = collective.kind == "collective_permute"
        key = id(collective.group), is_permute, tuple(names)
        if key not in self._known_axes:  # which holds the group, so that its identity is not used again
            meshes = tuple(self.meshes[name] for name in names)
            found = axes_of_collective(collective.group, meshes, is_permute=is_permute)
            self._known_axes[key] = collective.group, found
        return self._known_axes[key][1] or ((UNKNOWN_AXIS, collective.group_size),)

    def _near(self, op: Operation) -> Iterator[str]:
        """The names of the meshes of the op's own tensors."""
        for sharding in map(self.shardings.of, (*operands_of(op), *op.results)):
            if sharding is not None and isinstance(sharding.mesh, str):
                yield sharding.mesh

    def rematerialization(self, each: Rematerialized, function: FuncOp) -> Rematerialization:
        """A warning of XLA, at the op of the function that requires the reshard."""
        end = of_kind(next(iter(blocks_of(function))).last_op, Operation)
        op = of_kind(each.step.source, Operation) if each.step else end
        location = op.location
        shardings = _hlo_text(each.source), _hlo_text(each.target)
        place = position_of(location), location_text(location)
        made_for = self.originals.get(op, op)
        return Rematerialization(written_name(op), function_name(function), *shardings, *place, made_for)

    def of(self, sent: Sent, function: FuncOp, program: SpmdProgram) -> CollectiveUse:
        """A collective with its cost, and the op of the function that requires it.

        program: with the shardings of the results of steps.
        """
        places, collective = _Places.of(program), sent.collective
        known = places.get(id(sent))
        if known is None:
            known = places[id(sent)] = sent, self._place(sent, function, program)
        place = known[1]
        key = collective.kind, place.axes, collective.held_bytes, place.is_scattered
        cost = self._costs.get(key)
        if cost is None:
            cost = cost_of(self.model, collective, place.axes, scattered=place.is_scattered)
            self._costs[key] = cost
        type_ = TensorType(collective.held_shape, collective.element_type)
        return CollectiveUse(
            collective.kind,
            place.axes,
            *place.names,
            *(type_, None, None, collective.held_bytes, cost),
            collective.times,
            place.is_estimate,
            place.cause,
            is_scattered=place.is_scattered,
        )

    def _place(self, sent: Sent, function: FuncOp, program: SpmdProgram) -> _Place:
        op = source_op(sent.step)
        around = of_kind(next(iter(blocks_of(function))).last_op, Operation) if op is None else op
        axes = self._axes(sent.collective, around)
        is_sum = sent.collective.kind == "all_reduce" and sent.step is not None and op is not None
        result = program.result_sharding(sent.step) if is_sum and sent.step and sent.step.results else None
        names = ("", "") if op is None else program.names(op)
        is_known = op is None or self.runs(op)[1]
        scattered = is_scattered(sent, axes, result)
        return _Place(axes, names, scattered, not is_known, self._cause(around, sent))

    def _cause(self, op: Operation, sent: Sent) -> Cause:
        name, location = written_name(op), op.location
        place, made_for = self._texts.get(id(location)), self.originals.get(op, op)
        if place is None:
            place = self._texts[id(location)] = location_text(location), position_of(location)
        if sent.step is None:
            reason = "a result of the program has another sharding"
            return Cause(name, sent.operand, reason, *place, made_for=made_for)
        operand = sent.operand if sent.operand < 0 else entered_operand(sent.step, sent.operand)
        if operand >= 0:
            reason = f"operand {operand} of {name} requires another sharding"
        elif sent.collective.kind in ("all_reduce", "reduce_scatter"):
            reason = f"{name} reduces a sharded dimension"
        else:
            reason = f"the result of {name} is made in another sharding"
        return Cause(name, operand, reason, *place, made_for=made_for)
