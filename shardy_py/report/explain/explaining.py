"""Explains why a value is sharded as it is, from the record of the passes.

    explainer = Explainer(record, module)
    print(explainer.explain(value))

Not here: tracing axes (`tracing.py`), names (`names.py`), why a value is not sharded (`why_not.py`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import islice

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import warn
from shardy_py.mlir.holders import Holder, Place, read
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.movements import Movement, Spot
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.value_shardings import holder_of
from shardy_py.mlir.value_table import ValueEntry, ValueTable
from shardy_py.propagation.graph.run_record import Propagation, Record
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.report.explain.agreements import Agreements, slot_at_end
from shardy_py.report.explain.explanation import (
    AxisExplanation,
    AxisRole,
    Chain,
    ChainLink,
    Explanation,
    Explanations,
)
from shardy_py.report.explain.keeping import NO_DIMENSION, KeptField, kept_from
from shardy_py.report.explain.names import Names
from shardy_py.report.explain.neighbourhood import Neighbourhood
from shardy_py.report.explain.states import AtSpot, InSlot, Path, State, Transition, overlapping
from shardy_py.report.explain.tracing import Tracer, spots_of
from shardy_py.sharding import AxisRef, ShardingRule, TensorSharding
from shardy_py.sharding.rule import factor_symbol

Subject = ValueEntry | Spot
"""The subject of a question: an entry of a `ValueTable`, a value, or the place of a function's result."""

_NUMBER = re.compile(r"\d+")
_KEPT: tuple[tuple[AxisRole, KeptField], ...] = (
    ("replicated", "replicated_axes"),
    ("unreduced", "unreduced_axes"),
)

MOST_CHAINS = 16
"""Chains of an axis of a tensor, unless stated otherwise."""


