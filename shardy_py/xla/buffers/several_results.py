"""The fusions of XLA:TPU that make several values: of an op and what reads it, and of ops with one operand.

A fusion takes in a reader whose elements are those of its own result, also one that reduces them, although
others read the result, too. Two fusions without a product that read one value become one if their elements
have the same dimensions. What only the new fusion reads is not stored. Source: openxla/xla,
xla/service/multi_output_fusion.h, and about 1,000 such fusions in 200 programs that XLA:TPU compiled.

Not here: fusions of one value (`fusion.py`), the addresses of several (`beside_vmem.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from heapq import heapify, heappop, heappush
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.rounded_outside import round_outside
from shardy_py.xla.buffers.schedule import Event, is_in_loop
from shardy_py.xla.buffers.tpu.packed_bits import packs_bits
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_MOST_VISITS = 128
"""The events between two others among which a path is looked for; if there are more, there may be one: this
bounds the time, and changes no figure of 466 programs."""


class EmitterKind(Enum):
    """The part that writes the code of an event: loops over elements, or a product with what follows it."""

    LOOP = auto()
    PRODUCT = auto()


class Fusible(NamedTuple):
    """An event that may be fused with others.

    shape: of its elements, which are those of the operand of a reduction. is_reduced: whether they are
    reduced. is_narrow: whether each of them is one bit, which has other tiles. is_shifted: whether it is
    computed with the largest elements that it subtracts (`shifted.py`). packs: whether the reduction packs
    bits into words.
    """

    emitter: EmitterKind
    shape: tuple[int, ...]
    is_reduced: bool
    is_narrow: bool
    is_shifted: bool = False
    packs: bool = False


def with_fusions(
    block: StoredBlock,
    events: Sequence[Event],
    members: Mapping[int, Sequence[PlannedOp]],
    shifted: Collection[Name] = (),
) -> list[Event]:
    """Returns the events of a block in program order, those that are one fusion as one.

    members: by the identity of a step, what is computed in it. shifted: see `shifted.py`. Notes that what is
    made with a product is not in VMEM.
    """
    constant = {name for event in events if _is_constant(event) for name in event.makes}

    def fusible(event: Event) -> Fusible | None:
        own = members.get(id(event.step))
        found = None if own is None or event.sent is not None else _fusible(block, event, own)
        return (
            found
            if found is None or event.step.results[0] not in shifted
            else found._replace(is_shifted=True)
        )

    def is_shared(name: Name) -> bool:
        type_ = block.types.get(name)
        return name not in constant and (type_ is None or prod(size or 0 for size in type_.shape) > 1)

    kept = {*block.results, *block.returned}
    merging = _merging(events, fusible, is_shared)
    found = merging.merged(kept)
    groups = [group if number in merging.own else -1 for number, group in enumerate(merging.groups)]
    round_outside(block, events, members, groups, kept)
    for event in found:
        own = fusible(event) if len(event.makes) > 1 else None
        if own is None:
            continue
        if own.emitter is EmitterKind.PRODUCT or own.is_shifted:
            block.in_vmem.made.difference_update(event.makes)
            block.in_vmem.returned.difference_update(event.makes)
        elif block.setting.sends_apart:
            returned = {*event.makes}.intersection(block.results)
            block.in_vmem.returned.update(returned)
            block.in_vmem.made.update({*event.makes} - returned)
    return found


def _is_constant(event: Event) -> bool:
    return event.step is not None and STORED.of(event.step.record.name).is_constant


def _fusible(block: StoredBlock, event: Event, members: Sequence[PlannedOp]) -> Fusible | None:
    """The form of an event for fusions with others; None if it has an emitter of its own, or runs others."""
    step = event.step
    if step.blocks or len(step.results) != 1 or any(map(is_in_loop, event.reads)):
        return None
    kinds = [block.kinds.of(each.record) for each in members]
    if any(kind.is_alone_on_tpu or kind.is_in_place or kind.is_sent for kind in kinds):
        return None
    is_reduced = COMPILED.of(step.record.name).form is NodeForm.REDUCE
    is_product = any(kind.row.is_product for kind in kinds)
    if not (is_reduced or is_product or kinds[-1].is_cheap):
        return None
    if kinds[-1].row.is_constant or kinds[-1].is_broadcast:  # what reads broadcasts computes them
        return None
    type_ = block.types.get(step.operands[0] if is_reduced else step.results[0])
    if type_ is None:
        return None
    shape = tuple(size or 0 for size in type_.shape if size != 1)
    emitter = EmitterKind.PRODUCT if is_product else EmitterKind.LOOP
    packs = is_reduced and packs_bits(step.record)
    return Fusible(emitter, shape, is_reduced, type_.element == "i1", packs=packs)


def with_several_results(
    events: Sequence[Event],
    fusible: Callable[[Event], Fusible | None],
    is_shared: Callable[[Name], bool],
    kept: Collection[Name],
) -> list[Event]:
    """Returns events in program order, those that are one fusion as one.

    fusible: what an event is, if it may be one with others. is_shared: whether reading a value is a reason
    to be one fusion. kept: the values that are needed in any case.
    """
    return _merging(events, fusible, is_shared).merged(kept)


def _merging(
    events: Sequence[Event],
    fusible: Callable[[Event], Fusible | None],
    is_shared: Callable[[Name], bool],
) -> _Merging:
    found = _Merging(events, fusible, is_shared)
    for number in range(len(events)):
        found.add(number)
    return found


@dataclass
class _Merging:
    """Fusions of several events, by the number of the first one."""

    events: Sequence[Event]
    fusible: Callable[[Event], Fusible | None]
    is_shared: Callable[[Name], bool]
    makers: dict[Name, int] = field(default_factory=dict[Name, int], init=False)
    needs: list[tuple[int, ...]] = field(default_factory=list["tuple[int, ...]"], init=False)
    """By event, those that make what it reads."""
    known_needs: dict[int, set[int]] = field(default_factory=dict[int, "set[int]"], init=False)
    """By fusion, those whose values it reads, as long as no others become one."""
    groups: list[int] = field(default_factory=list[int], init=False)
    """By event, the first one of the fusion that it belongs to."""
    members: dict[int, list[int]] = field(default_factory=dict[int, list[int]], init=False)
    own: dict[int, Fusible] = field(default_factory=dict[int, Fusible], init=False)
    """By number each event that may be one with others, as it is fused."""
    known: dict[int, Fusible] = field(default_factory=dict[int, Fusible], init=False)
    readers: dict[tuple[Name, tuple[int, ...], bool], int] = field(
        default_factory=dict[tuple[Name, tuple[int, ...], bool], int], init=False
    )
    """The last loop over elements of a shape that reads a value."""

    wide: set[tuple[Name, tuple[int, ...]]] = field(
        default_factory=set[tuple[Name, tuple[int, ...]]], init=False
    )
    """The values that loops over elements of more than one bit read, and the shapes of these."""

    has_reduced: bool = field(default=False, init=False)
    has_packed: bool = field(default=False, init=False)
    """True if there are reductions, and if some pack bits."""

    def __post_init__(self) -> None:
        for number, event in enumerate(self.events):
            own = self.fusible(event)
            if own is not None:
                self.own[number] = own
                self.has_reduced |= own.is_reduced
                self.has_packed |= own.packs
                if own.emitter is EmitterKind.LOOP and not (own.is_narrow or own.is_reduced):
                    self.wide.update((name, own.shape) for name in event.reads)

    def add(self, number: int) -> None:
        """Adds the next event, to a fusion or alone."""
        event = self.events[number]
        made = [*map(self.makers.get, event.reads)]
        self.needs.append(tuple([maker for maker in made if maker is not None]))
        self.groups.append(number)
        self.members[number] = [number]
        own = self.own.get(number)
        if own is not None:
            self.known[number] = own
            if own.emitter is EmitterKind.LOOP:
                self._join_maker(number, own)
                self._join_readers(number, own)
        self.makers |= dict.fromkeys(event.makes, number)

    def _join_maker(self, number: int, own: Fusible) -> None:
        for name in self.events[number].reads:
            maker = self.makers.get(name)
            if maker is None or self.groups[maker] == self.groups[number]:
                continue
            other = self.known.get(maker)
            if other is None or (other.is_reduced and not own.is_shifted) or other.shape != own.shape:
                continue
            if not (own.is_narrow and self._is_in_product(maker) and (name, own.shape) in self.wide):
                self._join(self.groups[maker], self.groups[number])

    def _is_in_product(self, number: int) -> bool:
        members = self.members[self.groups[number]]
        return any(self.known[each].emitter is EmitterKind.PRODUCT for each in members)

    def _join_readers(self, number: int, own: Fusible) -> None:
        for name in self.events[number].reads:
            if not self.is_shared(name):
                continue
            key = name, own.shape, own.is_narrow
            other = self.readers.get(key)
            if other is not None and self.groups[other] != self.groups[number]:
                self._join(self.groups[other], self.groups[number])
            self.readers[key] = number

    def _join(self, first: int, second: int) -> None:
        """Makes one fusion of two, if no other event needs the one and is needed by the other."""
        if first > second:
            first, second = second, first
        if self._is_between(first, second) or self._needs_reduced(first, second):
            return
        if self._packs_among_sums(first, second):
            return
        self.known_needs.clear()
        for each in self.members[second]:
            self.groups[each] = first
        self.members[first] = sorted((*self.members[first], *self.members.pop(second)))

    def _packs_among_sums(self, first: int, second: int) -> bool:
        """True if a fusion of two would pack bits and have other reductions, which it does not."""
        if not self.has_packed:
            return False
        members = (*self.members[first], *self.members[second])
        return len({self.known[each].packs for each in members if self.known[each].is_reduced}) > 1

    def _needs_reduced(self, first: int, second: int) -> bool:
        """True if a fusion reads what another reduces: that is only known once all of it is."""
        if not self.has_reduced:
            return False
        members = (each for each in self.members[second] if not self.known[each].is_shifted)
        reads = {name for each in members for name in self.events[each].reads}
        return any(
            self.known[each].is_reduced and not reads.isdisjoint(self.events[each].makes)
            for each in self.members[first]
        )

    def _is_between(self, first: int, second: int) -> bool:
        """True if a path from one fusion to another leads over others, or may."""
        ends = {first, second}
        if max(len(self._needs(end)) for end in ends) > _MOST_VISITS + len(ends):
            return True  # as after the first visit
        left = [each for end in ends for each in self._needs(end) if each not in ends]
        least, seen = min(first, second), set(left)
        while left:
            group = left.pop()
            for each in self._needs(group):
                if each in ends:
                    return True
                if each not in seen and self.members[each][-1] > least:
                    seen.add(each)
                    left.append(each)
            if len(seen) > _MOST_VISITS:
                return True
        return False

    def _needs(self, group: int) -> set[int]:
        """The fusions whose values one reads."""
        found = self.known_needs.get(group)
        if found is None:
            groups = self.groups
            found = {groups[maker] for number in self.members[group] for maker in self.needs[number]}
            found.discard(group)
            self.known_needs[group] = found
        return found

    def merged(self, kept: Collection[Name]) -> list[Event]:
        """The events, one for each fusion, each after those that it needs."""
        readers: dict[Name, set[int]] = {}
        for number, event in enumerate(self.events):
            for name in event.reads:
                readers.setdefault(name, set()).add(self.groups[number])
        users: dict[int, list[int]] = {}
        waiting: dict[int, int] = {}
        for group in self.members:
            needs = self._needs(group)
            waiting[group] = len(needs)
            for each in needs:
                users.setdefault(each, []).append(group)
        ready = [group for group, count in waiting.items() if not count]
        heapify(ready)
        found: list[Event] = []
        while ready:
            group = heappop(ready)
            found.append(self._one(group, readers, kept))
            for user in users.get(group, ()):
                waiting[user] -= 1
                if not waiting[user]:
                    heappush(ready, user)
        return found

    def _one(self, group: int, readers: Mapping[Name, set[int]], kept: Collection[Name]) -> Event:
        numbers = self.members[group]
        events = [self.events[number] for number in numbers]
        if len(events) == 1:
            return events[0]
        made = {name for event in events for name in event.makes}
        own = {group}
        makes = [
            name
            for event in events
            for name in event.makes
            if name in kept or not readers.get(name, set()) <= own or name not in readers
        ]
        reads = dict.fromkeys(name for event in events for name in event.reads if name not in made)
        over = dict.fromkeys(name for event in events for name in event.over if name in reads)
        kinds = [(self.known[number], event) for number, event in zip(numbers, events, strict=True)]
        emitted = [event for kind, event in kinds if kind.emitter is EmitterKind.PRODUCT or kind.is_shifted]
        first = next(iter(emitted), events[-1])
        any_of = ((*over,),) * len(makes)
        return first._replace(reads=(*reads,), makes=(*makes,), over=(*over,), over_each=any_of)
