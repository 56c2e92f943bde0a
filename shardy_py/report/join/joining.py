"""Joins the values that a compiled program sends with those that were forecast: `joined`.

Rules, the strongest first, each in linear time: a rule gives keys to both sides, and values with equal keys
are joined in their order. A key has the line that a value is sent for, or all forecast values with the key
have one line, so that no value is joined to a line that it is not of. What remains is not joined.

Not here: the values (`model.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from shardy_py.base.records import dataclass
from shardy_py.hlo.text import Origin
from shardy_py.report.join.model import Join, JoinEvidence, Match, SentItem, line_of, scope_of

_SUMS = ("all_reduce", "reduce_scatter")
_LOOP = "/while"
_BODY = "/while/body"


def _family(kind: str) -> str:
    """The kind, or what compilers make of each other."""
    return "sum" if kind in _SUMS else kind


def _exact(item: SentItem) -> Hashable:
    return item.kind, item.axes, item.element, item.sizes, item.runs


def _same_type(item: SentItem) -> Hashable:
    return item.kind, item.axes, item.element, item.count


def _same_count(item: SentItem) -> Hashable:
    return _family(item.kind), item.axes, item.count


def _same_axes(item: SentItem) -> Hashable:
    return _family(item.kind), item.axes


def _axes(item: SentItem) -> Hashable:
    return item.axes


def _kind(item: SentItem) -> Hashable:
    return _family(item.kind)


def _named(origin: Origin) -> Hashable:
    line = line_of(origin)
    return (line, origin.name) if line or origin.name else None


def _scoped(origin: Origin) -> Hashable:
    line = line_of(origin)
    return None if line is None else (line, scope_of(origin))


def _loop(origin: Origin) -> Hashable:
    """The name of the loop that an op is in, or that it is itself."""
    name = origin.name
    return (
        name if name.endswith(_LOOP) else name[: name.rindex(_BODY) + len(_LOOP)] if _BODY in name else None
    )


def _own(item: SentItem) -> tuple[Origin, ...]:
    return item.origins


def _made_by(item: SentItem) -> tuple[Origin, ...]:
    return item.makers


def _of_loop(item: SentItem) -> tuple[Origin, ...]:
    """The origin of a value that a compiler moved out of a loop."""
    return tuple(origin for origin in item.origins if origin.name.endswith(_LOOP))


def _around(item: SentItem) -> tuple[Origin, ...]:
    """The origins around a value without a line: of sums makers first, of others readers."""
    if item.lines:
        return ()
    sides = (item.makers, item.readers) if item.kind in _SUMS else (item.readers, item.makers)
    return (*sides[0], *sides[1])


def _makers_alone(item: SentItem) -> tuple[Origin, ...]:
    """The origins of what makes a value without a line."""
    return () if item.lines else item.makers


Side = Callable[[SentItem], tuple[Origin, ...]]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule: what of a value and of an origin must be equal.

    compiled, forecast: the origins of a value that count, on each side.
    """

    evidence: JoinEvidence
    value: Callable[[SentItem], Hashable]
    origin: Callable[[Origin], Hashable]
    compiled: Side
    forecast: Side = _own


_VALUES = (_exact, _same_type, _same_count)
_ORIGINS = (_named, _scoped, line_of)
# Releases of XLA differ in whose metadata a collective has: of what requires it, or of what is sent.
_SIDES = (
    (JoinEvidence.METADATA, _own, _own),
    (JoinEvidence.METADATA, _own, _made_by),
    (JoinEvidence.AROUND, _around, _own),
    (JoinEvidence.AROUND, _makers_alone, _made_by),
)
_BOTH_SIDES = (
    *_SIDES,
    (JoinEvidence.METADATA, _own, _around),
    (JoinEvidence.AROUND, _made_by, _own),
    (JoinEvidence.AROUND, _around, _around),
)
"""The sides of two compiled programs: the origins around values count on both."""


def _rules(sides: tuple[tuple[JoinEvidence, Side, Side], ...]) -> tuple[_Rule, ...]:
    found = tuple(
        _Rule(evidence, value, origin, compiled, forecast)
        for evidence, compiled, forecast in sides
        for value in _VALUES
        for origin in _ORIGINS
    )
    return (*found, *(_Rule(JoinEvidence.METADATA, value, _loop, _of_loop) for value in _VALUES))


def _rules_in_parts(sides: tuple[tuple[JoinEvidence, Side, Side], ...]) -> tuple[_Rule, ...]:
    """Rules by which a value may be several of the other side: gathers in steps, or over all axes."""
    return tuple(
        _Rule(JoinEvidence.LINE, value, origin, compiled, forecast)
        for value in (_same_axes, _axes, _kind)
        for _, compiled, forecast in sides
        for origin in _ORIGINS
    )


