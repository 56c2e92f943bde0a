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

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field, replace
from operator import is_

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.ops import TABLE, Control, OpRecord
from shardy_py.xla.spmd.application import Application, static_shape
from shardy_py.xla.spmd.facet import SentRow, partition, sent_row
from shardy_py.xla.spmd.model import CollectivePlan, PlannedCollective
from shardy_py.xla.spmd.partitioned import HeldTensor, Rematerialization, without_axes
from shardy_py.xla.spmd.patterns import Pattern, PatternRole, Uses
from shardy_py.xla.spmd.planned import Needed, Planned, known_plan, planned, positions_of, tensor_held
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, TiledValue, used
from shardy_py.xla.spmd.reshard import reshard
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


@dataclass(slots=True, eq=False)
class StepPlan:
    """The plan of a step: for which of its results are used, its operands, and the results as they are held.

    silent: whether it sends nothing, and is no slice that may stand for others.
    """

    step: PlannedOp
    used: Hashable
    operands: Sequence[HeldTensor]
    results: tuple[Planned, ...]
    held: tuple[HeldTensor, ...]
    silent: bool


StepPlans = dict[int, StepPlan]
"""By the identity of a step."""


def plan_program(main: Block, plans: StepPlans | None = None) -> ProgramPlan:
    """Plans a program; raises ShardyError for tensors of dynamic shape.

    plans: those of steps that this program may share with others; receives those of its own.
    """
    walk = _Walk({} if plans is None else plans)
    with SESSION.program():
        walk.bind(main.arguments)
        walk.run(main, None, 1)
    return ProgramPlan(tuple(walk.sent), tuple(walk.rematerialized), tuple(walk.merged))


@dataclass
class _Rows:
    """The rows of the records of a program, each looked up once."""

    known: dict[int, tuple[OpRecord, SentRow]] = field(default_factory=dict[int, "tuple[OpRecord, SentRow]"])
    """By the identity of a record, which is kept."""

    def of(self, record: OpRecord) -> SentRow:
        known = self.known.get(id(record))
        if known is None:
            known = self.known[id(record)] = record, sent_row(record)
        return known[1]

    def of_all(self, steps: Iterable[PlannedOp]) -> list[SentRow]:
        """The row of each step."""
        known, of = self.known, self.of
        found: list[SentRow] = []
        for step in steps:
            row = known.get(id(step.record))
            found.append(of(step.record) if row is None else row[1])
        return found


@dataclass
class _Walk:
    plans: StepPlans
    values: dict[Name, HeldTensor] = field(default_factory=dict[Name, HeldTensor])
    keys: set[Hashable] = field(default_factory=set[Hashable])
    sent: list[Sent] = field(default_factory=list[Sent])
    rematerialized: list[Rematerialized] = field(default_factory=list[Rematerialized])
    merged: list[Sent] = field(default_factory=list[Sent])
    slices: dict[Hashable, Name] = field(default_factory=dict[Hashable, Name])
    """The first slice of each kind that is just what its reshards make."""
    same: dict[Name, Name] = field(default_factory=dict[Name, Name])
    """By the name of a slice, an equal one before it: they are one tensor, which is resharded once."""
    rows: _Rows = field(default_factory=_Rows)
    bare: dict[int, tuple[HeldTensor, HeldTensor]] = field(
        default_factory=dict[int, "tuple[HeldTensor, HeldTensor]"]
    )
    """By its identity, a tensor, and that without the axes of its tiling."""

    def bind(self, arguments: Iterable[TiledValue]) -> None:
        for value in arguments:
            if value.type is not None and value.tiling is not None:
                shape = tuple(size or 0 for size in value.type.shape)
                held = HeldTensor.of(shape, value.tiling, value.type.element)
                self.values[value.name] = tensor_held(held)

    def run(self, block: Block, step: PlannedOp | None, times: int) -> None:
        rows = self.rows.of_all(block.steps)
        live = _live(block, rows)
        patterns = _patterns_of(block, rows)
        for each, row in zip(block.steps, rows, strict=True):
            if each.results and live.isdisjoint(each.results):
                continue
            found = patterns.get(each.results[0]) if patterns and each.results else None
            if found is not None and found.applies(self.values[found.source].tiling):
                self._replace(each, found, times)
            elif each.blocks:
                self._run_blocks(each, times)
            elif each.tensors:
                self._step(each, row, times, live)
        for index, (name, target) in enumerate(zip(block.results, block.targets, strict=True)):
            if name in self.values and target is not None:
                self._reshard(name, target, step, times, index if step is None else -1)

    def _step(self, step: PlannedOp, row: SentRow, times: int, live: set[Name]) -> None:
        values, results = self.values, step.tensors
        names: Sequence[Name] = step.operands
        try:
            operands = [values[name] for name in names]
        except KeyError:  # other values than tensors
            names = [name for name in names if name in values]
            operands = [values[name] for name in names]
        used = live.issuperset(results) or tuple([name in live for name in results])
        plan = self.plans.get(id(step))
        if (
            plan is None
            or plan.step is not step
            or plan.used != used
            or not all(map(is_, plan.operands, operands))
        ):
            found = known_plan(step.plan_key, used, operands, names)
            if found is None:
                flags = tuple([name in live for name in results])
                key, holds = (step.plan_key, used), (step.record, step.targets)
                found = self._planned(key, names, lambda operands: _applied(step, operands, flags), holds)
            plan = self.plans[id(step)] = _step_plan(step, row, used, operands, found)
        if not plan.silent:
            self._send(plan, row, names, times, live)
        for name, held in zip(results, plan.held, strict=True):
            values[name] = held
        if row.is_product:
            for name in names:
                values[name] = self._without_axes(values[name])

    def _send(self, plan: StepPlan, row: SentRow, names: Sequence[Name], times: int, live: set[Name]) -> None:
        """What is sent for a step. names: of its operands."""
        for name, result in zip(plan.step.tensors, plan.results, strict=True):
            if result.made is not None and row.part is PatternRole.SLICE:
                self._note_slice(name, result, names)
            if result.needed or result.rematerialized:
                if result.before is None or name in live:
                    self._emit(result.needed, result.rematerialized, names, plan.step, times)
                else:
                    self._emit(*result.before, names, plan.step, times)

    def _without_axes(self, value: HeldTensor) -> HeldTensor:
        """The tensor as products leave it: later ops do not know the axes of its tiling."""
        known = self.bare.get(id(value))
        if known is None:
            known = self.bare[id(value)] = value, tensor_held(without_axes(value))
        return known[1]

    def _note_slice(self, name: Name, result: Planned, names: Sequence[Name]) -> None:
        assert result.made is not None
        chain, roots = result.made
        key = chain, id(result.held), *(self._root(root, names) for root in roots)
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
        return planned(key, [self.values[name] for name in names], positions_of(names), plan, holds)

    def _replace(self, step: PlannedOp, found: Pattern, times: int) -> None:
        """The other ops of a pattern are not made; its last one is the whole pattern."""
        if step is found.last:
            names = [found.source]
            (result,) = self._planned(None, names, lambda values: [found.plan(values[0])])
            self._emit(result.needed, result.rematerialized, names, step, times)
            self.values[step.results[0]] = result.held

    def _reshard(
        self, name: Name, target: Tiling, step: PlannedOp | None, times: int, result: int = -1
    ) -> None:
        (found,) = self._planned(id(target), [name], lambda values: [reshard(values[0], target)], target)
        self._emit(found.needed, found.rematerialized, [name], step, times, result)

    def _run_blocks(self, step: PlannedOp, times: int) -> None:
        """Operands of loops and calls are resharded for the arguments of the regions.

        Branches capture values as they are; operands of a manual computation are in their in-shardings.
        """
        is_resharded = TABLE[step.record.name].control not in (Control.BRANCHES, Control.MANUAL)
        for block in step.blocks:
            for value, name in zip(block.arguments, step.operands, strict=False):
                if is_resharded and name in self.values and value.tiling is not None:
                    self._reshard(name, value.tiling, step, times)
            self.bind(block.arguments)
            self.run(block, step, times * step.times)
        for i, (name, target) in enumerate(zip(step.results, step.targets, strict=True)):
            if target is not None:
                shape, type_ = static_shape(step.record, i), step.record.results[i]
                held = HeldTensor.of(shape, target, type_.element if type_ else "")
                self.values[name] = tensor_held(held)

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
        for each in needed:
            collective, number = each.collective, len(self.sent) + len(self.merged)
            roots = tuple([self._root(root, names) for root in each.roots])
            key = None if each.chain is None else (each.chain, *roots)
            if key is None or key not in self.keys:
                self.keys.add(key)
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


