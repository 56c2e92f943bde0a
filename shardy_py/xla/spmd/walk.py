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
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.facet import SentRow, partition, sent_row
from shardy_py.xla.spmd.loop_users import ValueUses
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


_NO_LOOPS: tuple[EinsumLoops | None, frozenset[int]] = (None, frozenset())
StepPlans = dict[int, tuple[PlannedOp, Hashable, Sequence[HeldTensor], tuple[Planned, ...]]]
"""By the identity of a step: the step, which results were used, its operands, and its plan."""


def plan_program(
    main: Block, plans: StepPlans | None = None, loops: EinsumLoops | None = None
) -> ProgramPlan:
    """Plans a program; raises ShardyError for tensors of dynamic shape.

    plans: those of steps that this program may share with others; receives those of its own.
    loops: when products become loops of permutes; None: never.
    """
    walk = _Walk({} if plans is None else plans, loops)
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


@dataclass
class _Walk:
    plans: StepPlans
    loops: EinsumLoops | None = None
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

    def bind(self, arguments: Iterable[TiledValue]) -> None:
        for value in arguments:
            if value.type is not None and value.tiling is not None:
                shape = tuple(size or 0 for size in value.type.shape)
                held = HeldTensor.of(shape, value.tiling, value.type.element)
                self.values[value.name] = tensor_held(held)

    def run(self, block: Block, step: PlannedOp | None, times: int) -> None:
        live = _live(block, self.rows)
        patterns = _patterns_of(block, self.rows)
        uses = None if self.loops is None else ValueUses.of(block, live)
        for each in block.steps:
            if each.results and live.isdisjoint(each.results):
                continue
            found = patterns.get(each.results[0]) if patterns and each.results else None
            if found is not None and found.applies(self.values[found.source].tiling):
                self._replace(each, found, times)
            else:
                self._step(each, times, live, uses)
        for index, (name, target) in enumerate(zip(block.results, block.targets, strict=True)):
            if name in self.values and target is not None:
                self._reshard(name, target, step, times, index if step is None else -1)

    def _step(self, step: PlannedOp, times: int, live: set[Name], uses: ValueUses | None) -> None:
        if step.blocks:
            self._run_blocks(step, times)
            return
        results = step.tensors
        if not results:
            return
        values = self.values
        names: Sequence[Name] = step.operands
        try:
            operands = [values[name] for name in names]
        except KeyError:  # other values than tensors
            names = [name for name in names if name in values]
            operands = [values[name] for name in names]
        used: Hashable = live.issuperset(results) or tuple([name in live for name in results])
        row, context = self.rows.of(step.record), _NO_LOOPS
        if uses is not None and row.is_product:
            context = self.loops, uses.shared(step)
            used = used, *context
        last = self.plans.get(id(step))
        if last is not None and last[0] is step and last[1] == used and all(map(is_, last[2], operands)):
            found = last[3]
        else:
            found = known_plan(step.plan_key, used, operands, names)
            if found is None:
                flags = tuple([name in live for name in results])
                key, holds = (step.plan_key, used), (step.record, step.targets)
                found = self._planned(
                    key, names, lambda operands: _applied(step, operands, flags, *context), holds
                )
            self.plans[id(step)] = step, used, operands, found
        for name, result in zip(results, found, strict=True):
            if result.made is not None and row.part is PatternRole.SLICE:
                self._note_slice(name, result, names)
            if result.needed or result.rematerialized:
                if result.before is None or name in live:
                    self._emit(result.needed, result.rematerialized, names, step, times)
                else:
                    self._emit(*result.before, names, step, times)
            values[name] = result.held
        if row.is_product:
            for name in names:
                values[name] = tensor_held(without_axes(values[name]))

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
                collective = replace(collective, times=collective.times * times, reason=reason, key=key)
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


def _applied(
    step: PlannedOp,
    operands: Sequence[HeldTensor],
    used: tuple[bool, ...],
    loops: EinsumLoops | None,
    shared: frozenset[int],
) -> Sequence[HeldTensor]:
    """The results of a step, for operands whose reshards are known."""
    targets = tuple([target for target in step.targets if target is not None])
    row = TABLE.get(step.record.name)
    if row is not None and row.is_wire:
        pairs = zip(operands, targets, strict=True)
        return [replace(reshard(value, target), number=None) for value, target in pairs]
    return partition(
        Application(step.record, tuple(operands), targets, used, step.is_unreduced, loops, shared)
    )


def _operand(step: PlannedOp, names: Sequence[Name], origin: int) -> int:
    """The index of the operand that is sent; -1 if it is none of them."""
    return step.operands.index(names[origin]) if origin >= 0 and names[origin] in step.operands else -1


def _patterns_of(block: Block, rows: _Rows) -> dict[Name, Pattern]:
    """The patterns in a block, by the results of their steps, which are used nowhere else."""
    found: dict[Name, Pattern] = {}
    inside: Uses | None = None
    for step in block.steps:
        for recognize in rows.of(step.record).patterns:
            inside = inside or Uses(block, lambda step: rows.of(step.record).part)
            match = recognize(step, inside)
            if match is not None:
                pattern, steps = match
                found |= dict.fromkeys((each.results[0] for each in (step, *steps)), pattern)
    return found


def _live(block: Block, rows: _Rows) -> set[Name]:
    """The names of the values of a block that its results need, or those of ops without results."""
    live = set[Name](block.results)
    for step in reversed(block.steps):
        if not step.results or not live.isdisjoint(step.results):
            live.update(step.operands)
            if rows.of(step.record).needs_all:
                live.update(step.results)
            for inner in step.blocks:
                live.update(used(inner))
    return live
