"""Which values XLA stores, although each reader could compute them, as that moves less.

If k stored steps compute a value of stored ones, each reads all of these; stored, it is made once and read
by each. The value is stored if (k - 1) n > (k + 1) m, with the sizes n of what is behind it and m of its own:

>>> readers = 4
>>> saving(readers, behind=2, own=1), saving(3, behind=2, own=1)  # a sum of two
(1, 0)

GPUs decide value by value. XLA:TPU stores the value that saves most first, which changes what the others
save. Its sizes are those in the types of the program, before values are rounded for products. From 90 sums
of up to six tensors, in f32 and bf16, in up to eight products. Source: openxla/xla,
xla/backends/gpu/transforms/priority_fusion.cc for GPUs.

Not here: which values may be computed in their readers (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.xla.buffers.read_there import takes_slices
from shardy_py.xla.spmd.program import Name, PlannedOp


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
    numbers = {number for number, step in enumerate(steps) if step.results and step.results[0] in fused}
    if not any(len(users.get(steps[number].results[0], ())) > 1 for number in numbers):
        return
    makers = {steps[number].results[0]: number for number in numbers}
    search = _Search(steps, reads, users, elements, widths, makers)
    left = [*search.parts(sorted(numbers))]
    while left:
        part = left.pop()
        best = search.best(part)
        if best >= 0:
            yield steps[best].results[0]
            del makers[steps[best].results[0]]
            left += search.parts([number for number in part if number != best])


@dataclass(frozen=True, eq=False)
class _Search:
    """makers: by each value that is still fused, the step that makes it."""

    steps: Sequence[PlannedOp]
    reads: Sequence[Sequence[Name]]
    users: Mapping[Name, Sequence[int]]
    elements: Callable[[Name], int]
    widths: Mapping[Name, int]
    makers: Mapping[Name, int]
    sizes: dict[Name, int] = field(default_factory=dict[Name, int])

    def parts(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """The fused steps that read one another, in program order, of which one has several readers."""
        seen, own = set[int](), set(numbers)
        for first in numbers:
            if first in seen:
                continue
            seen.add(first)
            left, part, is_shared = [first], [first], False
            while left:
                number = left.pop()
                readers = self.users.get(self.steps[number].results[0], ())
                is_shared = is_shared or len(readers) > 1
                makers = (self.makers.get(name, -1) for name in self.reads[number])
                for each in (*makers, *readers):
                    if each in own and each not in seen:
                        seen.add(each)
                        left.append(each)
                        part.append(each)
            if is_shared:
                yield sorted(part)

    def best(self, part: Sequence[int]) -> int:
        """The step whose result saves most if it is stored; -1 if none saves anything.

        Sets of values and of steps are the bits of integers.
        """
        ahead = self._ahead(part)
        bits: dict[Name, int] = {}
        sizes: list[int] = []
        behind: dict[Name, int] = {}
        sums: dict[int, int] = {}
        best, most = -1, 0
        for number in part:
            name = self.steps[number].results[0]
            found = 0
            for each in (name,) if takes_slices(self.steps[number]) else self.reads[number]:
                if each in behind:
                    found |= behind[each]
                    continue
                if each not in bits:
                    bits[each] = 1 << len(sizes)
                    sizes.append(self._size(each))
                found |= bits[each]
            behind[name] = found
            readers = ahead[name].bit_count()
            if readers > 1:
                if found not in sums:
                    sums[found] = sum(sizes[place] for place in _places(found))
                saved = saving(readers, behind=sums[found], own=self._size(name))
                if saved > most:
                    best, most = number, saved
        return best

    def _ahead(self, part: Sequence[int]) -> dict[Name, int]:
        """The stored steps that each value is computed in."""
        found: dict[Name, int] = {}
        bits: dict[int, int] = {}
        for number in reversed(part):
            name = self.steps[number].results[0]
            own = 0
            for each in self.users.get(name, ()):
                made = self.steps[each].results
                known = found.get(made[0]) if made else None
                own |= bits.setdefault(each, 1 << len(bits)) if known is None else known
            found[name] = own
        return found

    def _size(self, name: Name) -> int:
        known = self.sizes.get(name)
        if known is None:
            count = self.elements(name)
            known = self.sizes[name] = count * self.widths.get(name, 0) if count > 1 else 0
        return known


def _places(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
