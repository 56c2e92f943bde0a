"""Matches the values of two programs, whatever their names.

Functions are matched by name; the rest by equal contents, or if each program has one left. Values of a
function are matched in order: first those with the same op, type, label and kinds of operands, between these
those with the same op and type. The result does not depend on which program comes first.

    found = match_values(ValueTable(before), ValueTable(after))
    found.pairs, found.removed, found.added

Not here: the differences between matched values (`difference.py`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.value_table import ValueEntry, ValueTable

MAX_EDITS = 2000
"""The limit of removals and additions in one function; beyond it, nothing between its ends is matched."""
SMALL = 100
"""So many items that only one sequence has take part in the search for the fewest edits."""
Values = Sequence[ValueEntry]
KeyFunction = Callable[[ValueEntry], Hashable]
Pair = tuple[ValueEntry | None, ValueEntry | None]
"""Matching values; None: only the other program has the value."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Matching values, and those that only one program has, in program order."""

    pairs: tuple[tuple[ValueEntry, ValueEntry], ...]
    removed: tuple[ValueEntry, ...]
    added: tuple[ValueEntry, ...]


def match_values(before: ValueTable, after: ValueTable) -> Matching:
    """Returns the matching of the values of two modules."""
    kinds = _ValueKinds(before, after)
    functions = _paired_functions(_by_function(before), _by_function(after), kinds.of)
    levels = (kinds.with_operands, MAX_EDITS // 2), (kinds.of, MAX_EDITS)
    aligned: list[Pair] = []
    for old, new in functions:
        if _is_first(old, new, kinds):
            aligned.extend(_aligned(old, new, levels))
        else:
            aligned.extend((a, b) for b, a in _aligned(new, old, levels))
    pairs = tuple((old, new) for old, new in aligned if old is not None and new is not None)
    removed = tuple(old for old, new in aligned if old is not None and new is None)
    return Matching(pairs, removed, tuple(new for old, new in aligned if new is not None and old is None))


class _ValueKinds:
    """Numbers that are equal for similar values."""

    def __init__(self, *tables: ValueTable) -> None:
        self._entries = {id_: entry for table in tables for id_, entry in table.by_value.items()}
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[tuple[int, bool], int] = {}
        self._operands_known: dict[int, int] = {}

    def of(self, entry: ValueEntry, with_operands: bool = False) -> int:
        """Returns the number for the op, the position of the value in it, and the type.

        with_operands: and for the label, and the kinds of the op's operands.
        """
        number = self._known.get((id(entry), with_operands))
        if number is None:
            key: tuple[Hashable, ...] = entry.op.name, entry.role, entry.index, entry.type
            if with_operands:
                key = self.of(entry), entry.label, self._operand_kinds(entry)
            number = self._numbers.setdefault(key, len(self._numbers))
            self._known[id(entry), with_operands] = number
        return number

    def _operand_kinds(self, entry: ValueEntry) -> int:
        """Returns a number for the kinds of the operands, found once an op: it may have many results."""
        if entry.role != "intermediate":
            return -1
        number = self._operands_known.get(id(entry.op))
        if number is None:
            key = tuple(map(self.of, self._operands(entry)))
            number = self._numbers.setdefault(key, len(self._numbers))
            self._operands_known[id(entry.op)] = number
        return number

    def with_operands(self, entry: ValueEntry) -> int:
        return self.of(entry, True)

    def text(self, entry: ValueEntry) -> tuple[object, ...]:
        """Returns the same as text, which does not depend on the order of questions."""
        names = (entry.op.name, entry.role, entry.index, str(entry.type), entry.label)
        return *names, *(f"{other.op.name} {other.index} {other.type}" for other in self._operands(entry))

    def _operands(self, entry: ValueEntry) -> Iterator[ValueEntry]:
        operands = operands_of(entry.op) if entry.role == "intermediate" else ()
        return (self._entries[id(value)] for value in operands)


def _by_function(values: ValueTable) -> dict[str, list[ValueEntry]]:
    by_function: dict[str, list[ValueEntry]] = {}
    for entry in values.entries:
        by_function.setdefault(entry.function, []).append(entry)
    return by_function


def _paired_functions(
    before: dict[str, list[ValueEntry]], after: dict[str, list[ValueEntry]], key: KeyFunction
) -> Iterator[tuple[Values, Values]]:
    """Returns the values of matching functions; () beside those that only one module has."""
    free = {name: None for name in reversed(after) if name not in before}
    alone = [name for name in before if name not in after]
    alike: dict[tuple[Hashable, ...], list[str]] = {}
    for name in free:
        alike.setdefault(tuple(map(key, after[name])), []).append(name)
    is_renamed = len(alone) == len(free) == 1
    for name, values in before.items():
        new = name
        if name not in after:
            same = alike.get(tuple(map(key, values)))
            new = same.pop() if same else next(iter(free), "") if is_renamed else ""
            free.pop(new, None)
        yield values, after.get(new, ())
    yield from (((), after[name]) for name in reversed(free))


def _is_first(first: Values, second: Values, kinds: _ValueKinds) -> bool:
    """Returns whether `first` is aligned with `second` or the reverse, in either order of programs."""
    if len(first) != len(second):
        return len(first) < len(second)
    for one, other in zip(first, second, strict=True):
        if kinds.with_operands(one) != kinds.with_operands(other):
            return kinds.text(one) <= kinds.text(other)
    return True


def _aligned(first: Values, second: Values, levels: Sequence[tuple[KeyFunction, int]]) -> Iterator[Pair]:
    """Returns the values aligned by the first key, the rest by further keys; each with its limit of edits."""
    if not levels or not first or not second:
        yield from ((entry, None) for entry in first)
        yield from ((None, entry) for entry in second)
        return
    (key, most), *rest = levels
    at = other = 0
    for i, j in _agreements([*map(key, first)], [*map(key, second)], most):
        if i > at or j > other:
            yield from _aligned(first[at:i], second[other:j], rest)
        yield first[i], second[j]
        at, other = i + 1, j + 1
    yield from _aligned(first[at:], second[other:], rest)


def _agreements(first: list[Hashable], second: list[Hashable], most: int) -> list[tuple[int, int]]:
    """Returns the equal positions of two sequences: at both ends, and as `matched` between them."""
    start = _common(first, second)
    end = _common(first[start:][::-1], second[start:][::-1])
    middle = matched(first[start : len(first) - end], second[start : len(second) - end], most)
    tail = ((len(first) - k, len(second) - k) for k in range(end, 0, -1))
    return [*((i, i) for i in range(start)), *((start + i, start + j) for i, j in middle), *tail]


def matched(first: Sequence[Hashable], second: Sequence[Hashable], most: int) -> list[tuple[int, int]]:
    """Returns the equal positions of two sequences with the fewest edits; none if these are over `most`.

    Without a search where all that both have is in the same order.

    >>> matched("abcd", "xbd", 10)
    [(1, 1), (3, 2)]
    """
    a, b = _numbered(first, second)
    removed, added = Counter(a), Counter(b)
    # At least so many edits, whatever the order: spares their square where little is common.
    if (removed - added).total() + (added - removed).total() > most:
        return []
    shared = removed.keys() & added.keys()
    here, there = ([at for at, key in enumerate(keys) if key in shared] for keys in (a, b))
    if [a[at] for at in here] == [b[at] for at in there]:  # then no other matching has as many pairs
        return [*zip(here, there, strict=True)]
    alone = len(a) - len(here) + len(b) - len(there)
    if alone <= SMALL:
        return _searched(a, b, most)
    # As many pairs, found without the square of what only one has; which of equal items match may differ.
    found = _searched([a[at] for at in here], [b[at] for at in there], most - alone)
    return [(here[i], there[j]) for i, j in found]


def _numbered(*sequences: Sequence[Hashable]) -> Iterator[list[int]]:
    """Returns the sequences with equal numbers for equal items."""
    numbers: dict[Hashable, int] = {}
    return ([numbers.setdefault(key, len(numbers)) for key in keys] for keys in sequences)


def _searched(a: list[int], b: list[int], most: int) -> list[tuple[int, int]]:
    """Returns the equal positions with the fewest edits; none if these are over `most`.

    E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986: `reach[k]` is how far into the
    first sequence `edits` edits lead on the diagonal where k more of it than of the second are passed.
    """
    limit = min(most, len(a) + len(b))
    reach = array("q", [-1]) * (2 * limit + 3)
    middle = limit + 1
    reach[middle + 1] = 0
    steps: list[array[int]] = []
    for edits in range(limit + 1):
        steps.append(reach[middle - edits - 1 : middle + edits + 2])
        for k in range(-edits, edits + 1, 2):
            below, above = reach[middle + k - 1], reach[middle + k + 1]
            i = above if _is_addition(k, edits, below, above) else below + 1
            j = i - k
            while i < len(a) and j < len(b) and a[i] == b[j]:
                i, j = i + 1, j + 1
            reach[middle + k] = i
            if i >= len(a) and j >= len(b):
                return _walked_back(steps, len(a), len(b))
    return []


def _is_addition(k: int, edits: int, below: int, above: int) -> bool:
    """Returns whether the last edit on the way to diagonal k adds from the second sequence."""
    return k == -edits or (k != edits and below < above)


def _walked_back(steps: Sequence[array[int]], i: int, j: int) -> list[tuple[int, int]]:
    """Returns the equal positions on the way to (i, j); `steps`: the reach before each number of edits."""
    common: list[tuple[int, int]] = []
    for edits in range(len(steps) - 1, -1, -1):
        k = i - j
        below, above = steps[edits][k + edits], steps[edits][k + edits + 2]
        is_addition = _is_addition(k, edits, below, above)
        start = above if is_addition else below + 1
        while i > max(start, 0) and j > 0:
            i, j = i - 1, j - 1
            common.append((i, j))
        if edits:
            i = above if is_addition else below
            j = i - (k + 1 if is_addition else k - 1)
    return common[::-1]


def _common(first: Sequence[object], second: Sequence[object]) -> int:
    """Returns the length of the common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))
