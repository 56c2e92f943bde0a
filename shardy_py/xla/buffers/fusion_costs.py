"""Which values XLA stores, although each reader could compute them, as that moves less.

If k stored steps compute a value of stored ones, each reads all of these; stored, it is made once and read
by each. The value is stored if (k - 1) n > (k + 1) m, with the sizes n of what is behind it and m of its own:

>>> readers = 4
>>> saving(readers, behind=2, own=1), saving(3, behind=2, own=1)  # a sum of two
(1, 0)

GPUs decide value by value. XLA:TPU stores the value that saves most first, which changes what the others
save. Its sizes are those in the types of the program, before values are rounded for products. From 90 sums
of up to six tensors, in f32 and bf16, in up to eight products. A division behind a value of bf16 counts as
more of such sizes, which is why the chances of attention and gated activations are stored for two products:
from 70 other values in up to eight products. Source: openxla/xla,
xla/backends/gpu/transforms/priority_fusion.cc for GPUs.

Not here: which values may be computed in their readers (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import heapify, heappop, heappush

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.read_there import takes_slices
from shardy_py.xla.spmd.program import Name, PlannedOp

_DIVISION = 3
"""The bytes, for each element, that could be moved while one is divided: more than 2, less than 4."""
_WIDE = 4
"""The bytes of an element that is not rounded, so that the products that read it round it."""


def saving(readers: int, *, behind: int, own: int) -> int:
    """Returns what is moved less if a value is stored: `behind` are the sizes of what it is computed from."""
    return (readers - 1) * behind - (readers + 1) * own


@dataclass(frozen=True, eq=False)
class FusedSteps:
    """Steps, which are known by their numbers, and which of their results are fused.

    reads: for each step the stored names of what it reads. users: the steps that read each value.
    """

    steps: Sequence[PlannedOp]
    reads: Sequence[Sequence[Name]]
    users: Mapping[Name, Sequence[int]]
    fused: Collection[Name]


def fused_by_bytes(given: FusedSteps, sizes: Mapping[Name, int]) -> set[Name]:
    """Returns the fused values that move no more bytes when their readers compute them than when stored."""
    users, inputs = given.users, dict[Name, Iterable[Name]]()
    kept = set[Name]()
    for step, names in zip(given.steps, given.reads, strict=True):
        name = step.results[0] if step.results else None
        if name not in given.fused:
            continue
        count = len(users[name])
        if count <= 1:  # costs nothing; the one consumer collects what it reads
            kept.add(name)
            inputs[name] = names
            continue
        read = frozenset(_stored(names, inputs, users))
        if saving(count, behind=sum(sizes.get(n, 0) for n in read), own=sizes.get(name, 0)) <= 0:
            kept.add(name)
            inputs[name] = read
    return kept


def _stored(
    names: Iterable[Name], inputs: Mapping[Name, Iterable[Name]], users: Mapping[Name, Sequence[int]]
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


def widths_of(steps: Sequence[PlannedOp], reads: Sequence[Sequence[Name]]) -> dict[Name, int]:
    """Returns the bytes of an element of each value as ops of the program read it: not rounded."""
    found: dict[Name, int] = {}
    for step, names in zip(steps, reads, strict=True):
        for name, type_ in zip(names, step.record.operands, strict=False):
            if type_ is not None:
                found[name] = max(found.get(name, 0), -(-element_type(type_.element).bits // 8))
    return found


def stored_by_bytes(
    given: FusedSteps, elements: Callable[[Name], int], widths: Mapping[Name, int]
) -> Iterator[Name]:
    """Yields the fused values that XLA:TPU stores.

    elements: of a value; single ones do not count. widths: the bytes of each in the program. A slice reads as
    many elements as it makes.
    """
    steps, reads, users, fused = given.steps, given.reads, given.users, given.fused
    makers = {
        step.results[0]: number
        for number, step in enumerate(steps)
        if step.results and step.results[0] in fused
    }
    if any(len(users.get(name, ())) > 1 for name in makers):
        yield from _Search(steps, reads, users, elements, widths, makers).stored()


@dataclass(frozen=True, eq=False)
class _Search:
    """The values that save something, the one that saves most first; each changes what others save.

    makers: by each value that is still fused, the step that makes it. behind: by step the stored values that
    it is computed from, and the divisions; ahead: by step the stored ones that it is computed in. Both are
    bits of integers; bits: of each value or division, whose sizes are `sizes`; divisions: the places of the
    latter; places: of the bit of each stored step.
    """

    steps: Sequence[PlannedOp]
    reads: Sequence[Sequence[Name]]
    users: Mapping[Name, Sequence[int]]
    elements: Callable[[Name], int]
    widths: Mapping[Name, int]
    makers: dict[Name, int]
    behind: dict[int, int] = field(default_factory=dict[int, int])
    ahead: dict[int, int] = field(default_factory=dict[int, int])
    bits: dict[Name, int] = field(default_factory=dict[Name, int])
    places: dict[int, int] = field(default_factory=dict[int, int])
    sizes: list[int] = field(default_factory=list[int])
    divisions: set[int] = field(default_factory=set[int])
    sums: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    def stored(self) -> Iterator[Name]:
        """Yields the values to store; of those that save as much the first."""
        numbers = sorted(self.makers.values())
        for number in numbers:
            self.behind[number] = self._behind(number)
        for number in reversed(numbers):
            self.ahead[number] = self._ahead(number)
        saved = {number: value for number in numbers if (value := self._saved(number)) > 0}
        queue = [(-value, number) for number, value in saved.items()]
        heapify(queue)
        while queue:
            value, number = heappop(queue)
            if saved.get(number) != -value:
                continue  # it was changed by one that is stored
            name = self.steps[number].results[0]
            yield name
            del self.makers[name], saved[number]
            changed = {*self._changed(number, self.behind, self._behind, self._readers, 1)}
            changed.update(self._changed(number, self.ahead, self._ahead, self._read, -1))
            for each in changed:
                saved[each] = self._saved(each)
                if saved[each] > 0:
                    heappush(queue, (-saved[each], each))

    def _changed(
        self,
        stored: int,
        known: dict[int, int],
        find: Callable[[int], int],
        beside: Callable[[int], Iterable[int]],
        way: int,
    ) -> Iterator[int]:
        """Yields the steps of which it changes as the result of one is stored, once it is found again.

        beside: the fused steps to which a change goes on, all in program order, or with `way` -1 against it.
        """
        left = [way * each for each in beside(stored)]
        heapify(left)
        last = None
        while left:
            place = heappop(left)
            if place == last:
                continue
            last, number = place, way * place
            found = find(number)
            if found != known[number]:
                known[number] = found
                yield number
                for each in beside(number):
                    heappush(left, way * each)

    def _readers(self, number: int) -> Iterator[int]:
        """The fused steps that read the result of a step."""
        for each in self.users.get(self.steps[number].results[0], ()):
            if each > number and self._is_fused(each):
                yield each

    def _read(self, number: int) -> Iterator[int]:
        """The fused steps that make what a step reads."""
        for name in self.reads[number]:
            maker = self.makers.get(name, number)
            if maker < number:
                yield maker

    def _is_fused(self, number: int) -> bool:
        made = self.steps[number].results
        return bool(made) and self.makers.get(made[0]) == number

    def _behind(self, number: int) -> int:
        """The stored values that a step is computed from, and the divisions."""
        step = self.steps[number]
        found = self._division(number) if STORED.of(step.record.name).divides else 0
        for name in step.results[:1] if takes_slices(step) else self.reads[number]:
            maker = self.makers.get(name, number)
            found |= self.behind[maker] if maker < number else self._bit(name, self._size(name))
        return found

    def _division(self, number: int) -> int:
        """The bit of a step that divides; 0 if that is by one element, whose inverse XLA multiplies by."""
        step, reads = self.steps[number], self.reads[number]
        maker = self.makers.get(reads[-1], number)
        if len(reads) > 1 and maker < number and all(self.elements(name) == 1 for name in self.reads[maker]):
            return 0
        count = self.elements(step.results[0])
        bit = self._bit((number, "divided"), _DIVISION * count if count > 1 else 0)
        self.divisions.add(bit.bit_length() - 1)
        return bit

    def _bit(self, name: Name, size: int) -> int:
        if name not in self.bits:
            self.bits[name] = 1 << len(self.sizes)
            self.sizes.append(size)
        return self.bits[name]

    def _ahead(self, number: int) -> int:
        """The stored steps that a step is computed in."""
        found = 0
        for each in self.users.get(self.steps[number].results[0], ()):
            if each > number and self._is_fused(each):
                found |= self.ahead[each]
            else:
                found |= 1 << self.places.setdefault(each, len(self.places))
        return found

    def _saved(self, number: int) -> int:
        """The bytes that are moved less if the result of a step is stored."""
        readers = self.ahead[number].bit_count()
        if readers <= 1:
            return 0
        name, found = self.steps[number].results[0], self.behind[number]
        if found not in self.sums:
            places = [*_places(found)]
            divided = sum(self.sizes[place] for place in places if place in self.divisions)
            self.sums[found] = sum(self.sizes[place] for place in places) - divided, divided
        behind, divided = self.sums[found]
        is_rounded = self.widths.get(name, _WIDE) < _WIDE
        return saving(readers, behind=behind, own=self._size(name)) + is_rounded * divided

    def _size(self, name: Name) -> int:
        count = self.elements(name)
        return count * self.widths.get(name, 0) if count > 1 else 0


def _places(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
