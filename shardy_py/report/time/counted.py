"""The arithmetic of a function of a partitioned program, of the whole program and of each device.

Sums over devices count as XLA counts them: one addition for each element of an all-reduce. Not here: one op
(`local_work.py`), sums over blocks (`program_work.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import field
from math import prod

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.typed import of_kind
from shardy_py.report.time.local_work import NOTHING, DeviceWork, is_idle, known_work, local_work, whole_work
from shardy_py.report.time.program_work import live_steps, steps_work
from shardy_py.sharding import Mesh
from shardy_py.xla.buffers.on_chips import by_step
from shardy_py.xla.spmd.from_program import SpmdProgram, source_op
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import ProgramPlan, Sent


@dataclass(frozen=True, slots=True)
class Counted:
    """The work of the whole program, and of each device of the partitioned one."""

    whole: DeviceWork
    local: DeviceWork


def counted(program: SpmdProgram, function: FuncOp, *, repeats: bool = True) -> Counted:
    """Returns the work of a function.

    repeats: whether a loop counts as often as it runs, and a manual computation as often as there are parts;
    otherwise both count once, as in XLA.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    facts = PlannedFacts.of(program, function)
    block, sent, equal, works = facts.block, facts.sent, facts.equal, facts.works

    def local(step: PlannedOp) -> DeviceWork:
        own = sent.get(id(step))
        if not own:
            return works.get(id(step)) or facts.work(step, ())
        return NOTHING if id(step) in equal else facts.work(step, own) + DeviceWork(flops=_added(own))

    ends = DeviceWork(flops=_added(sent.get(id(None), ())))
    live = live_steps(block)
    if not repeats:
        once = steps_work(live, whole_work, lambda step: 1)
        return Counted(once, steps_work(live, local, lambda step: 1) + ends)
    whole = steps_work(live, whole_work, lambda step: step.times * _parts(step, program.meshes))
    return Counted(whole, steps_work(live, local) + ends)


@dataclass(frozen=True, eq=False, slots=True)
class PlannedFacts:
    """A planned function, and what follows from it for several parts of a report.

    sent: the collectives by the identity of their step. tilings: of all values. equal: as `equal_steps`.
    is_planned: as `local_work` takes it. works: by the identity of a step of the block, what each device
    computes for it: nothing for a step that equals another.
    """

    block: Block
    plan: ProgramPlan
    sent: Mapping[int, list[Sent]]
    tilings: Mapping[Name, Tiling | None]
    equal: Set[int]
    is_planned: bool
    works: dict[int, DeviceWork] = field(default_factory=dict[int, DeviceWork])
    _kept: list[PlannedOp] = field(default_factory=list[PlannedOp])
    """Steps that are not of the block: their identities are keys."""

    def work(self, step: PlannedOp, sent: Sequence[Sent]) -> DeviceWork:
        """Returns the work of a step on each device; sent: what is sent for it."""
        known = self.works.get(id(step))
        if known is None:
            known = self._work(step, sent)
            self._kept.append(step)
            self.works[id(step)] = known
        return known

    def _work(self, step: PlannedOp, sent: Sequence[Sent]) -> DeviceWork:
        if id(step) in self.equal or is_idle(step.record):
            return NOTHING
        held = [self.tilings.get(name) for name in step.operands]
        return local_work(step, sent, held, is_planned=self.is_planned)

    def count(self) -> None:
        """Counts the work of steps for which nothing is sent: once for equal ones of operands held alike."""
        tilings, works, equal, sent = self.tilings.get, self.works, self.equal, self.sent
        alike: dict[tuple[int, ...], DeviceWork | None] = {}
        for step in self.block.steps:
            number = id(step)
            if number in equal:
                works[number] = NOTHING
                continue
            if number in sent:
                continue
            key = (id(step.plan_key), *[id(tilings(name)) for name in step.operands])
            known = alike.get(key)
            if known is None:
                known = self._work(step, ())
                alike[key] = None if known_work(step.record).is_of_region else known
            works[number] = known

    @staticmethod
    def of(program: SpmdProgram, function: FuncOp) -> PlannedFacts:
        """Returns the facts of a function: the same ones for all reports on a program."""
        key = PlannedFacts, function
        known = program.kept.get(key)
        if not isinstance(known, PlannedFacts):
            block, plan = program.planned(function)
            made = by_step(plan.sent), tilings_of(block), equal_steps(block)
            known = program.kept[key] = PlannedFacts(block, plan, *made, program.is_planned)
            known.count()
        return known


def _parts(step: PlannedOp, meshes: Mapping[str, Mesh]) -> int:
    """The number of parts that devices compute in a manual computation; 1 for other steps."""
    axes = manual_axes(of_kind(step.source, Operation)) if step.source is not None else ()
    mesh = next((mesh for mesh in meshes.values() if set(axes) <= mesh.sizes.keys()), None)
    return prod(mesh.sizes[axis] for axis in axes) if mesh is not None else 1


def equal_steps(block: Block) -> set[int]:
    """The identities of steps that equal an earlier one of their block: XLA merges them."""
    return _equal_steps(block, {})


def _equal_steps(block: Block, mergeable: dict[int, bool]) -> set[int]:
    """mergeable: by the identity of the op of a step with regions, or else of its record, whether equal ones
    are merged."""
    found: set[int] = set()
    names: dict[Name, Name] = {}
    renamed = names.keys()
    known: dict[tuple[Hashable, ...], PlannedOp] = {}
    for step in block.steps:
        if step.blocks:
            for inner in step.blocks:
                found |= _equal_steps(inner, mergeable)
            continue
        is_mergeable = mergeable.get(id(step.record))
        if is_mergeable is None:
            op = source_op(step)
            # A computation with many values has a step for each.
            number = id(step.record) if op is None or not op.regions else id(op)
            is_mergeable = mergeable.get(number)
            if is_mergeable is None:
                is_mergeable = op is not None and is_dead_when_unused(op)
                mergeable[number] = is_mergeable
            is_mergeable = is_mergeable and bool(step.results)
        if not is_mergeable:
            continue
        operands = step.operands
        if not renamed.isdisjoint(operands):
            operands = [names.get(name, name) for name in operands]
        first = known.setdefault((step.plan_key, *operands), step)
        if first is not step:
            found.add(id(step))
            names |= zip(step.results, first.results, strict=True)
    return found


def tilings_of(block: Block) -> dict[Name, Tiling | None]:
    """The tilings of all values of a block and its regions."""
    found = {value.name: value.tiling for value in block.arguments}
    for step in block.steps:
        if len(step.results) == len(step.targets) == 1:
            found[step.results[0]] = step.targets[0]
        else:
            found.update(zip(step.results, step.targets, strict=False))
        for inner in step.blocks:
            found |= tilings_of(inner)
    return found


def _added(sent: list[Sent] | tuple[Sent, ...]) -> int:
    """The additions of all-reduces that the partitioner adds, as XLA counts them."""
    sums = (each.collective for each in sent if each.collective.kind == "all_reduce")
    return sum(prod(each.held_shape) for each in sums)