class Explainer:
    """Explains one final program, which must not change any more, from the record of its passes."""

    def __init__(self, record: Record, module: ModuleOp, table: ValueTable | None = None) -> None:
        """`table` is that of `module`, if it exists already."""
        self.module = module
        self.tracer = Tracer(record)
        self.names = Names(record, module, table)
        self._agreements: dict[tuple[int, AxisRef], Agreements] = {}
        self._links: dict[tuple[object, ...], ChainLink] = {}
        self._known: dict[bool, dict[Transition, ChainLink | None]] = {False: {}, True: {}}
        self._neighbourhoods: dict[Propagation, Neighbourhood] = {}

    def explain(self, subject: Subject, *, most_chains: int = MOST_CHAINS) -> Explanation:
        """Returns why `subject` is sharded as it is, with at most so many chains an axis."""
        spot = spot_of(subject)
        sharding = final_sharding(spot)
        axes: list[AxisExplanation] = []
        for dimension, given in enumerate(sharding.dimensions if sharding is not None else ()):
            for axis in given.axes:
                chains = self.chains(spot, dimension, axis, most_chains)
                axes.append(AxisExplanation(dimension, axis_text(axis), chains))
        for role, field in _KEPT if sharding is not None else ():
            for axis in getattr(sharding, field):
                path = kept_from(self.tracer, spot, axis, field)
                chain = () if path is None else (self._chain(path, happened=True),)
                axes.append(AxisExplanation(NO_DIMENSION, axis_text(axis), chain, role))
        entry, place = self.names.entry(spot), self.names.place(spot)
        type_, text = "" if entry is None else str(entry.type), "" if sharding is None else str(sharding)
        return Explanation(place, type_, text, tuple(axes), bool(self.tracer.propagations))

    def explain_named(self, name: str) -> Explanations:
        """Returns why the values of that name are sharded as they are; several share a source line.

        Values of one line, op, type and sharding whose scopes differ by numbers only, such as `layer_0` and
        `layer_1`, have one explanation: that of the first.

        Raises:
            ShardyError: unknown value.
        """
        table = self.names.table
        if remark := table.other_meaning(name):
            warn(remark.message, remark.where)
        alike: dict[Hashable, list[ValueEntry]] = {}
        for number, entry in enumerate(table.find_all(name) or (table.find(name),)):
            alike.setdefault(_likeness(entry) or number, []).append(entry)
        return Explanations(
            replace(self.explain(first), alike=tuple(map(str, others))) for first, *others in alike.values()
        )

    def neighbourhood(self, propagation: Propagation) -> Neighbourhood:
        """Returns the ways along factors of a propagation of the record."""
        if propagation not in self._neighbourhoods:
            self._neighbourhoods[propagation] = Neighbourhood(propagation)
        return self._neighbourhoods[propagation]

    def chains(self, spot: Spot, dimension: int, axis: AxisRef, most: int) -> tuple[Chain, ...]:
        """Returns the chains of one axis: those that happened, shortest first, then those that agree."""
        if most == 1 and (nearest := self.tracer.nearest(spot, dimension, axis)) is not None:
            return (self._chain(nearest, happened=True),)
        happened = [*islice(self.tracer.paths(spot, dimension, axis), most)]
        chains = [self._chain(path, happened=True) for path in happened]
        seen = {path.root.key for path in happened}
        used = frozenset(seen)
        for path in self._agreeing(spot, dimension, axis, used) if len(chains) < most else ():
            if path.root.key not in seen:
                seen.add(path.root.key)
                chains.append(self._chain(path, happened=False))
                if len(chains) == most:
                    break
        return tuple(chains)

    def _agreeing(
        self, spot: Spot, dimension: int, axis: AxisRef, used: frozenset[tuple[object, ...]]
    ) -> Iterator[Path]:
        end = slot_at_end(self.tracer, AtSpot(spot, len(self.tracer.events), dimension, axis))
        if end is None:
            return iter(())
        state, way = end
        agreements = self._agreements.get((state.event, state.axis))
        if agreements is None:
            around = self.neighbourhood(self.tracer.propagation(state.event))
            agreements = Agreements(self.tracer, around, state.event, state.axis)
            self._agreements[state.event, state.axis] = agreements
        paths = agreements.paths((state.slot, state.dimension), used)
        return (Path(path.root, (*path.transitions, *way)) for path in paths)

    def _chain(self, path: Path, *, happened: bool) -> Chain:
        known = self._known[happened]
        links: list[ChainLink] = []
        for state, transition in path.transitions:
            link = known.get(transition)
            if link is None and transition not in known:
                link = known[transition] = self._link(state, transition, happened)
            if link is not None:
                links.append(link)
        root = path.root
        if root.sharding is None and self.tracer.latest(root.spot, len(self.tracer.events)) is None:
            root = replace(root, sharding=final_sharding(root.spot))  # no pass has changed it
        return Chain(self.names.annotation(root), tuple(links), happened)

    def _link(self, state: State, transition: Transition, happened: bool) -> ChainLink | None:
        arrival = transition.arrival
        if arrival is not None:
            assert isinstance(state, InSlot)
            stage = self.tracer.propagation(state.event).journal.stage_of(arrival.entry) if happened else ""
            key = state.key, arrival.step, arrival.position, arrival.factor, transition.source, stage
            link = self._links.get(key)
            if link is None:
                link = self._links[key] = self._arrival_link(state, transition, stage)
            return link
        return None if transition.movement is None else self._movement_link(state, transition.movement)

    def _arrival_link(self, state: InSlot, transition: Transition, stage: str) -> ChainLink:
        """stage: the name of the round; "" for a link that did not happen."""
        arrival, source = transition.arrival, transition.source
        assert arrival is not None and source is not None  # noqa: PT018
        propagation = self.tracer.propagation(state.event)
        spot = spots_of(propagation, state.slot)[-1]
        target, axis = self.names.place(spot), axis_text(state.axis)
        if arrival.step is None:
            member = self.names.place(spots_of(propagation, source.slot)[-1])
            note = "members of a sharding group have the same sharding"
            return ChainLink("group", target, state.dimension, axis, member, note=note)
        priority, op_priority, strategy = stage_words(stage) if stage else ("", "", "")
        rule = propagation.arrivals.rule_of(arrival.step)
        assert rule is not None
        if arrival.step <= FUNCTION_RESULT:
            kind, through = "result", target
        else:
            kind, through = "op", self.names.op(propagation.program.step_ops[arrival.step])
        sides = (source.position, source.dimension), (arrival.position, arrival.dimension)
        factor, note = factor_words(rule, arrival.factor, *sides), self._later_removal(spot, state)
        link = ChainLink(kind, target, state.dimension, axis, through, factor, str(rule), note=note)
        return replace(link, strategy=strategy, user_priority=priority, op_priority=op_priority)

    def _later_removal(self, spot: Spot, state: InSlot) -> str:
        """Returns which pass removed an axis that propagation gave a value; "" if the value still has it."""
        entry = self.names.entry(spot)
        spot = spot if entry is None else spot_of(entry)
        if entry is None or overlapping(final_sharding(spot), state.dimension, state.axis):
            return ""
        name = self.tracer.removing_pass(spot, state.dimension, state.axis)
        return f"later removed by {name}" if name else "later removed"

    def _movement_link(self, state: State, movement: Movement) -> ChainLink | None:
        target = self.names.place(movement.target)
        source = self.names.place(movement.source)
        if movement.op is None and movement.old is None and target == source:
            return None
        through = self.names.op(movement.op) if movement.op is not None else source
        note = "" if movement.old is None else f"changed from {movement.old}"
        where = target, state.dimension, axis_text(state.axis)
        return ChainLink("pass", *where, through, pass_name=movement.pass_name, note=note)


