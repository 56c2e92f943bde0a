"""Reasons why an axis stopped at a step, with the value responsible and what to write to change it.

Not here: which steps to ask about (`neighbourhood.py`), what stops an axis as such (`propagation/stops.py`),
messages of tensors that refuse it (`refusals.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.counting import counted
from shardy_py.mlir.dialects.traits import data_flow
from shardy_py.mlir.ir import operands_of, written_name
from shardy_py.mlir.plain import tensor_type
from shardy_py.ops import TensorType
from shardy_py.propagation.flat import UNSHARDABLE, Direction
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.propagation.stops import Stop, StopKind, stop
from shardy_py.report.explain.explaining import Explainer
from shardy_py.report.explain.explanation import NamedPlace, Reason, constrained
from shardy_py.report.explain.neighbourhood import Crossing, Neighbourhood, Region
from shardy_py.report.explain.propagation_view import PropagationView
from shardy_py.report.explain.refusals import Refusal
from shardy_py.report.explain.tracing import spots_of
from shardy_py.sharding import AxisRef
from shardy_py.sharding.rule import FactorType, factor_symbol

Beyond = tuple[Operation, NamedPlace]
"""An op without a rule, and a tensor of it that has the axis."""
_Sharded = tuple[SSAValue, TensorType, int, tuple[int, ...]]
"""A tensor of an op, its type and slot, and its dimensions that are sharded along an axis."""

_TYPES = {
    FactorType.REDUCTION: ", a reduction factor",
    FactorType.PERMUTATION: ", a permutation factor",
    FactorType.NEED_REPLICATION: ", a need-replication factor",
}


class Stopping:
    """Finds what stopped an axis in one propagation of the explainer's record."""

    def __init__(self, explainer: Explainer, propagation: Propagation, neighbourhood: Neighbourhood) -> None:
        self._view = PropagationView(explainer, propagation)
        self._program = propagation.program
        self._neighbourhood = neighbourhood
        self._with_step = {id(op) for op in self._program.step_ops}
        self._without_rule = {id(op) for op, _ in self._program.without_rule}
        self._names_without_rule = {op.name for op, _ in self._program.without_rule}
        self._reasons: dict[tuple[Crossing, AxisRef], Reason] = {}
        self._around: dict[int, tuple[tuple[Operation, SSAValue], ...]] = {}
        self._sharded: dict[tuple[Operation, AxisRef], tuple[_Sharded, ...]] = {}
        self._beyond: dict[tuple[Region, AxisRef], dict[tuple[int, int], Beyond]] = {}

    def own_reasons(self, slot: int, dimension: int, axis: AxisRef) -> Iterator[Reason]:
        """Returns what in the value's own sharding keeps the axis out."""
        sharding = self._view.journal.sharding(slot)
        if sharding is None:
            return
        if dimension >= sharding.rank:
            place, annotation = self._view.place(slot), self._view.origin(slot)
            message = f"{place} is on a single device: its sharding has no dimensions"
            remedy = f"shard {place if annotation is None else annotation.place} on a mesh of several devices"
            yield Reason("maximal", message, remedy, blame=place)
            return
        used = [(StopKind.USED, d.axes, at) for at, d in enumerate(sharding.dimensions) if at != dimension]
        replicated = StopKind.REPLICATED, sharding.replicated_axes, dimension
        unreduced = StopKind.UNREDUCED, sharding.unreduced_axes, dimension
        stops = [
            Stop(kind, 0, axis, axes, at)
            for kind, axes, at in (*used, replicated, unreduced)
            if any(map(axis.overlaps, axes))
        ]
        given = sharding.dimensions[dimension]
        if given.is_closed:
            stops.append(Stop(StopKind.CLOSED, 0, axis, given.axes, dimension))
        yield from (self._refused(stop_, slot, None, axis) for stop_ in stops)

    def at_crossing(self, crossing: Crossing, axis: AxisRef) -> Reason:
        """Returns why the axis did not propagate through a step."""
        reason = self._reasons.get((crossing, axis))
        if reason is None:
            reason = self._reasons[crossing, axis] = self._at_crossing(crossing, axis)
        return reason

    def _at_crossing(self, crossing: Crossing, axis: AxisRef) -> Reason:
        slots = self._view.slots_of(crossing.step)
        journal = self._view.journal
        step = self._view.step(crossing.step)
        if step is None:
            return self._blocked(crossing, axis)
        shardings = tuple(map(journal.sharding, slots))
        stopped = stop(step, shardings, journal.meshes, crossing.position, crossing.factor, axis)
        if stopped.kind is StopKind.DIRECTION:
            return self._blocked(crossing, axis)
        slot = slots[stopped.position] if stopped.position >= 0 else crossing.source_slot
        return self._refused(stopped, slot, crossing, axis)

    def without_source(self, slot: int, dimension: int, axis: AxisRef) -> Iterator[Reason]:
        """Returns the reason where no tensor that shares the dimension has the axis."""
        place = self._view.place(slot)
        remedy = constrained(axis, place)
        region = self._neighbourhood.region(slot, dimension, axis)
        beyond = self._nearest_beyond(slot, dimension, axis, region)
        if beyond is not None:
            op, source = beyond
            where = self._view.names.op(op)
            message = f"{source} is sharded along {axis}, but {where} has no sharding rule: nothing "
            remedy = f"give {written_name(op)} an sdy.sharding_rule, or {remedy}"
            yield Reason("no rule", message + "propagates through it", remedy, where, blame=where)
            return
        around = self._neighbourhood.walk(slot, dimension, axis)
        near = takewhile(lambda pair: pair[1] == 1, around)
        if not any(crossing.step > FUNCTION_RESULT for crossing, _ in near):
            for step in self._view.propagation.steps_at.get(slot, []):
                if (rule := self._view.rule(step)) is not None:
                    op = self._view.op(step)
                    message = f"the rule of {op} does not map dimension {dimension} of {place} to others"
                    yield Reason("no factor", message, remedy, op, str(rule))
                    return
        count = len(region.slots) - (slot in region.slots)
        fact = (
            f"no tensor related to dimension {dimension} of {place} by sharding rules is sharded along {axis}"
        )
        yield Reason("not sent", f"{fact} ({counted(count, 'tensor')} searched)", remedy, blame=place)

    def _nearest_beyond(self, slot: int, dimension: int, axis: AxisRef, region: Region) -> Beyond | None:
        """Returns the nearest op without a rule behind which a tensor has the axis."""
        own = self._find_beyond(slot, dimension, axis)
        if own is not None:
            return own
        found = self._beyond.get((region, axis))
        if found is None:
            slots = self._beside_unruled.intersection(region.slots)
            near = (at for at in region.reached if at[0] in slots) if slots else ()
            pairs = ((at, self._find_beyond(*at, axis)) for at in near)
            found = self._beyond[region, axis] = {at: beyond for at, beyond in pairs if beyond is not None}
        walk = self._neighbourhood.walk(slot, dimension, axis) if found else ()
        return next((found[crossing.before] for crossing, _ in walk if crossing.before in found), None)

    def _find_beyond(self, slot: int, dimension: int, axis: AxisRef) -> Beyond | None:
        if slot not in self._beside_unruled:
            return None
        around = self._around.get(slot)
        if around is None:
            around = self._around[slot] = tuple(self._ops_without_rule(slot))
        for op, value in around:
            source = self._source_beyond(op, value, dimension, axis)
            if source is not None:
                return op, source
        return None

    def _blocked(self, crossing: Crossing, axis: AxisRef) -> Reason:
        """Returns the reason at a step along whose factor axes do not propagate, or not in that direction."""
        view, flat, step = self._view, self._program.flat, crossing.step
        kind = None if step <= FUNCTION_RESULT else flat.kinds[flat.step_kinds[step]]
        rule, op = view.rule(step), view.op(step)
        source, target = view.place(crossing.source_slot), view.place(crossing.slot)
        fact = f"{source} is sharded along {axis}, but"
        remedy = constrained(axis, target)
        if step > FUNCTION_RESULT and flat.kinds[view.journal.kinds[step]].rule is None:
            name, message = "dead", f"{fact} the results of {op} are unused, so propagation erases it"
            remedy = f"return or use the results of {op}, or {remedy}"
        elif kind is not None and kind.is_barrier:
            allowed = Direction(kind.barrier_direction).name or "NONE"
            name, message = "barrier", f"{fact} the propagation barrier {op} allows direction {allowed} only"
            remedy = f"remove the barrier or reverse its direction, or add a sharding_constraint on {target}"
        else:
            assert rule is not None
            along = factor_symbol(crossing.factor) + _TYPES.get(rule.factors[crossing.factor].type, "")
            name, message = "blocked", f"{fact} the rule of {op} blocks propagation along {along}"
        return Reason(name, message, remedy, op, str(rule), view.factor(crossing), source)

    def _refused(self, stopped: Stop, slot: int, crossing: Crossing | None, asked: AxisRef) -> Reason:
        """Returns the reason of a tensor that refuses the axis, or one that must come before the axis."""
        view, place = self._view, self._view.place(slot)
        kind, message, remedy = Refusal(view, stopped, slot, crossing).words()
        if crossing is None:
            return Reason(kind, message, remedy, place if place.location else None, blame=place)
        op, source = view.op(crossing.step), view.place(crossing.source_slot)
        order = "" if asked.overlaps(stopped.axis) else f" after {stopped.axis}"
        fact = f"{source} is sharded along {asked}{order}, but {stopped.axis} does not propagate through {op}"
        rule, factor = str(view.rule(crossing.step)), view.factor(crossing)
        return Reason(kind, f"{fact}: {message}", remedy, op, rule, factor, place)

    def _source_beyond(
        self, op: Operation, value: SSAValue, dimension: int, axis: AxisRef
    ) -> NamedPlace | None:
        """Returns another tensor of an op without a rule that is sharded along an axis.

        In a tensor of the same shape the dimension has to be the same, else any of the same size counts.
        """
        own = tensor_type(value.type)
        for other, type_, slot, dimensions in self._sharded_around(op, axis):
            if own is None or other is value:
                continue
            if type_ == own and dimension in dimensions:
                return self._view.place(slot)
            size = own.shape[dimension]
            if type_ != own and any(type_.shape[at] == size for at in dimensions):
                return self._view.place(slot)
        return None

    def _sharded_around(self, op: Operation, axis: AxisRef) -> tuple[_Sharded, ...]:
        """The tensors of an op that are sharded along an axis; found once, as each of its tensors may ask."""
        found = self._sharded.get((op, axis))
        if found is None:
            found = self._sharded[op, axis] = tuple(self._find_sharded(op, axis))
        return found

    def _find_sharded(self, op: Operation, axis: AxisRef) -> Iterator[_Sharded]:
        for value in (*op.operands, *op.results):
            slot, type_ = self._program.slots.of.get(id(value)), tensor_type(value.type)
            sharding = None if slot is None else self._view.journal.sharding(slot)
            if type_ is None or slot is None or sharding is None:
                continue
            dimensions = [at for at, d in enumerate(sharding.dimensions) if any(map(axis.overlaps, d.axes))]
            if dimensions:
                yield value, type_, slot, tuple(dimensions)

    @cached_property
    def _beside_unruled(self) -> frozenset[int]:
        """The slots whose values in the final program ops without a step may define or use.

        Of few programs any: found from those ops, as most slots are asked for.
        """
        names, table = self._view.names, self._view.names.table
        classes = {each for each in table.op_classes if each.name in self._names_without_rule}
        ops = [op for op in table.ops if op.__class__ in classes] if classes else []
        unruled = {id(op): op for op in (*ops, *(op for op, _ in self._program.without_rule))}
        lone = [op for op in unruled.values() if self._is_passed_by_no_rule(op)]
        beside = {id(value) for op in lone for value in (*operands_of(op), *op.results)}
        if not beside:
            return frozenset()
        owners = self._view.propagation.edge_owners
        become = [*map(names.becoming(beside).get, map(id, self._program.slots.values))]
        found = {slot for slot, is_one in enumerate(become) if is_one and slot not in owners}
        unknown = [slot for slot, is_one in enumerate(become) if is_one is None]  # nearly all are known
        for slot in {*unknown, *owners} - {UNSHARDABLE}:
            entries = map(names.entry, spots_of(self._view.propagation, slot))
            if any(entry is not None and id(entry.value) in beside for entry in entries):
                found.add(slot)
        return frozenset(found)

    def _ops_without_rule(self, slot: int) -> Iterator[tuple[Operation, SSAValue]]:
        """Returns the ops that define or use the value of a slot and have no step, with that value."""
        for spot in spots_of(self._view.propagation, slot):
            entry = self._view.names.entry(spot)
            value = None if entry is None else entry.value
            if value is None:
                continue
            ops = [use.operation for use in value.uses]
            if isinstance(value.owner, Operation):
                ops.insert(0, value.owner)
            for op in ops:
                if self._is_passed_by_no_rule(op):
                    yield op, value

    def _is_passed_by_no_rule(self, op: Operation) -> bool:
        """True if an op makes values of others, and no sharding propagates through it."""
        is_left_out = id(op) not in self._with_step and op.name in self._names_without_rule
        is_without = id(op) in self._without_rule or is_left_out
        is_data_flow = data_flow(op) is not None or isinstance(op, CallOp)
        return bool(is_without and op.operands and op.results and not is_data_flow)
