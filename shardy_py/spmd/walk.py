"""Goes through a program whose values have tilings, and plans what XLA's partitioner sends for it.

A program is a block of steps: op records with names of values, and the tilings of results. Reshards of one
value that start alike are sent once: XLA keeps resharded values, and merges equal ops. Bodies of loops count
as often as they run. Not here: what each op needs (`handlers.py`), programs of IR as blocks.

>>> from shardy_py.ops import OpRecord, TensorType
>>> from shardy_py.sharding import Mesh
>>> rows, whole = Tiling.of(Mesh.of(x=4), [("x",)]), Tiling.replicated(1, 4)
>>> type_ = TensorType((8,), "f32")
>>> tanh = Step(OpRecord("stablehlo.tanh", (type_,), (type_,)), ("a",), ("b",), (whole,))
>>> steps = (tanh, replace(tanh, results=("c",)))
>>> main = Block((Value("a", type_, rows),), steps, ("b", "c"), (whole, whole))
>>> [(each.step.results, each.collective.kind) for each in plan_program(main).sent]
[(('b',), 'all_gather')]
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import cast

from shardy_py.ops import TABLE, Control
from shardy_py.spmd.application import Application, static_shape
from shardy_py.spmd.handlers import partition
from shardy_py.spmd.model import Collective, Plan
from shardy_py.spmd.partitioned import Partitioned
from shardy_py.spmd.patterns import Pattern, patterns_of
from shardy_py.spmd.program import Block, Name, Step, Value, used
from shardy_py.spmd.reshard import reshard
from shardy_py.spmd.tiling import Tiling

_VALUE = "value"


@dataclass(frozen=True, slots=True)
class Sent:
    """A collective, and the step that it is sent for; None: a result of the program.

    operand: the index of the operand that is sent, or of the program's result; -1: what the step makes.
    """

    step: Step | None
    collective: Collective
    operand: int = -1


@dataclass(frozen=True, slots=True)
class Rematerialized:
    """Tilings between which XLA warns of an involuntary full rematerialization, and the step of it."""

    step: Step | None
    source: Tiling
    target: Tiling


@dataclass(frozen=True)
class ProgramPlan:
    """What is sent for a program, in order, and where XLA warns.

    merged: what other steps need that was sent before for the same value; the first one is in `sent`.
    """

    sent: tuple[Sent, ...]
    rematerialized: tuple[Rematerialized, ...]
    merged: tuple[Sent, ...] = ()

    @property
    def plan(self) -> Plan:
        """The collectives alone."""
        return Plan(tuple(each.collective for each in self.sent))


def plan_program(main: Block) -> ProgramPlan:
    """Plans a program; raises ShardyError for tensors of dynamic shape."""
    walk = _Walk()
    walk.bind(main.arguments)
    walk.run(main, None, 1)
    return ProgramPlan(tuple(walk.sent), tuple(walk.rematerialized), tuple(walk.merged))


@dataclass
class _Walk:
    values: dict[Name, Partitioned] = field(default_factory=dict[Name, Partitioned])
    keys: set[Hashable] = field(default_factory=set[Hashable])
    sent: list[Sent] = field(default_factory=list[Sent])
    rematerialized: list[Rematerialized] = field(default_factory=list[Rematerialized])
    merged: list[Sent] = field(default_factory=list[Sent])

    def bind(self, arguments: Iterable[Value]) -> None:
        for value in arguments:
            if value.type is not None and value.tiling is not None:
                shape = tuple(size or 0 for size in value.type.shape)
                self._define(value.name, Partitioned.of(shape, value.tiling, value.type.element))

    def run(self, block: Block, step: Step | None, times: int) -> None:
        live = _live(block)
        patterns = patterns_of(block)
        for each in block.steps:
            found = patterns.get(each.results[0]) if each.results else None
            if found is not None and found.applies(self.values[found.source].tiling):
                self._replace(each, found, times)
            elif not each.results or not live.isdisjoint(each.results):
                self._step(each, times, live)
        for index, (name, target) in enumerate(zip(block.results, block.targets, strict=True)):
            value = self.values.get(name)
            if value is not None and target is not None:
                self._emit(reshard(value, target), step, times, index if step is None else -1)

    def _step(self, step: Step, times: int, live: Collection[Name]) -> None:
        if step.blocks:
            self._run_blocks(step, times)
            return
        operands = [self.values.get(name) for name in step.operands]
        known = tuple(value for value in operands if value is not None)
        pairs = [(n, t) for n, t in zip(step.results, step.targets, strict=True) if t is not None]
        if not pairs:
            return
        row = TABLE.get(step.record.name)
        if row is not None and row.is_wire:
            found = tuple(reshard(value, target) for value, (_, target) in zip(known, pairs, strict=True))
        else:
            targets, used = tuple(target for _, target in pairs), tuple(name in live for name, _ in pairs)
            found = partition(Application(step.record, known, targets, used, step.is_unreduced))
        for (name, _), result in zip(pairs, found, strict=True):
            unused = name not in live and result.earlier
            self._emit(result.earlier[-1] if unused else result, step, times)
            self._define(name, result)

    def _replace(self, step: Step, found: Pattern, times: int) -> None:
        """The other ops of a pattern are not made; its last one is the whole pattern."""
        if step is found.last:
            result = found.plan(self.values[found.source])
            self._emit(result, step, times)
            self._define(step.results[0], result)

    def _run_blocks(self, step: Step, times: int) -> None:
        """Operands of loops and calls are resharded for the arguments of the regions.

        Branches capture values as they are; operands of a manual computation are in their in-shardings.
        """
        is_resharded = TABLE[step.record.name].control not in (Control.BRANCHES, Control.MANUAL)
        for block in step.blocks:
            for value, name in zip(block.arguments, step.operands, strict=False):
                held = self.values.get(name)
                if held is not None and value.tiling is not None and is_resharded:
                    self._emit(reshard(held, value.tiling), step, times)
            self.bind(block.arguments)
            self.run(block, step, times * step.times)
        for i, (name, target) in enumerate(zip(step.results, step.targets, strict=True)):
            if target is not None:
                shape, type_ = static_shape(step.record, i), step.record.results[i]
                self._define(name, Partitioned.of(shape, target, type_.element if type_ else ""))

    def _emit(self, value: Partitioned, step: Step | None, times: int, result: int = -1) -> None:
        for each in value.collectives:
            if each.key is None or each.key not in self.keys:
                self.keys.add(each.key)
                reason = each.reason or (step.record.name if step else "result")
                operand = result if step is None else _operand(step, each.key)
                self.sent.append(Sent(step, replace(each, times=each.times * times, reason=reason), operand))
            else:
                self.merged.append(Sent(step, each))
        for source, target in value.rematerialized:
            self.rematerialized.append(Rematerialized(step, source, target))

    def _define(self, name: Name, value: Partitioned) -> None:
        # What was resharded inside a group of devices is another tensor: XLA does not keep it for this one.
        same = (each for each in value.earlier if each.shape == value.shape)
        earlier = tuple(_named(each, (name, i)) for i, each in enumerate(same))
        self.values[name] = replace(_named(value, name), earlier=earlier)


def _operand(step: Step, key: Hashable) -> int:
    """The index of the operand whose chain of reshards has this key; -1 if it is none of them."""
    parts = _parts(key)
    while parts and parts[0] != _VALUE:
        parts = _parts(parts[0])
    name = parts[1] if parts else None
    if name not in step.operands and (kept := _parts(name)):
        name = kept[0]
    return step.operands.index(name) if name in step.operands else -1


def _parts(key: Hashable) -> tuple[Hashable, ...]:
    return cast("tuple[Hashable, ...]", key) if isinstance(key, tuple) else ()


def _named(value: Partitioned, name: Name) -> Partitioned:
    """The value with nothing sent for it yet, so that its reshards are known by its name."""
    return replace(value, collectives=(), rematerialized=(), chain=(_VALUE, name), earlier=())


def _live(block: Block) -> set[Name]:
    """The names of the values of a block that its results need, or those of ops without results."""
    live = set[Name](block.results)
    for step in reversed(block.steps):
        if not step.results or not live.isdisjoint(step.results):
            live.update(step.operands)
            for inner in step.blocks:
                live.update(used(inner))
    return live
