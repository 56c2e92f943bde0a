"""What stopped an axis at a step, in words, with whom to blame and what to write to change it.

Not here: which steps to ask about (`neighbourhood.py`), what stops an axis as such (`propagation/stops.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from shardy_py.graph.data_flow import DATA_FLOW
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.run_record import Propagation
from shardy_py.propagation.aggressive import aggressive
from shardy_py.propagation.basic import StepOptions
from shardy_py.propagation.directions import Direction
from shardy_py.propagation.flat import StepKind
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.propagation.step import Step
from shardy_py.propagation.stops import Stop, StopKind, stop
from shardy_py.report.explain.explaining import Explainer, factor_words
from shardy_py.report.explain.explanation import Annotation, Place
from shardy_py.report.explain.neighbourhood import Crossing
from shardy_py.report.explain.reasons import Reason, constrained
from shardy_py.report.explain.refusals import WORDS, unknown
from shardy_py.report.explain.tracing import InSlot, Root, spots_of
from shardy_py.sharding import AxisRef, ShardingRule
from shardy_py.sharding.axis_lists import Axes
from shardy_py.sharding.rule import FactorType, factor_symbol

_NO_STEP = frozenset({"func.return", "sdy.return", "stablehlo.return", "sdy.sharding_group", "func.call"})
"""Users of values that have no rule and need none."""

_TYPES = {
    FactorType.REDUCTION: "reduction",
    FactorType.PERMUTATION: "permutation",
    FactorType.NEED_REPLICATION: "need-replication",
}


class Stopping:
    """Tells what stopped an axis in one propagation."""

    def __init__(self, explainer: Explainer, propagation: Propagation) -> None:
        """`propagation` is one of the explainer's record."""
        self._tracer = explainer.tracer
        self._names = explainer.names
        self._propagation = propagation
        self._crossing: Crossing | None = None
        self._event = next(i for i, p in explainer.tracer.propagations if p is propagation)

    def own_reasons(self, slot: int, dimension: int, axis: AxisRef) -> Iterator[Reason]:
        """What in the value's own sharding keeps the axis out."""
        sharding = self._propagation.journal.sharding(slot)
        if sharding is None:
            return
        if dimension >= sharding.rank:
            place = self._place(slot)
            annotation = self.origin(slot)
            where = place if annotation is None else annotation.place
            message = f"{place} is on a single device: its sharding has no dimensions"
            yield Reason(
                "maximal", message, f"give {where} a sharding on a mesh of many devices", blame=place
            )
            return
        for at, given in enumerate(sharding.dimensions):
            if at != dimension and any(axis.overlaps(other) for other in given.axes):
                yield self._refused(Stop(StopKind.USED, 0, axis, given.axes, at), slot, None, axis)
        for kind, axes in (
            (StopKind.REPLICATED, sharding.replicated_axes),
            (StopKind.UNREDUCED, sharding.unreduced_axes),
        ):
            if any(axis.overlaps(other) for other in axes):
                yield self._refused(Stop(kind, 0, axis, axes, dimension), slot, None, axis)
        given = sharding.dimensions[dimension]
        if given.is_closed:
            yield self._refused(Stop(StopKind.CLOSED, 0, axis, given.axes, dimension), slot, None, axis)

    def at_crossing(self, crossing: Crossing, axis: AxisRef) -> Reason:
        """Why the axis did not cross a step."""
        slots = self._propagation.arrivals.slots_of(crossing.step)
        shardings = tuple(map(self._propagation.journal.sharding, slots))
        step = self._step(crossing.step)
        if step is None:
            return self._blocked(crossing, axis)
        found = stop(
            step, shardings, self._propagation.journal.meshes, crossing.position, crossing.factor, axis
        )
        if found.kind is StopKind.DIRECTION:
            return self._blocked(crossing, axis)
        slot = slots[found.position] if found.position >= 0 else crossing.source_slot
        return self._refused(found, slot, crossing, axis)

    def nothing(
        self, slot: int, dimension: int, axis: AxisRef, crossings: Sequence[Crossing]
    ) -> Iterator[Reason]:
        """What to say when no tensor that shares the dimension has the axis."""
        place = self._place(slot)
        remedy = constrained(axis, place)
        known = {id(op) for op in self._propagation.program.step_ops}
        reached = dict.fromkeys(
            ((slot, dimension), *((c.source_slot, c.source_dimension) for c in crossings))
        )
        for reached_slot, at in reached:
            for op, value in self._ops_without_rule(reached_slot, known):
                source = self._beyond(op, value, at, axis)
                if source is not None:
                    where = self._names.op(op)
                    message = (
                        f"{source} has {axis}, but {where} has no sharding rule: no axis passes through it"
                    )
                    remedy = f"give {op.name} an sdy.sharding_rule, or {remedy}"
                    yield Reason("no rule", message, remedy, where, blame=where)
                    return
        if not any(c.distance == 1 and c.step > FUNCTION_RESULT for c in crossings):
            steps = [s for s in self._propagation.steps_at.get(slot, []) if self._rule(s) is not None]
            if steps:
                op = self._op(steps[0])
                message = f"the rule of {op} relates dimension {dimension} of {place} to no other tensor"
                yield Reason("no factor", message, remedy, op, str(self._rule(steps[0])))
                return
        tensors = len({reached_slot for reached_slot, _ in reached}) - 1
        message = (
            f"no tensor that shares dimension {dimension} of {place} has {axis}: "
            f"{tensors} tensors were reached along the factors of rules, none is sharded by it there"
        )
        yield Reason("not sent", message, remedy, blame=place)

    # ------------------------------------------------------------------ one stop

    def _blocked(self, crossing: Crossing, axis: AxisRef) -> Reason:
        """Of a step along whose factor axes do not move, or not that way."""
        kind = self._kind(crossing.step)
        rule = self._rule(crossing.step)
        op, source = self._op(crossing.step), self._place(crossing.source_slot)
        words = self._factor(crossing)
        details = (op, str(rule), words, source, crossing.distance)
        target = self._place(crossing.slot)
        if self._is_erased(crossing.step):
            message = f"{source} has {axis}, but nothing uses what {op} gives, so propagation erases it"
            remedy = f"return or use what {op} gives, or {constrained(axis, target)}"
            return Reason("dead", message, remedy, *details)
        if kind is not None and kind.is_barrier:
            allowed = Direction(kind.barrier_direction).name or "NONE"
            message = (
                f"{source} has {axis}, but the propagation barrier {op} lets axes through {allowed} only"
            )
            remedy = f"remove the barrier or turn it round, or add a sharding_constraint on {target}"
            return Reason("barrier", message, remedy, *details)
        assert rule is not None
        type_ = rule.factors[crossing.factor].type
        named = f", a {_TYPES[type_]} factor" if type_ in _TYPES else ""
        along = factor_symbol(crossing.factor)
        message = f"{source} has {axis}, but the rule of {op} blocks propagation along {along}{named}"
        return Reason("blocked", message, constrained(axis, target), *details)

    def _refused(self, found: Stop, slot: int, crossing: Crossing | None, asked: AxisRef) -> Reason:
        """Of a tensor that did not take the axis, or one that would have to stand before it."""
        place = self._place(slot)
        self._crossing = crossing
        write = WORDS.get(found.kind, unknown)
        kind, message, remedy = write(self, found, slot, place)
        if crossing is None:
            return Reason(kind, message, remedy, place if place.location else None, blame=place)
        op, source = self._op(crossing.step), self._place(crossing.source_slot)
        rule = self._rule(crossing.step)
        is_asked = asked.overlaps(found.axis)
        what = f"{found.axis}, which" if is_asked else f"{asked}, but only behind {found.axis}, which"
        message = f"{source} has {what} stops at {op}: {message}"
        return Reason(
            *(kind, message, remedy, op, str(rule)),
            *(self._factor(crossing), place, crossing.distance),
        )

    # ------------------------------------------------------------------ what is known of slots and steps

    def origin(self, slot: int) -> Annotation | None:
        """What gave a slot the sharding that it had at first."""
        if self._propagation.journal.first_sharding(slot) is None:
            return None
        found = self._tracer.origin(self._event, slot)
        return None if found is None else self._names.annotation(found)

    def written(self, slot: int, dimension: int) -> Axes:
        """The axes that a dimension of a slot had at first."""
        boundary = self._propagation.boundaries.get(slot)
        first = boundary.outer if boundary is not None else self._propagation.journal.first_sharding(slot)
        return () if first is None else first.dimensions[dimension].axes

    def is_manual(self, slot: int, axis: AxisRef) -> bool:
        """Whether a slot is at the border of a manual computation over an axis."""
        boundary = self._propagation.boundaries.get(slot)
        return boundary is not None and axis.name in boundary.manual_axes

    def root(self, slot: int, dimension: int, axis: AxisRef) -> Root | None:
        """What gave a slot an axis."""
        state = InSlot(self._event, slot, len(self._propagation.journal.entries), dimension, axis)
        path = next(self._tracer.paths_from(state), None)
        return None if path is None else path.root

    def came(self, slot: int, dimension: int, axis: AxisRef) -> str:
        """The round in which an axis came to a slot; "" if it was there at first."""
        arrivals = self._propagation.arrivals.at(slot)
        found = next((a for a in arrivals if a.dimension == dimension and a.axis.overlaps(axis)), None)
        return "" if found is None else self._propagation.journal.stage_of(found.entry)

    @property
    def target(self) -> Place | None:
        """What the axis would have come to at the crossing that is looked at."""
        return None if self._crossing is None else self._place(self._crossing.slot)

    def meshes(self) -> str:
        """The tensors of the step that is looked at, one a mesh: `%0 on @mesh, %1 on @other`."""
        assert self._crossing is not None
        slots = self._propagation.arrivals.slots_of(self._crossing.step)
        found: dict[str, Place] = {}
        for slot in slots:
            sharding = self._propagation.journal.sharding(slot)
            if sharding is not None:
                name = sharding.mesh if isinstance(sharding.mesh, str) else str(sharding.mesh)
                found.setdefault(name, self._place(slot))
        return ", ".join(f"{place} on @{name}" for name, place in found.items())

    def later_sender(self, axis: AxisRef, than: Annotation) -> Annotation | None:
        """What sent `axis`, if it has a less urgent user priority than another annotation."""
        at = self._crossing
        root = None if at is None else self.root(at.source_slot, at.source_dimension, axis)
        sender = self.annotation(root)
        return sender if sender is not None and (sender.priority or 0) > (than.priority or 0) else None

    def sizes(self, found: Stop) -> str:
        """The sizes of the factors of a dimension at the crossing that is looked at: `i=2, j=4`."""
        rule = None if self._crossing is None else self._rule(self._crossing.step)
        assert rule is not None
        factors = rule.tensors[found.position][found.dimension]
        return ", ".join(f"{factor_symbol(f)}={rule.factor_sizes[f]}" for f in factors)

    def annotation(self, root: Root | None) -> Annotation | None:
        """A root in words."""
        return None if root is None else self._names.annotation(root)

    def _place(self, slot: int) -> Place:
        return self._names.place(spots_of(self._propagation, slot)[-1])

    def _op(self, step: int) -> Place:
        if step <= FUNCTION_RESULT:
            return self._place(self._propagation.arrivals.slots_of(step)[1])
        return self._names.op(self._propagation.program.step_ops[step])

    def _kind(self, step: int) -> StepKind | None:
        if step <= FUNCTION_RESULT:
            return None
        flat = self._propagation.program.flat
        return flat.kinds[flat.step_kinds[step]]

    def _is_erased(self, step: int) -> bool:
        """Whether propagation came to an op only to erase it."""
        if step <= FUNCTION_RESULT:
            return False
        return self._propagation.program.flat.kinds[self._propagation.journal.kinds[step]].rule is None

    def _rule(self, step: int) -> ShardingRule | None:
        return self._propagation.arrivals.rule_of(step)

    def _step(self, number: int) -> Step | None:
        """The way through a step in the last round; None if no axis moves there."""
        journal = self._propagation.journal
        if number <= FUNCTION_RESULT:
            rule = self._propagation.arrivals.rule_of(number)
            assert rule is not None
            both = (Direction.BOTH,) * len(rule.factors)
            return Step(rule, aggressive, StepOptions(rule.factor_sizes, both))
        table = journal.stages[-1].tables[journal.kinds[number]] if journal.stages else None
        return None if table is None else table.step

    def _factor(self, crossing: Crossing) -> str:
        rule = self._rule(crossing.step)
        assert rule is not None
        return factor_words(
            *(rule, crossing.factor, crossing.source, crossing.source_dimension),
            *(crossing.position, crossing.dimension),
        )

    def _beyond(self, op: Operation, value: SSAValue, dimension: int, axis: AxisRef) -> Place | None:
        """Another tensor of an op without a rule that has an axis where a dimension of `value` may be.

        In a tensor of the same shape that is the same dimension, else any of the same size.
        """
        slot_of, journal = self._propagation.program.slot_of, self._propagation.journal
        own = tensor_type(value.type)
        for other in (*op.operands, *op.results):
            slot, type_ = slot_of.get(id(other)), tensor_type(other.type)
            sharding = None if slot is None or other is value else journal.sharding(slot)
            if own is None or type_ is None or slot is None or sharding is None:
                continue
            for at, given in enumerate(sharding.dimensions):
                is_there = at == dimension if type_ == own else type_.shape[at] == own.shape[dimension]
                if is_there and any(axis.overlaps(found) for found in given.axes):
                    return self._place(slot)
        return None

    def _ops_without_rule(self, slot: int, known: set[int]) -> Iterator[tuple[Operation, SSAValue]]:
        """Ops that make or use the value of a slot and have no step, with that value."""
        for spot in spots_of(self._propagation, slot):
            entry = self._names.entry(spot)
            value = None if entry is None else entry.value
            if value is None:
                continue
            ops = [use.operation for use in value.uses]
            if isinstance(value.owner, Operation):
                ops.insert(0, value.owner)
            without = {id(op) for op, _ in self._propagation.program.without_rule}
            names = {op.name for op, _ in self._propagation.program.without_rule}
            for op in ops:
                is_without = id(op) in without or (id(op) not in known and op.name in names)
                if is_without and op.operands and op.results and op.name not in (*_NO_STEP, *DATA_FLOW):
                    yield op, value
