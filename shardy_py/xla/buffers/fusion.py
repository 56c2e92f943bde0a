"""Which values are never stored on a chip, because XLA computes them where they are used.

Elementwise ops, broadcasts and other cheap ops are fused into consumers of that kind, expensive ones only if
they are computed once. Reductions take elementwise producers of their operand. Not here: fusion on the host
(`host_fusion.py`). Source: openxla/xla, xla/service/instruction_fusion.cc and its backends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Repeat, Role
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent


class FusedStep(NamedTuple):
    """A stored step with those fused into it.

    members: these, each behind those fused into it, the stored one last. needs: the stored values they read.
    """

    members: list[PlannedOp]
    needs: list[Name]


@dataclass(frozen=True)
class Fusion:
    """The inputs of the model of fusion: sizes of values, what is sent for steps, what the program returns.

    reads: the stored names of what a step reads. saves_reads: values that several consumers would compute
    again are stored where that moves fewer bytes, as fusion by cost on accelerators does.
    """

    sizes: Mapping[Name, int]
    sent: Callable[[PlannedOp], Sequence[Sent]]
    results: Sequence[Name]
    reads: Callable[[PlannedOp], list[Name]]
    saves_reads: bool = False

    def fused(self, steps: Iterable[PlannedOp]) -> set[Name]:
        """The values that are computed in their consumers."""
        users: dict[Name, list[PlannedOp]] = defaultdict(list)
        for step in steps:
            for name in dict.fromkeys(self.reads(step)):
                users[name].append(step)
        returned = set(self.results)
        found: set[Name] = set()
        roots: dict[int, frozenset[int]] = {}
        broadcast = {
            step.results[0]
            for step in steps
            if TABLE[step.record.name].role is Role.BROADCAST and self.sizes.get(step.operands[0], 0) > 8
        }
        for step in reversed(list(steps)):
            roots[id(step)] = frozenset((id(step),))
            if len(step.results) != 1 or step.results[0] in returned or not self._is_producer(step):
                continue
            name, kind = step.results[0], step.record.name
            consumers = users[name]
            into = _some(roots[id(each)] for each in consumers)
            once = len(into) == 1 or not self._is_expensive(step)
            is_plain = TABLE[kind].elementwise(step.record) and broadcast.isdisjoint(step.operands)
            if STORED.of(kind).is_always_fused or (
                once and all(self._is_fused_into(kind, each, is_plain=is_plain) for each in consumers)
            ):
                found.add(name)
                roots[id(step)] = into
        return self._without_costly(steps, found, users) if self.saves_reads else found

    def _without_costly(
        self, steps: Iterable[PlannedOp], fused: set[Name], users: Mapping[Name, Sequence[PlannedOp]]
    ) -> set[Name]:
        """The steps that move no more bytes when k consumers read their inputs than when they are stored."""
        inputs: dict[Name, Iterable[Name]] = {}
        kept = set[Name]()
        for step in steps:
            name = step.results[0] if step.results else None
            if name not in fused:
                continue
            count, size = len(users[name]), self.sizes.get(name, 0)
            if count <= 1:  # costs nothing; the one consumer collects what it reads
                kept.add(name)
                inputs[name] = self.reads(step)
                continue
            read = frozenset(self._stored(self.reads(step), inputs, users))
            if (count - 1) * sum(self.sizes.get(n, 0) for n in read) <= (count + 1) * size:
                kept.add(name)
                inputs[name] = read
        return kept

    def _stored(
        self,
        names: Iterable[Name],
        inputs: Mapping[Name, Iterable[Name]],
        users: Mapping[Name, Sequence[PlannedOp]],
    ) -> Iterator[Name]:
        """The stored values behind names: those of values with one consumer are not known yet."""
        left = [*names]
        while left:
            name = left.pop()
            if name not in inputs:
                yield name
            elif len(users[name]) > 1:
                yield from inputs[name]
            else:
                left += inputs[name]

    def _is_producer(self, step: PlannedOp) -> bool:
        return not step.blocks and not self.sent(step) and is_cheap(step)

    def _is_expensive(self, step: PlannedOp) -> bool:
        return TABLE[step.record.name].repeat is Repeat.EXPENSIVE

    def _is_consumer(self, step: PlannedOp) -> bool:
        takes = is_cheap(step) or STORED.of(step.record.name).takes_plain
        return not step.blocks and takes and not self._gathers(step)

    def _is_fused_into(self, kind: str, step: PlannedOp, *, is_plain: bool) -> bool:
        """True if an op is fused into a step; an expensive one not where its elements are read repeatedly."""
        row, is_free = TABLE[step.record.name], TABLE[kind].repeat is Repeat.FREE
        if STORED.of(step.record.name).takes_plain and not (is_plain or is_free):
            return False
        is_repeated = row.role is Role.BROADCAST and TABLE[kind].repeat is Repeat.EXPENSIVE
        return self._is_consumer(step) and not is_repeated

    def _gathers(self, step: PlannedOp) -> bool:
        """True if operands of the step are sent, so that they are stored."""
        return any(each.operand >= 0 and each.collective.kind != "all_reduce" for each in self.sent(step))

    def groups(self, steps: Sequence[PlannedOp], fused: set[Name]) -> dict[int, FusedStep]:
        """The steps computed in each stored step, by its identity."""
        makers = {step.results[0]: step for step in steps if step.results and step.results[0] in fused}
        stored = (step for step in steps if not step.results or step.results[0] not in fused)
        return {id(step): self._group(step, makers) for step in stored}

    def _group(self, step: PlannedOp, makers: Mapping[Name, PlannedOp]) -> FusedStep:
        """Depth first: in a chain of fused steps each is visited once."""
        members: list[PlannedOp] = []
        needs: dict[Name, None] = {}
        seen = {id(step)}
        left = [(step, iter(self.reads(step)))]
        while left:
            last, names = left[-1]
            for name in names:
                maker = makers.get(name)
                if maker is None:
                    needs[name] = None
                elif id(maker) not in seen:
                    seen.add(id(maker))
                    left.append((maker, iter(self.reads(maker))))
                    break
            else:
                members.append(last)
                left.pop()
        return FusedStep(members, [*needs])


def is_cheap(step: PlannedOp) -> bool:
    """True if XLA fuses a step with others: elementwise ops, and those that move elements."""
    return STORED.of(step.record.name).is_fused or TABLE[step.record.name].elementwise(step.record)


def _some(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    """The union of sets, or two of its elements: it matters only whether there is one."""
    found: set[int] = set()
    for each in sets:
        found |= each
        if len(found) > 1:
            break
    return frozenset(sorted(found)[:2])