def axis_text(axis: AxisRef) -> str:
    """Returns the text of an axis without quotes.

    >>> axis_text(AxisRef("x"))
    'x'
    """
    return str(axis).replace('"', "")


def spot_of(subject: Subject) -> Spot:
    """Returns the spot of an entry."""
    if not isinstance(subject, ValueEntry):
        return subject
    if subject.value is not None:
        return subject.value
    return Holder(Place.FUNCTION_RESULT, subject.op, subject.index)


def final_sharding(spot: Spot) -> TensorSharding | None:
    """Returns the sharding of a spot in the IR."""
    holder = spot if isinstance(spot, Holder) else holder_of(spot)
    return None if holder is None else read(holder)


def stage_words(stage: str) -> tuple[str, str, str]:
    """Returns user priority, op priority and strategy in the name of a round of propagation.

    >>> stage_words("user priority 1, pass_through, aggressive")
    ('1', 'pass_through', 'aggressive')
    """
    *priority, op_priority, strategy = stage.split(", ") if ", " in stage else ("", stage)
    return (priority[0].removeprefix("user priority ") if priority else "", op_priority, strategy)


def factor_words(rule: ShardingRule, factor: int, *sides: tuple[int, int]) -> str:
    """Returns the move of an axis along a factor in words; sides: the tensor and dimension from and to.

    >>> factor_words(ShardingRule.identity((4, 8)), 1, (0, 1), (1, 1))
    'j: dim 1 of operand 0 -> dim 1 of result 0'
    """
    count = len(rule.operands)
    names = [f"operand {i}" for i in range(count)] + [f"result {i}" for i in range(len(rule.results))]
    return f"{factor_symbol(factor)}: {' -> '.join(f'dim {at} of {names[tensor]}' for tensor, at in sides)}"


def _likeness(entry: ValueEntry) -> Hashable:
    """A key that values of equal layers share; None if there is no number in the scope of a value."""
    scope = name_stack(entry.location)
    if entry.role != "intermediate" or not _NUMBER.search(scope):
        return None
    place = str(position_of(entry.location))
    return entry.op.name, entry.index, id(entry.type), entry.sharding, _NUMBER.sub("#", scope), place
