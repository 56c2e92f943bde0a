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

A value that is made of a product alone is stored instead of it. Reductions of either are made with it, so
that they read neither; a transpose is then an order of the product, and stored though it saves nothing. What
a reader reads in any case is not saved then, as the scores of attention for the gradient of their largest
element; nor for a Boolean, unless a reduction reads it. From 48 gradients of attention.

Not here: which values may be computed in their readers (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import heapify, heappop, heappush

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.dialects.stablehlo import TransposeOp
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.fused_steps import FusedSteps, made_with, stored_row
from shardy_py.xla.buffers.read_there import takes_slices
from shardy_py.xla.spmd.program import Name, PlannedOp

_DIVISION = 3
"""The bytes, for each element, that could be moved while one is divided: more than 2, less than 4."""
_WIDE = 4
"""The bytes of an element that is not rounded, so that the products that read it round it."""


def saving(readers: int, *, behind: int, own: int) -> int:
    """Returns what is moved less if a value is stored: `behind` are the sizes of what it is computed from."""
    return (readers - 1) * behind - (readers + 1) * own


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


def left_by_bytes(
    given: FusedSteps, elements: Callable[[Name], int], widths: Mapping[Name, int]
) -> set[Name]:
    """Returns the fused values but those that XLA:TPU stores, and the products that are made with these.

    elements, widths: see `stored_by_bytes`.
    """
    stored = {*stored_by_bytes(given, elements, widths)}
    return {*given.fused} - stored | made_with(given, stored, elements)


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
        yield from _Search(steps, reads, users, elements, widths, makers, given.products()).stored()


@dataclass(frozen=True, eq=False)
class _Search:
    """The values that save something, the one that saves most first; each changes what others save.

    makers: by each value that is still fused, the step that makes it. behind: by step the stored values that
    it is computed from, and the divisions; ahead: by step the stored ones that it is computed in. Both are
    bits of integers; bits: of each value or division, whose sizes are `sizes`; divisions: the places of the
    latter; places: of the bit of each stored step; at: the step by place. products: what products make alone.
    """

    steps: Sequence[PlannedOp]
    reads: Sequence[Sequence[Name]]
    users: Mapping[Name, Sequence[int]]
    elements: Callable[[Name], int]
    widths: Mapping[Name, int]
    makers: dict[Name, int]
    products: Collection[Name]
    behind: dict[int, int] = field(default_factory=dict[int, int])
    ahead: dict[int, int] = field(default_factory=dict[int, int])
    bits: dict[Name, int] = field(default_factory=dict[Name, int])
    places: dict[int, int] = field(default_factory=dict[int, int])
    at: list[int] = field(default_factory=list[int])
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
        waiting = set[int]()
        """The steps that save nothing as long as readers read the same in any case."""
        while queue or self._wait_no_more(waiting, saved, queue):
            value, number = heappop(queue)
            if saved.get(number) != -value:
                continue  # it was changed by one that is stored
            exact = self._saved_alone(number)
            if exact != -value:
                saved[number] = exact
                if exact > 0:
                    heappush(queue, (-exact, number))
                else:
                    waiting.add(number)
                continue
            name = self.steps[number].results[0]
            yield name
            del self.makers[name], saved[number]
            changed = {*self._changed(number, self.behind, self._behind, self._readers, 1)}
            changed.update(self._changed(number, self.ahead, self._ahead, self._read, -1))
            for each in changed:
                saved[each] = self._saved(each)
                if saved[each] > 0:
                    heappush(queue, (-saved[each], each))

    def _wait_no_more(self, waiting: set[int], saved: dict[int, int], queue: list[tuple[int, int]]) -> bool:
        """Queues the steps that save something now, and returns whether there are any."""
        for number in waiting:
            if self._is_fused(number) and (value := self._saved_alone(number)) > 0:
                saved[number] = value
                heappush(queue, (-value, number))
        waiting.clear()
        return bool(queue)

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
                found |= 1 << self._place(each)
        return found

    def _place(self, stored: int) -> int:
        """The place of the bit of a stored step."""
        place = self.places.setdefault(stored, len(self.at))
        if place == len(self.at):
            self.at.append(stored)
        return place

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
        own, product = self._size(name), self._product(number)
        if product is None:
            return saving(readers, behind=behind, own=own) + is_rounded * divided
        reductions = self._reductions(number)
        left = readers - reductions
        beside = self._size(product) if reductions else 2 * self._size(product) - behind
        is_order = reductions > 0 and self.steps[number].record.name == TransposeOp.name
        return left * behind - (left + 1) * own + beside + is_rounded * divided + is_order

    def _saved_alone(self, number: int) -> int:
        """As `_saved`, without what readers read in any case."""
        saved = self._saved(number)
        is_boolean = self._is_boolean(number) and not self._reductions(number)
        if not is_boolean and self._product(number) is None:
            return saved
        name, behind = self.steps[number].results[0], self.behind[number]
        readers = (
            each for each in self._stored_readers(number) if not stored_row(self.steps[each]).takes_plain
        )
        shared = (behind & self._beside(reader, name) for reader in readers)
        places = (place for bits in shared for place in _places(bits) if place not in self.divisions)
        return saved - sum(self.sizes[place] for place in places)

    def _beside(self, reader: int, without: Name) -> int:
        """The bits of what a stored step reads beside what a value is computed from."""
        found, left, seen = 0, [*self.reads[reader]], {without}
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                if name in self.makers:
                    left += self.reads[self.makers[name]]
                else:
                    found |= self._bit(name, self._size(name))
        return found

    def _product(self, number: int) -> Name | None:
        """A product of which the result of a step is made element by element, alone of all that is stored."""
        count, left = self.elements(self.steps[number].results[0]), [*self.reads[number]]
        while left:
            name = left.pop()
            if len(self.users.get(name, ())) == 1 and self.elements(name) == count:
                if name in self.products:
                    return name
                left += self.reads[self.makers[name]] if name in self.makers else ()
        return None

    def _stored_readers(self, number: int) -> Iterator[int]:
        """The stored steps that a step is computed in."""
        return (self.at[place] for place in _places(self.ahead[number]))

    def _reductions(self, number: int) -> int:
        return sum(stored_row(self.steps[each]).takes_plain for each in self._stored_readers(number))

    def _is_boolean(self, number: int) -> bool:
        (type_, *_) = self.steps[number].record.results
        return type_ is not None and type_.element == "i1"

    def _size(self, name: Name) -> int:
        count = self.elements(name)
        return count * self.widths.get(name, 0) if count > 1 else 0


def _places(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
