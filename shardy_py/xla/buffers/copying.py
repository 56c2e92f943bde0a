"""Which values XLA:TPU copies into VMEM for which ops, and how long they stay.

A copy has room from the op while which it starts until the one that reads it, and then, if there is room,
until the next that reads it there. Values are taken in the order of what ops gain. The argument that is there
before the program starts is copied again for its next run, while the last product runs. Source: openxla/xla,
xla/service/memory_space_assignment/, and the schedules of XLA:TPU for 500 programs. Not here: the events of
copies (`fetched.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from math import sqrt
from typing import TYPE_CHECKING

from shardy_py.xla.buffers.copied_before import copied_before
from shardy_py.xla.buffers.local_sizes import ELEMENT_BYTES, measured
from shardy_py.xla.buffers.loops_there import LoopsThere, used_of
from shardy_py.xla.buffers.moved import SLOWER, moved_meanwhile, time_of
from shardy_py.xla.buffers.read_there import has_elements, is_constant, is_fetched_whole
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.vmem import VectorMemory
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_PART_BYTES = 1 << 10
"""The most bytes of a part of a tuple that is copied though the next op reads it, for one of them without
padding: read off the buffer assignments of XLA:TPU (right for 89 of 107 such parts), not a limit that XLA's
sources name."""
_LEAST_USED = 0.5
"""The part of the bytes of a copy that ops read: XLA's `xla_tpu_msa_inefficient_use_to_copy_ratio`."""


class Copying:
    """The copies of a block."""

    def __init__(
        self,
        block: StoredBlock,
        events: Sequence[Event],
        memory: VectorMemory,
        made_there: Collection[Name],
        carried: Mapping[Name | None, Name],
        loops: LoopsThere,
    ) -> None:
        """made_there: the values that are made in VMEM.

        carried: by what a loop carries what is in its memory in the next iteration, made over it there.
        """
        self._block, self._events, self._memory, self._sizes = block, events, memory, block.sizes
        self._made_there, self._loops = made_there, loops
        self._made: dict[Name, int] = {}
        """By value the event after which it can be copied; -1 for arguments."""
        self._at_once = set[Name]()
        """The values that are copied without an op between."""
        for number, event in enumerate(events):
            self._note(number, event)
        self._made |= dict.fromkeys(made_there, len(events))
        self._time = CopyTime([moved_meanwhile(block, event) for event in events])
        for number in loops.of:
            self._time.add_before(number, loops.copied(number))
        self._uses: dict[Name, list[int]] = defaultdict(list)
        """By value the events that read it in VMEM, if it is copied."""
        self._note_uses(carried)

    def found(self) -> tuple[dict[int, list[Name]], dict[int, list[Name]]]:
        """By the number of an event, what it reads in VMEM, and what is copied for it."""
        early = [*self._take_early()]
        starts = self._in_time()
        reads: dict[int, list[Name]] = {number: [] for number in range(len(self._events))}
        before: dict[int, list[Name]] = defaultdict(list)
        scores = self._scores()
        for name in sorted(self._uses, key=lambda name: (name not in early, -scores[name])):
            self._copy(name, lambda name, number: starts.get((name, number)), reads, before)
        return {number: names for number, names in reads.items() if names}, before

    def _copy(
        self,
        name: Name,
        start_of: Callable[[Name, int], int | None],
        reads: Mapping[int, list[Name]],
        before: Mapping[int, list[Name]],
    ) -> None:
        """Copies a value for the events that read it in VMEM, where there is room and time.

        start_of: see `_start`. reads, before: see `found`; they are added.
        """
        size, last = self._sizes.get(name, 0), -1
        for number in self._uses.get(name, ()):
            if last < 0 or not self._memory.take(last + 1, number + 1, size, (last, number)):
                start = start_of(name, number)
                if start is None or not self._memory.take(start, number + 1, size):
                    last = -1
                    continue
                before[number].append(name)
            reads[number].append(name)
            last = number

    def _take_early(self) -> Iterator[Name]:
        """Takes room for what is there before the program starts, and at its end for the next run."""
        end, products = len(self._events), self._block.in_vmem.products
        computed = [n for n, e in enumerate(self._events) if e.sent is None and id(e.step) in products]
        for name in copied_before(self._block, self._events, self._memory.room):
            uses, size = self._uses.get(name), self._sizes[name]
            if uses:
                self._at_once.add(name)
                self._memory.take(0, uses[0], size)
                self._memory.take(max(*computed[-1:], uses[-1] + 1, 0), end, size)
                yield name

    def _in_time(self) -> dict[tuple[Name, int], int]:
        """By value and the event that reads it the one while which a copy starts, if there is time for it.

        Events take time in their order; what was copied once is copied again in any case.
        """
        known = dict.fromkeys(self._at_once, 0)
        found: dict[tuple[Name, int], int] = {}
        uses: dict[int, list[Name]] = defaultdict(list)
        for name, numbers in self._uses.items():
            for number in numbers:
                uses[number].append(name)
        made = self._made
        for number in sorted(uses):
            for name in sorted(uses[number], key=lambda name: (-self._sizes[name], made.get(name, -1))):
                start = self._start(name, number, known)
                if start is not None:
                    found[name, number] = start
        return found

    def _start(self, name: Name, number: int, known: dict[Name, int]) -> int | None:
        """The event while which a copy of a value for another event starts; None without enough time for it.

        known: what is copied without an op between, or was copied before; it is added.
        """
        size = self._sizes[name]
        if name in known or _is_of_words(self._block, self._events[number]):
            start = max(0, number - 1) if known.get(name) else number
        elif taken := self._time.before(self._made.get(name, -1), number, size):
            self._time.spend(taken, size)
            start = max(0, taken[-1])
        else:
            return None
        known[name] = 1
        return start

    def _scores(self) -> dict[Name, float]:
        """By value how much faster ops are if it is in VMEM, over the root of its size.

        As `GetMemoryBoundedness` of xla/service/memory_space_assignment/cost_analysis.cc: negative where
        products take longer than what they read and write.
        """
        scores: dict[Name, float] = {}
        for event in self._events:
            names = [name for name in dict.fromkeys((*event.reads, *event.makes)) if name in self._uses]
            if not names:
                continue
            moved, computed = time_of(self._block, event)
            computed *= SLOWER
            for name in names:
                size = self._sizes[name]
                own = min(size, moved - computed) if moved > computed else moved - computed
                known = scores.get(name)
                if known is None:
                    scores[name] = own
                else:
                    scores[name] = known + own if known > 0 and own > 0 else max(known, own)
        return {name: score / sqrt(max(1, self._sizes[name])) for name, score in scores.items()}

    def _note_uses(self, carried: Mapping[Name | None, Name]) -> None:
        """Notes what each event reads there if that is copied before."""
        sent: dict[int, set[Name]] = defaultdict(set)
        sizes = self._sizes
        used = used_of(self._block, self._events)
        for number, event in enumerate(self._events):
            is_gathered = event.sent is not None and event.sent.kind == "all_gather"
            if is_gathered and not is_fetched_whole(self._block, event):
                sent[id(event.step)].update(event.reads)
            elif there := self._loops.read_there(number, sent[id(event.step)]):
                there.difference_update(n for n in event.over if n in carried and carried[n] in event.makes)
                for name in dict.fromkeys(event.reads):
                    if (
                        name in there
                        and sizes.get(name, 0) <= self._memory.room
                        and has_elements(self._block, name)
                        and used.get(name, sizes[name]) >= _LEAST_USED * sizes[name]
                    ):
                        self._uses[name].append(number)

    def _unpadded(self, name: Name) -> int:
        """The bytes of a value without padding; 0 for what needs no memory."""
        type_ = self._block.types.get(name)
        size = self._sizes.get(name, 0)
        return measured(type_, "linear") if type_ is not None and size else size

    def _note(self, number: int, event: Event) -> None:
        """Notes what an event makes."""
        if len(event.makes) > 1:
            stored = [name for name in event.makes if name not in self._made_there]
            self._at_once.update(n for n in stored if ELEMENT_BYTES < self._sizes.get(n, 0) <= _PART_BYTES)
            parts = (n for n in stored if ELEMENT_BYTES < self._unpadded(n) <= _PART_BYTES)
            self._at_once.update(islice(parts, 1))
        if _is_of_words(self._block, event):
            self._at_once.update(event.makes)
        for name in event.makes:
            if name not in self._made_there:
                self._made[name] = len(self._events) if is_constant(event) else number
                if is_constant(event) and self._block.kinds.of(event.step.record).is_table:
                    self._at_once.add(name)


