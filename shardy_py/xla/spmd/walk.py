"""Goes through a program whose values have tilings, and plans what XLA's partitioner sends for it.

A program is a block of steps: op records with names of values, and the tilings of results. Reshards of one
value that start alike are sent once: XLA keeps resharded values, and merges equal ops. Bodies of loops count
as often as they run. Not here: what each op needs (`facet.py`), programs of IR as blocks.

>>> from shardy_py.ops import OpRecord, TensorType
>>> from shardy_py.sharding import Mesh
>>> rows, whole = Tiling.of(Mesh.of(x=4), [("x",)]), Tiling.replicated(1, 4)
>>> type_ = TensorType((8,), "f32")
>>> tanh = PlannedOp(OpRecord("stablehlo.tanh", (type_,), (type_,)), ("a",), ("b",), (whole,))
>>> steps = (tanh, replace(tanh, results=("c",)))
>>> main = Block((TiledValue("a", type_, rows),), steps, ("b", "c"), (whole, whole))
>>> [(each.step.results, each.collective.kind) for each in plan_program(main).sent]
[(('b',), 'all_gather')]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress, count
from operator import attrgetter, is_

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.ops import TABLE, Control
from shardy_py.xla.spmd.application import static_shape
from shardy_py.xla.spmd.applied import applied
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.facet import SentRow
from shardy_py.xla.spmd.live_values import live_values
from shardy_py.xla.spmd.loop_users import ValueUses
from shardy_py.xla.spmd.model import CollectivePlan, PlannedCollective
from shardy_py.xla.spmd.partitioned import HeldTensor, Rematerialization, without_axes
from shardy_py.xla.spmd.patterns import Pattern, PatternRole
from shardy_py.xla.spmd.planned import Needed, Planned, known_plan, planned, positions_of, tensor_held
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, TiledValue
from shardy_py.xla.spmd.recognized import patterns_of
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.step_plans import PlanFacts, Rows, StepPlan, StepPlans, Walked
from shardy_py.xla.spmd.tiling import Tiling


@dataclass(frozen=True, slots=True)
class Sent:
    """A collective, and the step that it is sent for; None: a result of the program.

    operand: the index of the operand that is sent, or of the program's result; -1: what the step makes.
    roots: the names of the values that are sent, each alone or with the number of an earlier form of it; ()
        for what the step makes. number: its position among all that is needed, also what was sent before.
    """

    step: PlannedOp | None
    collective: PlannedCollective
    operand: int = -1
    roots: tuple[Hashable, ...] = field(default=(), compare=False, repr=False)
    number: int = field(default=-1, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rematerialized:
    """Tilings between which XLA warns of an involuntary full rematerialization, and the step of it."""

    step: PlannedOp | None
    source: Tiling
    target: Tiling


@dataclass(frozen=True)
class ProgramPlan:
    """The collectives of a program, in order, and the warnings of XLA.

    merged: what other steps need that was sent before for the same value; the first one is in `sent`.
    """

    sent: tuple[Sent, ...]
    rematerialized: tuple[Rematerialized, ...]
    merged: tuple[Sent, ...] = ()

    @property
    def plan(self) -> CollectivePlan:
        """The collectives alone."""
        return CollectivePlan(tuple(each.collective for each in self.sent))


_WALKS = count()
_BLOCKS = attrgetter("blocks")
_NO_LOOPS: tuple[EinsumLoops | None, frozenset[int]] = (None, frozenset())


def plan_program(
    main: Block, plans: StepPlans | None = None, loops: EinsumLoops | None = None
) -> ProgramPlan:
    """Plans a program; raises ShardyError for tensors of dynamic shape.

    plans: those of steps that this program may share with others; receives those of its own.
    loops: when products become loops of permutes; None: never.
    """
    plans = StepPlans() if plans is None else plans
    has_blocks = any(map(_BLOCKS, main.steps))
    walk = _Walk(plans, Walked() if has_blocks else plans.take(), next(_WALKS), loops)
    with SESSION.program():
        walk.bind(main.arguments)
        walk.run(main, None, 1)
    if not has_blocks:
        plans.keep(Walked(walk.number, walk.last.made, walk.products, loops is not None))
    return ProgramPlan(tuple(walk.sent), tuple(walk.rematerialized), tuple(walk.merged))


@dataclass
class _Walk:
    """One walk. number: of it. last: the one before, whose values become those of this one."""

    plans: StepPlans
    last: Walked
    number: int
    loops: EinsumLoops | None = None
    bare: dict[Name, HeldTensor] = field(default_factory=dict[Name, HeldTensor])
    """The values that products have left without the axes of their tilings."""
    forgotten: dict[int, tuple[HeldTensor, HeldTensor]] = field(
        default_factory=dict[int, "tuple[HeldTensor, HeldTensor]"]
    )
    """By its identity, a tensor, and that without the axes of its tiling."""
    changed: set[Name] = field(default_factory=set[Name])
    """The values that are not as in the last walk, or not everywhere."""
    products: dict[int, PlannedOp] = field(default_factory=dict[int, PlannedOp])
    keys: set[Hashable] = field(default_factory=set[Hashable])
    scope: Block | None = None  # the body of a loop, or branch: in HLO a computation with values of its own
    sent: list[Sent] = field(default_factory=list[Sent])
    rematerialized: list[Rematerialized] = field(default_factory=list[Rematerialized])
    merged: list[Sent] = field(default_factory=list[Sent])
    slices: dict[Hashable, Name] = field(default_factory=dict[Hashable, Name])
    """The first slice of each kind that is just what its reshards make."""
    same: dict[Name, Name] = field(default_factory=dict[Name, Name])
    """By the name of a slice, an equal one before it: they are one tensor, which is resharded once."""
    rows: Rows = field(default_factory=Rows)
    known: dict[tuple[Hashable, ...], tuple[PlanFacts, PlannedOp]] = field(
        default_factory=dict[tuple[Hashable, ...], "tuple[PlanFacts, PlannedOp]"]
    )
    """The plans of steps of different operands, by the identities of what they depend on, which are kept."""

    def bind(self, arguments: Iterable[TiledValue]) -> None:
        for value in arguments:
            held = self.plans.held(value)
            if held is not None:
                self._set(value.name, held)

    def _set(self, name: Name, held: HeldTensor) -> None:
        made = self.last.made
        if made.get(name) is not held:
            made[name] = held
            self.changed.add(name)

    def _held(self, name: Name) -> HeldTensor:
        return self.bare.get(name) or self.last.made[name]

    def _note_products(self, block: Block, rows: Sequence[SentRow], live: set[Name]) -> None:
        """Notes what products read that only one of this walk and the last has: it may be held otherwise."""
        before = self.last.products
        products = compress(block.steps, [row.is_product for row in rows])
        self.products = now = {id(step): step for step in products if not live.isdisjoint(step.results)}
        if now.keys() != before.keys():
            for key in now.keys() ^ before.keys():
                self.changed.update((now.get(key) or before[key]).operands)

    def run(self, block: Block, step: PlannedOp | None, times: int) -> None:
        rows = self.rows.of_all(block.steps)
        live = live_values(block, rows)
        patterns = patterns_of(block, rows)
        uses = None if self.loops is None else ValueUses.of(block, live)
        # Whether a product is a loop depends on the other users of its operands, too.
        is_product_known = uses is None and not self.last.has_loops
        if step is None:
            self._note_products(block, rows, live)
        plans, changed, last, number = self.plans.known, self.changed, self.last.number, self.number
        if patterns:
            self._meet_again(block, patterns)
        known = map(plans.get, map(id, block.steps))
        for each, row, plan in zip(block.steps, rows, known, strict=True):
            if (
                plan is not None
                and plan.walk == last
                and plan.facts.is_passed
                and changed.isdisjoint(plan.names)
            ):
                plan.walk = number  # most steps of a walk that is not the first one
                continue
            results = each.results
            if results and live.isdisjoint(results):
                continue
            found = patterns.get(results[0]) if patterns and results else None
            if found is not None and found.applies(self._held(found.source).tiling):
                self._replace(each, found, times)
            elif each.blocks:
                self._run_blocks(each, times)
            elif each.tensors:
                is_same = plan is not None and plan.walk == last
                is_same = is_same and len(results) == 1 and (is_product_known or not row.is_product)
                if plan is None or not is_same or not changed.isdisjoint(plan.names):
                    plan = self._step(each, row, live, plan, uses)
                plan.walk = number
                if not plan.facts.silent:
                    self._send(plan, row, times, live)
                if row.is_product:
                    self._forget_axes(plan.names)
        for index, (name, target) in enumerate(zip(block.results, block.targets, strict=True)):
            if name in self.last.made and target is not None:
                self._reshard(name, target, step, times, index if step is None else -1)

    def _meet_again(self, block: Block, patterns: Mapping[Name, Pattern]) -> None:
        """Lets the walk look at the steps of patterns, which are not planned alone if these apply now."""
        for step in block.steps:
            plan = self.plans.known.get(id(step)) if step.results and step.results[0] in patterns else None
            if plan is not None:
                plan.walk = -1

    def _step(
        self, step: PlannedOp, row: SentRow, live: set[Name], plan: StepPlan | None, uses: ValueUses | None
    ) -> StepPlan:
        """The plan of a step, whose results become values. plan: that of an earlier walk, if there is one."""
        made, results = self.last.made, step.tensors
        names: Sequence[Name] = step.operands
        try:
            operands = [made[name] for name in names]
        except KeyError:  # other values than tensors
            names = [name for name in names if name in made]
            operands = [made[name] for name in names]
        if not self.bare.keys().isdisjoint(names):
            operands = [*map(self._held, names)]
        used: Hashable = live.issuperset(results) or tuple([name in live for name in results])
        context = _NO_LOOPS
        if uses is not None and row.is_product:
            context = self.loops, uses.shared(step)
            used = used, *context
        if (
            plan is None
            or plan.step is not step
            or plan.facts.used != used
            or not all(map(is_, plan.facts.operands, operands))
        ):
            # Keys of plans are those of steps of the program, so that their identities are their own.
            key = (id(step.plan_key), used, *map(id, operands))
            is_known = len(names) < 2 or len({*names}) == len(names)
            known = self.known.get(key) if is_known else None
            facts = (
                self._facts(step, row, used, names, operands, live, context) if known is None else known[0]
            )
            if known is None and is_known:
                self.known[key] = facts, step
            plan = self.plans.known[id(step)] = StepPlan(step, names, facts)
        held = plan.facts.held
        if self.last.number >= 0:
            for name, now in zip(results, held, strict=True):
                self._set(name, now)
        elif len(results) == 1:  # nothing was held before
            made[results[0]] = held[0]
        else:
            made.update(zip(results, held, strict=True))
        return plan

    def _facts(
        self,
        step: PlannedOp,
        row: SentRow,
        used: Hashable,
        names: Sequence[Name],
        operands: Sequence[HeldTensor],
        live: set[Name],
        context: tuple[EinsumLoops | None, frozenset[int]],
    ) -> PlanFacts:
        """The plan of a step. names: of the operands."""
        found = known_plan(step.plan_key, used, operands, names)
        if found is None:
            flags = tuple([name in live for name in step.tensors])
            found = self._planned(
                (step.plan_key, used),
                names,
                lambda operands: applied(step, operands, flags, *context),
                (step.record, step.targets),
            )
        return PlanFacts.of(used, operands, found, row)

    def _send(self, plan: StepPlan, row: SentRow, times: int, live: set[Name]) -> None:
        """Adds what is sent for a step."""
        names = plan.names
        for name, result in zip(plan.step.tensors, plan.facts.results, strict=True):
            if result.made is not None and row.part is PatternRole.SLICE:
                self._note_slice(name, result, names)
            if result.needed or result.rematerialized:
                if result.before is None or name in live:
                    self._emit(result.needed, result.rematerialized, names, plan.step, times)
                else:
                    self._emit(*result.before, names, plan.step, times)

    def _forget_axes(self, names: Iterable[Name]) -> None:
        """The operands of a product as it leaves them: later ops do not know the axes of their tilings."""
        for name in names:
            value = self._held(name)
            if value.tiling.axes:
                known = self.forgotten.get(id(value))
                if known is None:
                    known = self.forgotten[id(value)] = value, tensor_held(without_axes(value))
                self.bare[name] = known[1]

    def _note_slice(self, name: Name, result: Planned, names: Sequence[Name]) -> None:
        assert result.made is not None
        chain, roots = result.made
        key = chain, id(self.scope), id(result.held), *(self._root(root, names) for root in roots)
        first = self.slices.setdefault(key, name)
        if first is not name:
            self.same[name] = first

    def _planned(
        self,
        key: Hashable,
        names: Sequence[Name],
        plan: Callable[[Sequence[HeldTensor]], Sequence[HeldTensor]],
        holds: object = None,
    ) -> tuple[Planned, ...]:
        """The results of `plan` for the values of these names."""
        return planned(key, [*map(self._held, names)], positions_of(names), plan, holds)

    def _replace(self, step: PlannedOp, found: Pattern, times: int) -> None:
        """The other ops of a pattern are not made; its last one is the whole pattern."""
        if step is found.last:
            names = [found.source]
            (result,) = self._planned(None, names, lambda values: [found.plan(values[0])])
            self._emit(result.needed, result.rematerialized, names, step, times)
            self._set(step.results[0], result.held)

    def _reshard(
        self, name: Name, target: Tiling, step: PlannedOp | None, times: int, result: int = -1
    ) -> None:
        (found,) = self._planned(id(target), [name], lambda values: [reshard(values[0], target)], target)
        self._emit(found.needed, found.rematerialized, [name], step, times, result)

    def _run_blocks(self, step: PlannedOp, times: int) -> None:
        """Operands of loops and calls are resharded for the arguments of the regions.

        Branches capture values as they are; operands of a manual computation are in their in-shardings.
        Bodies of loops and branches read what they capture from a tuple, not what was resharded outside.
        """
        control, around = TABLE[step.record.name].control, self.scope
        is_resharded = control not in (Control.BRANCHES, Control.MANUAL)
        for block in step.blocks:
            for value, name in zip(block.arguments, step.operands, strict=False):
                if is_resharded and name in self.last.made and value.tiling is not None:
                    self._reshard(name, value.tiling, step, times)
            self.scope = block if control in (Control.BRANCHES, Control.LOOP) else around
            self.bind(block.arguments)
            self.run(block, step, times * step.times)
            self.scope = around
        for i, (name, target) in enumerate(zip(step.results, step.targets, strict=True)):
            if target is not None:
                shape, type_ = static_shape(step.record, i), step.record.results[i]
                held = HeldTensor.of(shape, target, type_.element if type_ else "")
                self._set(name, tensor_held(held))

    def _emit(
        self,
        needed: Iterable[Needed],
        rematerialized: Iterable[Rematerialization],
        names: Sequence[Name],
        step: PlannedOp | None,
        times: int,
        result: int = -1,
    ) -> None:
        """names: of the operands by position. result: the index of the program's result, without a step."""
        same, keys = self.same, self.keys
        for each in needed:
            collective, number = each.collective, len(self.sent) + len(self.merged)
            roots = tuple(
                [
                    names[root] if isinstance(root, int) and not same else self._root(root, names)
                    for root in each.roots
                ]
            )
            key = None if each.chain is None else (each.chain, id(self.scope), *roots)
            if key is None or key not in keys:
                keys.add(key)
                reason = collective.reason or (step.record.name if step else "result")
                collective = collective.sent(collective.times * times, reason, key)
                operand = result if step is None else _operand(step, names, each.origin)
                self.sent.append(Sent(step, collective, operand, roots, number))
            else:
                self.merged.append(Sent(step, replace(collective, key=key), roots=roots, number=number))
        for source, target in rematerialized:
            self.rematerialized.append(Rematerialized(step, source, target))

    def _root(self, root: int | tuple[int, int], names: Sequence[Name]) -> Hashable:
        """The name of the value that a chain of reshards starts from, or of an earlier form of it."""
        name = names[root if isinstance(root, int) else root[0]]
        name = self.same.get(name, name)
        return name if isinstance(root, int) else (name, root[1])


def _operand(step: PlannedOp, names: Sequence[Name], origin: int) -> int:
    """The index of the operand that is sent; -1 if it is none of them."""
    return step.operands.index(names[origin]) if origin >= 0 and names[origin] in step.operands else -1