def _step_plan(
    step: PlannedOp,
    row: SentRow,
    used: Hashable,
    operands: Sequence[HeldTensor],
    results: tuple[Planned, ...],
) -> StepPlan:
    is_slice = row.part is PatternRole.SLICE
    silent = not any(
        each.needed or each.rematerialized or (is_slice and each.made is not None) for each in results
    )
    return StepPlan(step, used, operands, results, tuple([each.held for each in results]), silent)


def _applied(step: PlannedOp, operands: Sequence[HeldTensor], used: tuple[bool, ...]) -> Sequence[HeldTensor]:
    """The results of a step, for operands whose reshards are known."""
    targets = tuple([target for target in step.targets if target is not None])
    row = TABLE.get(step.record.name)
    if row is not None and row.is_wire:
        pairs = zip(operands, targets, strict=True)
        return [replace(reshard(value, target), number=None) for value, target in pairs]
    return partition(Application(step.record, tuple(operands), targets, used, step.is_unreduced))


def _operand(step: PlannedOp, names: Sequence[Name], origin: int) -> int:
    """The index of the operand that is sent; -1 if it is none of them."""
    return step.operands.index(names[origin]) if origin >= 0 and names[origin] in step.operands else -1


def _patterns_of(block: Block, rows: Sequence[SentRow]) -> dict[Name, Pattern]:
    """The patterns in a block, by the results of their steps, which are used nowhere else."""
    found: dict[Name, Pattern] = {}
    inside: Uses | None = None
    for step, row in zip(block.steps, rows, strict=True):
        for recognize in row.patterns:
            inside = inside or _uses(block, rows)
            match = recognize(step, inside)
            if match is not None:
                pattern, steps = match
                found |= dict.fromkeys((each.results[0] for each in (step, *steps)), pattern)
    return found


def _uses(block: Block, rows: Sequence[SentRow]) -> Uses:
    pairs = zip(block.steps, rows, strict=True)
    return Uses(
        block, {step.results[0]: (step, row.part) for step, row in pairs if row.part and step.results}
    )


def _live(block: Block, rows: Sequence[SentRow]) -> set[Name]:
    """The names of the values of a block that its results need, or those of ops without results."""
    live = set[Name](block.results)
    for step, row in zip(reversed(block.steps), reversed(rows), strict=True):
        if not step.results or not live.isdisjoint(step.results):
            live.update(step.operands)
            if row.needs_all:
                live.update(step.results)
            for inner in step.blocks:
                live.update(used(inner))
    return live
