"""Divides groups that show too many boxes: into the sections between values through which all has to pass, or
into stretches with few values between them, and those again (`sections.py`).

Arguments and results stand with the op that uses or makes them. Not here: scopes and repeats (`scopes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from shardy_py.viewer.explorer.items import Item, Items, ValueUse, beside, depths
from shardy_py.viewer.explorer.sections import sections, stretches

MOST_SHOWN = 40
"""Groups with more boxes are divided."""
LEAST_SECTION = 6
_ENDS = ("argument", "result")


def divided(items: Items) -> Items:
    """Returns the items with long groups divided; the order of children is kept."""
    return _Divider(items).run()


class _Divider:
    def __init__(self, items: Items) -> None:
        self.old = items
        self.new = Items(items.table, maker=[-1] * len(items.maker))
        self.numbers: dict[int, int] = {0: 0}

    def run(self) -> Items:
        found = self.old.found
        pending: list[tuple[int, Sequence[int]]] = [
            (0, found[0].children)
        ]  # of a new group, the old items in it that are to be added
        while pending:
            group, children = pending.pop()
            parts = self._parts(children) if self.new.found[group].kind not in ("root", "repeat") else []
            inside: list[tuple[int, Sequence[int]]] = []
            for part in parts or [[child] for child in children]:
                if sum(found[child].kind not in _ENDS for child in part) > 1:
                    inside.append((self.new.add(Item("scope", self._range(part), group)), part))
                    continue
                for child in part:
                    item = found[child]
                    number = self.new.add(Item(item.kind, item.label, group, item.values, item.op))
                    self.numbers[child] = number
                    inside.append((number, item.children))
            pending.extend(reversed(inside))
        self.new.edges = [ValueUse(e.value, self.numbers[e.item], e.operand) for e in self.old.edges]
        self.new.of_op = {op: self.numbers[number] for op, number in self.old.of_op.items()}
        return self.new

    def _parts(self, children: Sequence[int]) -> list[list[int]]:
        """The children in parts, none if they are few; what is between sections is in parts of one."""
        found = self.old.found
        inner = [child for child in children if found[child].kind not in _ENDS]
        if len(inner) <= MOST_SHOWN:
            return []
        alone = [at for at, child in enumerate(inner) if found[child].kind == "repeat"]
        alone = [] if len(alone) > MOST_SHOWN // 2 else alone  # repeats are what a reader looks for
        bounds = [-1, *alone, len(inner)]
        runs = [inner[start + 1 : end] for start, end in pairwise(bounds)]
        parts = self._divided_run(runs[0], len(runs))
        for at, run in zip(alone, runs[1:], strict=True):
            parts += [[inner[at]], *self._divided_run(run, len(runs))]
        return self._with_ends(parts, [child for child in children if found[child].kind in _ENDS])

    def _divided_run(self, inner: Sequence[int], runs: int) -> list[list[int]]:
        """One of so many runs of items of a group in parts."""
        count = len(inner)
        if count <= max(2 * LEAST_SECTION, MOST_SHOWN // runs):
            return [[child] for child in inner]
        last_uses = self._last_uses(inner)
        ranges = sections(last_uses, least=LEAST_SECTION)
        if not ranges or len(ranges) > MOST_SHOWN:
            most = max(MOST_SHOWN, 2 * -(-count // MOST_SHOWN))
            ranges = stretches(last_uses, least=most // 3, most=most)
        inside = {at for start, end in ranges for at in range(start + 1, end)}
        cuts = [*(at for at in range(count) if at not in inside), count]
        return [[*inner[start:end]] for start, end in pairwise(cuts)]

    def _with_ends(self, parts: list[list[int]], ends: Iterable[int]) -> list[list[int]]:
        """The parts with arguments before the ops that use them, and results behind those that make them."""
        part_of = {child: number for number, part in enumerate(parts) for child in part}
        before: list[list[int]] = [[] for _ in parts]
        after: list[list[int]] = [[] for _ in parts]
        for end in ends:
            is_argument = self.old.found[end].kind == "argument"
            near = self._users.get(end, ()) if is_argument else self._makers.get(end, ())
            numbers = [part_of[each] for each in near if each in part_of]
            side = before if is_argument else after
            side[min(numbers) if numbers and is_argument else max(numbers, default=-1)].append(end)
        return [[*a, *part, *b] for a, part, b in zip(before, parts, after, strict=True)]

    def _last_uses(self, children: Sequence[int]) -> list[int]:
        """As `sections` takes them; values that need no argument, such as masks, do not count."""
        position = {child: at for at, child in enumerate(children)}
        return [
            max((position.get(user, len(children)) for user in self._users.get(child, ())), default=at)
            if child in self._fed
            else at
            for at, child in enumerate(children)
        ]

    @cached_property
    def _users(self) -> dict[int, set[int]]:
        """For each item, those beside it that use its values, or in which they are used; of both any part."""
        users: dict[int, set[int]] = {}
        depth = depths(self.old.found)
        for edge in self.old.edges:
            maker = self.old.maker[edge.value]
            pair = beside(self.old.found, depth, maker, edge.item) if maker >= 0 else None
            if pair is not None:
                users.setdefault(pair[0], set()).add(pair[1])
        return users

    @cached_property
    def _makers(self) -> dict[int, set[int]]:
        makers: dict[int, set[int]] = {}
        for maker, users in self._users.items():
            for user in users:
                makers.setdefault(user, set()).add(maker)
        return makers

    @cached_property
    def _fed(self) -> set[int]:
        """The items that need an argument, directly or not, and the groups with such items."""
        found = self.old.found
        users: dict[int, list[int]] = {}
        for edge in self.old.edges:
            users.setdefault(self.old.maker[edge.value], []).append(edge.item)
        waiting = [number for number, item in enumerate(found) if item.kind == "argument"]
        fed: set[int] = set(waiting)
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in fed:
                    fed.add(user)
                    waiting.append(user)
        for number in range(len(found) - 1, 0, -1):
            if number in fed:
                fed.add(found[number].parent)
        return fed

    def _range(self, children: Sequence[int]) -> str:
        """The names of the first and the last value, or group."""
        found, entries = self.old.found, self.old.table.entries
        inner = [found[child] for child in children if found[child].kind not in _ENDS]
        names = [entries[item.values[0]].name if item.values else item.label for item in inner]
        return f"{names[0]}..{names[-1]}" if names else f"{len(children)} boxes"
