"""Which values are never stored on a chip, because XLA computes them where they are used.

Elementwise ops, broadcasts and other cheap ops are fused into consumers of that kind, expensive ones only if
they are computed once. Reductions take elementwise producers of their operand. Not here: fusion on the host
(`host_fusion.py`). Source: openxla/xla, xla/service/instruction_fusion.cc and its backends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.storing import StoringKind, StoringKinds
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent


class FusedStep(NamedTuple):
    """A stored step with those fused into it.

    members: these, each behind those fused into it, the stored one last. needs: the stored values they read.
    over: those of them in whose place the result may be: that no product reads.
    """

    members: list[PlannedOp]
    needs: list[Name]
    over: Collection[Name]


@dataclass(frozen=True, eq=False)
class Fusion:
    """The model of fusion of steps.

    sizes: of values. sent: for a step. results: that the program returns. kinds: of the records of steps.
    reads: the stored names of what a step reads.
    """

    steps: Sequence[PlannedOp]
    sizes: Mapping[Name, int]
    sent: Callable[[PlannedOp], Sequence[Sent]]
    results: Sequence[Name]
    kinds: StoringKinds
    reads: Callable[[PlannedOp], Sequence[Name]]
    on_tpu: bool = False

    @cached_property
    def fused(self) -> set[Name]:
        """The values that are computed in their consumers."""
        steps, users = self.steps, self._users
        returned = set(self.results)
        found: set[Name] = set()
        roots: dict[int, frozenset[int]] = {}
        kinds, sizes, sent = self.kinds.of, self.sizes, self.sent
        broadcast = {
            step.results[0]
            for step in steps
            if kinds(step.record).is_broadcast and sizes.get(step.operands[0], 0) > 8
        }
        products = set[int]()
        """By identity, the steps that are computed with a product."""
        taking: dict[int, StoringKind] = {}
        """By the identity of a step that may take in others, its kind."""
        for step in reversed(steps):
            kind, own, number = kinds(step.record), sent(step), id(step)
            roots[number] = frozenset((number,))
            takes = kind.is_cheap or kind.row.takes_plain or (self.on_tpu and kind.row.is_product)
            if takes and not (step.blocks or _gathers(own)):
                taking[number] = kind
            if self.on_tpu and kind.row.is_product:
                products.add(number)
                if not own and self._joins(step, taking, returned, roots, products):
                    (user,) = users[step.results[0]]
                    found.add(step.results[0])
                    roots[number] = roots[id(user)]
                    products |= roots[number]
                continue
            if own or not kind.is_cheap or step.blocks or len(step.results) != 1:
                continue
            if self.on_tpu and kind.row.is_alone_on_tpu:
                continue
            name = step.results[0]
            if name in returned:
                continue
            consumers = users.get(name, ())
            into = _roots_of(consumers, roots)
            if kind.row.is_always_fused or (
                (len(into) == 1 or not kind.is_expensive or (self.on_tpu and not _is_one_element(step)))
                and self._is_fused_into_all(kind, step, consumers, taking, broadcast)
            ):
                found.add(name)
                roots[number] = into
        return found

    @cached_property
    def _behind_product(self) -> set[Name]:
        """The values that are computed with the product that they are made of, which nothing else reads."""
        found: set[Name] = set()
        for step in self.steps:
            kind = self.kinds.of(step.record)
            is_plain = kind.is_elementwise or kind.is_transpose
            if len(step.results) != 1 or self.sent(step):
                continue
            if kind.row.is_product or (is_plain and not found.isdisjoint(self._alone(step))):
                found.add(step.results[0])
        return found

    def _alone(self, step: PlannedOp) -> Iterator[Name]:
        """The values that only this step reads."""
        return (name for name in self.reads(step) if len(self._users[name]) == 1)

    def _joins(
        self,
        step: PlannedOp,
        taking: Mapping[int, StoringKind],
        returned: Collection[Name],
        roots: Mapping[int, frozenset[int]],
        products: Collection[int],
    ) -> bool:
        """True if a product is computed with the elementwise op that alone reads it, and no other product."""
        readers = self._users.get(step.results[0], ())
        if len(step.results) != 1 or step.results[0] in returned or len(readers) != 1:
            return False
        kind = taking.get(id(readers[0]))
        if kind is None or not (kind.is_elementwise or kind.is_transpose):
            return False
        into = roots[id(readers[0])]
        return len(into) == 1 and into.isdisjoint(products)

    @cached_property
    def _users(self) -> dict[Name, list[PlannedOp]]:
        """The steps that read each value."""
        users: dict[Name, list[PlannedOp]] = {}
        for step in self.steps:
            for name in dict.fromkeys(self.reads(step)):
                known = users.get(name)
                if known is None:
                    users[name] = [step]
                else:
                    known.append(step)
        return users

    def _is_fused_into_all(
        self,
        kind: StoringKind,
        step: PlannedOp,
        consumers: Iterable[PlannedOp],
        taking: Mapping[int, StoringKind],
        broadcast: set[Name],
    ) -> bool:
        """True if an op is fused into steps; an expensive one not where its elements are read repeatedly."""
        is_plain = kind.is_elementwise and (self.on_tpu or broadcast.isdisjoint(step.operands))
        for each in consumers:
            into = taking.get(id(each))
            if into is not None and into.row.is_product and step.results[0] in self._behind_product:
                return False
            takes_plain = into is not None and (into.row.takes_plain or into.row.is_product)
            is_layout = kind.is_transpose and into is not None and into.row.is_product
            if into is None or (takes_plain and not (is_plain or kind.is_repeatable or is_layout)):
                return False
            if into.is_broadcast and kind.is_expensive:
                return False
        return True

    @cached_property
    def _without_costly(self) -> set[Name]:
        """The fused values that move no more bytes when k consumers read their inputs than when stored."""
        fused, users = self.fused, self._users
        inputs: dict[Name, Iterable[Name]] = {}
        kept = set[Name]()
        for step in self.steps:
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

    def groups(self, *, saves_reads: bool = False) -> dict[int, FusedStep]:
        """The steps computed in each stored step, by its identity.

        saves_reads: values that several consumers would compute again are stored where that moves fewer
        bytes, as fusion by cost on accelerators does.
        """
        fused = self._without_costly if saves_reads else self.fused
        makers = {step.results[0]: step for step in self.steps if step.results and step.results[0] in fused}
        stored = (step for step in self.steps if not step.results or step.results[0] not in fused)
        return {id(step): self._group(step, makers) for step in stored}

    def _group(self, step: PlannedOp, makers: Mapping[Name, PlannedOp]) -> FusedStep:
        """Depth first: in a chain of fused steps each is visited once."""
        reads = dict.fromkeys(self.reads(step))
        if makers.keys().isdisjoint(reads):
            return FusedStep([step], [*reads], reads)
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
        return FusedStep(members, [*needs], self._beside_product(members, needs))

    def _beside_product(self, members: Sequence[PlannedOp], needs: Collection[Name]) -> Collection[Name]:
        """The values that fused steps read and no product among them needs."""
        products = [step for step in members if self.kinds.of(step.record).row.is_product]
        if not products:
            return needs
        makers = {step.results[0]: step for step in members if step.results}
        needed: set[Name] = set()
        left = [name for step in products for name in self.reads(step)]
        while left:
            name = left.pop()
            if name not in needed:
                needed.add(name)
                left += self.reads(makers[name]) if name in makers else ()
        return [name for name in needs if name not in needed]


def _is_one_element(step: PlannedOp) -> bool:
    """True if a result is one element: computed in all its readers, a long chain before it would be, too."""
    type_ = step.record.results[0]
    return type_ is not None and all(size == 1 for size in type_.shape)


def _gathers(sent: Iterable[Sent]) -> bool:
    """True if operands of a step are sent, so that they are stored."""
    return any(each.operand >= 0 and each.collective.kind != "all_reduce" for each in sent)


def _roots_of(steps: Sequence[PlannedOp], roots: Mapping[int, frozenset[int]]) -> frozenset[int]:
    """The stored steps that some are computed in, or two of these: it matters only whether there is one."""
    if len(steps) == 1:
        return roots[id(steps[0])]
    found: set[int] = set()
    for each in steps:
        found |= roots[id(each)]
        if len(found) > 1:
            break
    return frozenset(sorted(found)[:2])