def _is_of_words(block: StoredBlock, event: Event) -> bool:
    """True for a sum of Booleans, which XLA:TPU has in words of 32 bits: these are copied in any case."""
    types = (block.types.get(name) for name in event.makes)
    return bool(event.sums) and all(type_ is not None and type_.element == "i1" for type_ in types)


class CopyTime:
    """The bytes that can be copied while events run, which each copy takes from the last of them.

    >>> time = CopyTime([8, 2, 4])
    >>> time.before(0, 3, 5)
    [2, 1]
    """

    def __init__(self, moved: Sequence[float]) -> None:
        """moved: by event the bytes that can be copied while it runs."""
        self._left = [0, *moved]
        """By event, after what is copied before the first of them."""
        self._before = [-1, *range(1, len(self._left))]
        """By event the last one up to it, in which bytes may be left."""

    def add_before(self, number: int, size: float) -> None:
        """Adds copies before an event, while which so many bytes can be copied."""
        if size:
            self._left[number] += size
            self._before[number] = number

    def before(self, made: int, number: int, size: float) -> list[int]:
        """Returns the events before another while which what an event has made can be copied, the last first.

        made: that event, -1 for an argument; -1 stands for what is copied before the first. Empty if there is
        not enough time.
        """
        each, needed, taken = self._last(number), size, list[int]()
        first = made + 1 if made >= 0 else -1
        while needed > 0:
            if each <= first:
                return []
            taken.append(each - 1)
            needed -= self._left[each]
            each = self._last(each - 1)
        return taken

    def spend(self, taken: Sequence[int], size: float) -> None:
        """Takes the time of such events."""
        for number in taken:
            used = min(size, self._left[number + 1])
            self._left[number + 1] -= used
            size -= used
            if not self._left[number + 1]:
                self._before[number + 1] = number

    def _last(self, number: int) -> int:
        """The last event up to one in which bytes are left; -1 for none."""
        path: list[int] = []
        while number >= 0 and self._before[number] != number:
            path.append(number)
            number = self._before[number]
        for each in path:
            self._before[each] = number
        return number