def joined(
    compiled: Sequence[SentItem], forecast: Sequence[SentItem], *, are_both_compiled: bool = False
) -> Join:
    """Returns which of the values that were forecast those of a compiled program are.

    are_both_compiled: the second ones are of another compiled program.
    """
    state = _State(compiled, forecast)
    sides = _BOTH_SIDES if are_both_compiled else _SIDES
    for rule in _rules(sides):
        state.apply(rule)
    for value in _VALUES:
        state.by_structure(value)
    for rule in _rules_in_parts(sides):
        state.apply_in_parts(rule)
    return Join(dict(sorted(state.matches.items())))


class _State:
    """matches: so far, by compiled value. left: the forecast values that none is joined to."""

    def __init__(self, compiled: Sequence[SentItem], forecast: Sequence[SentItem]) -> None:
        self.compiled, self.forecast = compiled, forecast
        self.matches: dict[int, Match] = {}
        self.left = dict.fromkeys(range(len(forecast)))

    def apply(self, rule: _Rule) -> None:
        """Joins what a rule joins, a forecast value with one compiled value."""
        waiting = self._waiting(rule, self.left)
        for number, item in enumerate(self.compiled):
            if number in self.matches:
                continue
            for key in _keys(rule, item, rule.compiled(item)):
                found = waiting.get(key)
                while found and found[0] not in self.left:
                    found.popleft()
                if found:
                    self.matches[number] = Match((found[0],), rule.evidence)
                    del self.left[found.popleft()]
                    break

    def apply_in_parts(self, rule: _Rule) -> None:
        """Joins all values that a rule joins, evenly with the forecast ones that are left, else with all."""
        known = (self._waiting(rule, self.left), self._waiting(rule, range(len(self.forecast))))
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for number, item in enumerate(self.compiled):
            if number not in self.matches:
                keys = _keys(rule, item, rule.compiled(item))
                key = next((key for key in keys if key in known[1]), None)
                if key is not None:
                    groups[key].append(number)
        for key, numbers in groups.items():
            found = tuple(known[0].get(key) or known[1][key])
            for place, number in enumerate(numbers):
                first, end = (each * len(found) // len(numbers) for each in (place, place + 1))
                own = found[first : max(end, first + 1)]
                self.matches[number] = Match(own, rule.evidence)
                for forecast in own:
                    self.left.pop(forecast, None)

    def _waiting(self, rule: _Rule, numbers: Iterable[int]) -> dict[Hashable, deque[int]]:
        found: dict[Hashable, deque[int]] = defaultdict(deque)
        for number in numbers:
            item = self.forecast[number]
            for key in _keys(rule, item, rule.forecast(item)):
                found[key].append(number)
        return found

    def by_structure(self, value: Callable[[SentItem], Hashable]) -> None:
        """Joins values without a line whose like have one line, or one at each place of the program."""
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for number in self.left:
            waiting[value(self.forecast[number])].append(number)
        open_: dict[Hashable, list[int]] = defaultdict(list)
        for number, item in enumerate(self.compiled):
            if number not in self.matches and not item.lines:
                open_[value(item)].append(number)
        for key, numbers in open_.items():
            for number, found in self._pairs(numbers, waiting.get(key, [])):
                self.matches[number] = Match((found,), JoinEvidence.STRUCTURE)
                del self.left[found]

    def _pairs(self, numbers: Sequence[int], found: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Values that are alike, with those that they are by forecast."""
        if len({self.forecast[each].lines for each in found}) == 1:
            yield from zip(numbers, found, strict=False)
            return
        sides = [
            Counter(items[each].place for each in side)
            for items, side in ((self.compiled, numbers), (self.forecast, found))
        ]
        if sides[0] != sides[1]:
            return
        by_place: dict[Hashable, deque[int]] = defaultdict(deque)
        for each in found:
            by_place[self.forecast[each].place].append(each)
        sure = {
            place
            for place, each in by_place.items()
            if len({self.forecast[number].lines for number in each}) == 1
        }
        for number in numbers:
            place = self.compiled[number].place
            if place in sure:
                yield number, by_place[place].popleft()


def _keys(rule: _Rule, item: SentItem, origins: tuple[Origin, ...]) -> Iterator[Hashable]:
    for origin in origins:
        at = rule.origin(origin)
        if at is not None:
            yield at, rule.value(item)
