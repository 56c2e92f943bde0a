"""Folds the ops of each block: by the scopes of their names, and repeated runs of equal ops to one group.

A training step is first divided into its passes (`passes_of_model.py`). A scope that recurs with another
number (`layer_0`, `layer_1`, ...) and about as many ops is one group of kind "repeat", whose children are the
scopes: one is shown at a time. Without scopes, runs of equal ops one after the other (an unrolled loop over
layers) are found. Not here: groups that are still long (`divided.py`), placement (`placement.py`).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from shardy_py.mlir.location_names import name_stack
from shardy_py.report.training_step import passes_by_structure
from shardy_py.viewer.explorer.items import Item, Items, ValueUse, scope_of
from shardy_py.viewer.explorer.passes_of_model import FORWARD, PASSES, passes_of_model

LEAST_RUN = 6
"""The least number of ops in a run that counts as a layer."""
LEAST_REPEATS = 3
_DIFFERENCE = 0.25
"""Scopes of one family have this much more or fewer ops than the middle one, as a share of those."""
_NUMBER = re.compile(r"\d+")
_ORDER = {"argument": 0, "result": 2}
_Path = tuple[str, ...]


def folded(items: Items) -> Items:
    """Returns the items with groups for scopes and repeats; the order of children is kept."""
    return _Folder(items).run()


class _Folder:
    def __init__(self, items: Items) -> None:
        self.old = items
        self.new = Items(items.table, maker=[-1] * len(items.maker))
        self.numbers: dict[int, int] = {0: 0}
        self.by_structure: dict[Block, Mapping[Operation, str]] = {}

    def run(self) -> Items:
        ends = self._ends()
        pending = [0]
        while pending:
            number = pending.pop()
            children = self.old.found[number].children
            self._fold([child for child in children if child not in ends], self.numbers[number])
            pending.extend(child for child in reversed(children) if self.old.found[child].children)
        for child, op in ends.items():
            parent = self.old.found[child].parent if op < 0 else self.old.found[op].parent
            self._add(child, self.numbers[parent] if op < 0 else self.new.found[self.numbers[op]].parent)
        first = self._first_ops()
        for item in self.new.found:
            item.children.sort(key=lambda child: (*self._order(child), first[child]))
        self.new.edges = [ValueUse(e.value, self.numbers[e.item], e.operand) for e in self.old.edges]
        self.new.of_op = {op: self.numbers[number] for op, number in self.old.of_op.items()}
        return self.new

    def _order(self, child: int) -> tuple[int, int]:
        """Arguments before all else, results behind; the passes of a model in their order."""
        item = self.new.found[child]
        return _ORDER.get(item.kind, 1), PASSES.index(item.label) if item.kind == "pass" else -1

    def _first_ops(self) -> list[int]:
        """By new item, the first old item that is it or in it: that is its place in the program.

        Arguments stand beside their users, so that they do not count for groups.
        """
        found, last = self.old.found, len(self.old.found)
        first = [last] * len(self.new.found)
        for old, new in self.numbers.items():
            first[new] = min(first[new], old + (last if found[old].kind == "argument" else 0))
        for number in range(len(first) - 1, 0, -1):
            parent = self.new.found[number].parent
            first[parent] = min(first[parent], first[number])
        return first

    def _ends(self) -> dict[int, int]:
        """The arguments and results of functions, each with the op beside which it stands; -1 if none."""
        found, ends = self.old.found, dict[int, int]()
        for number, item in enumerate(found):
            if item.kind in ("argument", "result") and found[item.parent].kind == "function":
                ends[number] = -1
        for edge in self.old.edges:
            maker = self.old.maker[edge.value]
            if ends.get(maker) == -1 and edge.item not in ends:
                ends[maker] = edge.item
            if edge.item in ends and maker >= 0 and maker not in ends:
                ends[edge.item] = maker
        return ends

    def _fold(self, children: Sequence[int], group: int) -> None:
        """Adds children of one block: those with a scope in groups of it, others in groups of equal runs."""
        passes = self._passes(children)
        paths = self._paths(children, passes)
        first, last = self._around(children, {c for c, path in zip(children, paths, strict=True) if path})
        around = {*first, *last}
        self._add_group("inputs", first, group)
        tree: dict[_Path, int] = {(): group}
        alike = self._alike(paths)
        direct: dict[_Path, list[int]] = {}  # ops of a scope itself, up to the next scope in it
        for child, path in zip(children, paths, strict=True):
            if child in around:
                continue
            for depth in range(len(path)):
                self._add_runs(direct.pop(path[:depth], ()), tree[path[:depth]])
                self._add_scope(path[: depth + 1], tree, alike, is_pass=depth == 0 and bool(passes))
            direct.setdefault(path, []).append(child)
        for path, members in direct.items():
            self._add_runs(members, tree[path])
        self._add_group("results", last, group)

    def _add_scope(
        self, path: _Path, tree: dict[_Path, int], alike: dict[_Path, _Path], *, is_pass: bool
    ) -> None:
        """Adds a group for a scope, in that of its family if it has one."""
        if path in tree:
            return
        parent = tree[path[:-1]]
        if family := alike.get(path):
            if family not in tree:
                tree[family] = self.new.add(Item("repeat", _NUMBER.sub("*", path[-1]), parent))
            parent = tree[family]
        tree[path] = self.new.add(Item("pass" if is_pass else "scope", path[-1], parent))

    def _passes(self, children: Sequence[int]) -> list[str]:
        """The pass of a training step that each child is of; [] if there is one pass only."""
        found, position = self.old.found, {child: at for at, child in enumerate(children)}
        names = ["" if (op := found[c].op) is None else name_stack(_location(op)) for c in children]
        users = {
            at: [position[user] for user in self.users.get(child, ()) if user in position]
            for at, child in enumerate(children)
        }
        return passes_of_model(names, users) or self._passes_by_structure([found[c].op for c in children])

    def _passes_by_structure(self, ops: Sequence[Operation | None]) -> list[str]:
        """The pass of each op of a function, by its structure; [] unless that is a training step."""
        block = next((op.parent_block() for op in ops if op is not None), None)
        if block is None or not isinstance(block.parent_op(), FuncOp):
            return []
        passes = self.by_structure.get(block)
        if passes is None:  # of many ops with regions in one block once
            passes = self.by_structure[block] = passes_by_structure(block)
        return [FORWARD if op is None else passes.get(op, FORWARD) for op in ops] if passes else []

    def _around(self, children: Sequence[int], inside: set[int]) -> tuple[list[int], list[int]]:
        """The other ops that use nothing of those inside scopes, and those used by none of them.

        Such as changes of arguments, and updates of parameters, which are in between in the program.
        """
        first = {child: bool(inside) and child not in inside for child in children}
        last = dict(first)
        for child in children:
            if not first[child]:
                first.update((user, False) for user in self.users.get(child, ()) if user in first)
        for child in reversed(children):
            last[child] = last[child] and all(last.get(user, True) for user in self.users.get(child, ()))
        ops = [child for child in children if self.old.found[child].kind == "op"]
        groups = [child for child in ops if first[child]], [c for c in ops if last[c] and not first[c]]
        before, after = (found if len(found) >= LEAST_RUN else [] for found in groups)
        return before, after

    def _add_group(self, label: str, members: Sequence[int], group: int) -> None:
        if members:
            self._add_runs(members, self.new.add(Item("scope", label, group)))

    @cached_property
    def users(self) -> dict[int, set[int]]:
        """For each item, those beside it that use its values, or have such a use inside."""
        found, users = self.old.found, dict[int, set[int]]()
        for edge in self.old.edges:
            maker, user = self.old.maker[edge.value], edge.item
            while maker >= 0 and user > 0 and found[user].parent != found[maker].parent:
                user = found[user].parent
            if maker >= 0 and user > 0:
                users.setdefault(maker, set()).add(user)
        return users

    def _paths(self, children: Sequence[int], passes: Sequence[str]) -> list[_Path]:
        """The pass and the scopes of each child below those that all have; scopes of one op are left out."""
        found = self.old.found
        paths = [scope_of(op) if (op := found[c].op) and found[c].kind == "op" else () for c in children]
        given = [path for path in dict.fromkeys(paths) if path]
        if not given and not passes:
            return paths
        shared = 0
        while given and all(len(p) > shared and p[shared] == given[0][shared] for p in given):
            shared += 1
        heads = [(each,) for each in passes] or [()] * len(paths)
        below = [(*head, *path[shared:]) for head, path in zip(heads, paths, strict=True)]
        sizes = _sizes(below)
        least = len(heads[0])  # passes stay groups of their own
        known = {path: _shortened(path, sizes, least) for path in set(below)}
        return [known[path] for path in below]

    def _alike(self, paths: Sequence[_Path]) -> dict[_Path, _Path]:
        """For each scope that recurs with other numbers and about as many ops, the key of its family."""
        sizes = _sizes(paths)
        families: dict[_Path, list[_Path]] = {}
        for path in sizes:
            if _NUMBER.search(path[-1]):
                families.setdefault((*path[:-1], _NUMBER.sub("*", path[-1])), []).append(path)
        alike: dict[_Path, _Path] = {}
        for family, members in families.items():
            middle = sorted(sizes[path] for path in members)[len(members) // 2]
            similar = [path for path in members if abs(sizes[path] - middle) <= _DIFFERENCE * middle]
            if len(similar) >= LEAST_REPEATS:
                alike |= dict.fromkeys(similar, family)
        return alike

    def _signature(self, child: int) -> Hashable:
        item, entries = self.old.found[child], self.old.table.entries
        return item.label, *(id(entries[value].type) for value in item.values), len(item.children)

    def _add_runs(self, children: Sequence[int], group: int) -> None:
        """Adds children without scopes: repeated runs as groups."""
        at = 0
        for start, period, count in repeated_runs([self._signature(child) for child in children]):
            self._add_all(children[at:start], group)
            repeat = self.new.add(Item("repeat", f"{period} ops", group))
            for number in range(count):
                run = self.new.add(Item("scope", f"repeat {number}", repeat))
                self._add_all(children[start + number * period : start + (number + 1) * period], run)
            at = start + period * count
        self._add_all(children[at:], group)

    def _add_all(self, children: Iterable[int], group: int) -> None:
        for child in children:
            self._add(child, group)

    def _add(self, child: int, parent: int) -> None:
        old = self.old.found[child]
        self.numbers[child] = self.new.add(Item(old.kind, old.label, parent, old.values, old.op))


def _sizes(paths: Iterable[_Path]) -> Counter[_Path]:
    """The number of ops in each scope, those inside included; counted once for ops of one scope."""
    sizes: Counter[_Path] = Counter()
    for path, count in Counter(paths).items():
        for depth in range(1, len(path) + 1):
            sizes[path[:depth]] += count
    return sizes


def _location(op: Operation) -> Attribute:
    return op.location  # pyright: ignore[reportAttributeAccessIssue]


def _shortened(path: _Path, sizes: Counter[_Path], least: int) -> _Path:
    """A path without scopes of one op at its end, and with scopes that hold only one scope joined.

    The first `least` parts stay as they are.
    """
    while len(path) > least and sizes[path] < 2:
        path = path[:-1]
    joined: list[str] = []
    for depth, part in enumerate(path):
        if len(joined) > least and sizes[path[: depth + 1]] == sizes[path[:depth]]:
            joined[-1] += f"/{part}"
        else:
            joined.append(part)
    return tuple(joined)


def repeated_runs(signatures: Sequence[Hashable]) -> list[tuple[int, int, int]]:
    """Returns the runs that recur one after the other: start, ops in one, how often.

    Candidates for a period are the distances between occurrences of rare signatures.

    >>> repeated_runs([9, *(0, 1, 2, 3, 4, 5) * 4, 7])
    [(1, 6, 4)]
    """
    taken: list[
        tuple[int, int, int]
    ] = []  # sorted, none overlaps another: only neighbours can overlap a new one
    for period in _periods(signatures):
        start, length = 0, 0
        for at in range(len(signatures) - period + 1):
            is_same = at + period < len(signatures) and signatures[at] == signatures[at + period]
            if is_same:
                start = at if length == 0 else start
                length += 1
                continue
            count = length // period + 1
            end = start + count * period
            place = bisect(taken, (start,))
            if (
                length
                and count >= LEAST_REPEATS
                and not _overlap(taken[max(place - 1, 0) : place + 1], start, end)
            ):
                taken.insert(place, (start, period, count))
            length = 0
    return taken


def _periods(signatures: Sequence[Hashable]) -> list[int]:
    """The most frequent distances between neighbours of equal signature, those that cover most first."""
    last: dict[Hashable, int] = {}
    distances: Counter[int] = Counter()
    for at, signature in enumerate(signatures):
        if signature in last:
            distances[at - last[signature]] += 1
        last[signature] = at
    common = [d for d, count in distances.most_common(24) if d >= LEAST_RUN and count >= LEAST_REPEATS - 1]
    return sorted(common, key=lambda d: -d * distances[d])


def _overlap(taken: Sequence[tuple[int, int, int]], start: int, end: int) -> bool:
    return any(start < s + p * c and s < end for s, p, c in taken)
