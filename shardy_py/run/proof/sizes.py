"""Smaller sizes for the dimensions of a program, which keep all relations between them.

A problem has a variable for each dimension. Ops tie dimensions (one variable) or relate them: products of a
reshape, sums of a concatenation, windows, slices. From the sizes as they are, which satisfy all relations,
one size after the other becomes smaller, and those that depend on it follow; a size that cannot stays.

How a dimension is sharded stays as it is: `same_split`. Not here: the kinds of relations
(`size_relations.py`), those of ops (`sized_ops.py`).

>>> problem = Problem()
>>> rows, columns, both = (problem.variable(size) for size in (512, 64, 512 * 64))
>>> problem.relate(ProductOfSizes(both, (rows, columns)))
>>> problem.split(rows, 16)
>>> problem.solution()
(32, 8, 256)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from typing_extensions import override

from shardy_py.run.proof.size_relations import ProductOfSizes, SizeRelation

KEPT = 8
"""Sizes up to this one stay; larger ones become no smaller."""
TRIES = 64
"""The most sizes tried for a variable."""
DISTINCT = 8
"""Among so many of them, those that no other variable has come first."""
STEPS = 200
"""The most changes that follow one."""


def same_split(old: int, new: int, parts: int, reach: int = 2) -> bool:
    """Returns whether a dimension of another size has the same kinds of parts.

    As many full parts, a partial one, empty ones; parts up to `reach` elements have as many as before.

    >>> same_split(1000, 31, 16), same_split(1000, 32, 16), same_split(1024, 32, 16)
    (True, False, True)
    """
    part, smaller = -(-old // parts), -(-new // parts)
    return (
        old // part == new // smaller
        and (old % part == 0) == (new % smaller == 0)
        and (old % parts == 0) == (new % parts == 0)
        and min(part, reach) == min(smaller, reach)
    )


class Problem:
    """Variables with sizes, their relations, and how they are sharded."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._parents: list[int] = []
        self._relations: dict[SizeRelation, None] = {}
        self._pinned: set[int] = set()
        self._parts: dict[int, set[int]] = {}
        self._reach: dict[int, int] = {}
        self._floors: dict[int, int] = {}

    def variable(self, size: int) -> int:
        """Returns a new variable."""
        self.sizes.append(size)
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def tie(self, one: int, other: int) -> None:
        """Two dimensions have the same size, or one of them that many times the other's."""
        sizes = self.sizes[one], self.sizes[other]
        if sizes[0] == sizes[1]:
            self._parents[self._root(one)] = self._root(other)
        elif min(sizes) > 0 and max(sizes) % min(sizes) == 0:
            large, small = (one, other) if sizes[0] > sizes[1] else (other, one)
            self.relate(ProductOfSizes(large, (small,), max(sizes) // min(sizes)))
        else:
            self.pin(one, other)

    def relate(self, relation: SizeRelation) -> None:
        """Adds a relation; variables of one that the sizes do not satisfy keep them."""
        if relation.holds(self.sizes.__getitem__, self.sizes.__getitem__):
            self._relations[relation] = None
        else:
            self.pin(*relation.variables)

    def pin(self, *variables: int) -> None:
        """These sizes stay."""
        self._pinned.update(variables)

    def split(self, variable: int, parts: int) -> None:
        """The dimension is sharded in so many parts somewhere."""
        if parts > 1:
            self._parts.setdefault(variable, set()).add(parts)

    def reach(self, variable: int, elements: int) -> None:
        """An op reads so many neighbours along the dimension: smaller parts are exchanged in other ways."""
        self._reach[variable] = max(elements, self._reach.get(variable, 0))

    def at_least(self, variable: int, size: int) -> None:
        """The size becomes no smaller than that."""
        self._floors[variable] = max(size, self._floors.get(variable, 0))

    def solution(self, least: int = KEPT, whole: int | None = None) -> tuple[int, ...]:
        """Returns the new size of each variable.

        least: sizes up to this one stay, and larger ones become no smaller. whole: those of dimensions that
        are sharded nowhere become no smaller than this; None: than `least`.
        """
        return _Solver(self, least, least if whole is None else whole).solve()

    def following(self, variable: int, size: int) -> tuple[int, ...] | None:
        """Returns the size of each variable after one changed, with those that must follow.

        Only tied dimensions count as equal. None: a relation cannot follow.

        >>> problem = Problem()
        >>> rows, columns, both = (problem.variable(size) for size in (6, 64, 384))
        >>> problem.relate(ProductOfSizes(both, (rows, columns)))
        >>> problem.following(rows, 8)
        (8, 64, 512)
        """
        return _Following(self, [self._root(each) for each in range(len(self.sizes))]).solve_for(
            variable, size
        )

    def _root(self, variable: int) -> int:
        while self._parents[variable] != variable:
            self._parents[variable] = variable = self._parents[self._parents[variable]]
        return variable

    @property
    def relations(self) -> tuple[SizeRelation, ...]:
        """The relations between all variables."""
        return tuple(self._relations)

    def classes(self) -> list[int]:
        """Returns a representative for each variable: of those tied, and of those that only have equal sizes.

        Equal sizes stay equal: ops may require it in ways that are not relations here, as of square matrices.
        """
        pinned = {self._root(variable) for variable in self._pinned}
        by_size: dict[int, int] = {}
        roots = map(self._root, range(len(self.sizes)))
        return [root if root in pinned else by_size.setdefault(self.sizes[root], root) for root in roots]

    def pinned_classes(self, classes: list[int]) -> set[int]:
        """Returns the classes whose sizes stay."""
        return {classes[variable] for variable in self._pinned}

    def parts_of(self, classes: list[int]) -> Mapping[int, set[int]]:
        """Returns the numbers of parts of each class."""
        parts: dict[int, set[int]] = {}
        for variable, numbers in self._parts.items():
            parts.setdefault(classes[variable], set()).update(numbers)
        return parts

    def bounds_of(self, classes: list[int]) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Returns the reach of each class, and the size that it becomes no smaller than."""
        found: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for known, bounds in zip((self._reach, self._floors), found, strict=True):
            for variable, size in known.items():
                bounds[classes[variable]] = max(size, bounds.get(classes[variable], 0))
        return found


class _Solver:
    def __init__(self, problem: Problem, least: int, whole: int, classes: list[int] | None = None) -> None:
        self._classes = problem.classes() if classes is None else classes
        self._old = problem.sizes
        self._least, self._whole = least, whole
        self._parts = problem.parts_of(self._classes)
        self._reach, self._floors = problem.bounds_of(self._classes)
        self._pinned = problem.pinned_classes(self._classes)
        self._sizes = {name: problem.sizes[name] for name in self._classes}
        self._relations: dict[int, list[SizeRelation]] = {}
        renamed = (relation.renamed(self._classes.__getitem__) for relation in problem.relations)
        for relation in dict.fromkeys(renamed):
            for variable in dict.fromkeys(relation.variables):
                self._relations.setdefault(variable, []).append(relation)

    def solve(self) -> tuple[int, ...]:
        for variable in sorted(self._sizes, key=lambda name: (-self._old[name], name)):
            for size in self._candidates(variable):
                self._steps = STEPS
                changes = self._repaired({variable: size}, list(self._relations.get(variable, ())))
                if changes is not None:
                    self._sizes |= changes
                    break
        return tuple(self._sizes[name] for name in self._classes)

    def _candidates(self, variable: int) -> list[int]:
        """Smaller sizes; those that differ from the other new sizes come first: ops must not mix them up."""
        if variable in self._pinned:
            return []
        smaller = range(self._smallest(variable), self._sizes[variable])
        sizes = list(islice((size for size in smaller if self._fits(variable, size)), TRIES))
        taken = {new for name, new in self._sizes.items() if new != self._old[name]}
        return sorted(sizes[:DISTINCT], key=taken.__contains__) + sizes[DISTINCT:]

    def _fits(self, variable: int, size: int) -> bool:
        old = self._old[variable]
        if variable in self._pinned or size > old or size < self._smallest(variable):
            return size == old
        reach = self._reach.get(variable, 2)
        return all(same_split(old, size, parts, reach) for parts in self._parts.get(variable, ()))

    def _smallest(self, variable: int) -> int:
        """The smallest size of a variable that may change."""
        least = self._least if variable in self._parts else self._whole
        size = self._old[variable]
        return size if size <= self._least else min(size, max(least, self._floors.get(variable, 0)))

    def _repaired(self, changes: dict[int, int], queue: list[SizeRelation]) -> dict[int, int] | None:
        """Returns the changes with those that follow; None if no relation can follow."""

        def new(variable: int) -> int:
            return changes[variable] if variable in changes else self._sizes[variable]

        while queue:
            relation = queue.pop()
            if relation.holds(self._old.__getitem__, new):
                continue
            for variable, size in relation.repairs(self._old.__getitem__, new):
                self._steps -= 1
                if self._steps < 0:
                    return None
                if variable in changes or not self._fits(variable, size):
                    continue
                following = [*queue, relation, *self._relations[variable]]
                repaired = self._repaired({**changes, variable: size}, following)
                if repaired is not None:
                    return repaired
            return None
        return changes


class _Following(_Solver):
    """Sizes that follow one that is given, larger or smaller, however they are sharded."""

    def __init__(self, problem: Problem, classes: list[int]) -> None:
        super().__init__(problem, 0, 0, classes)

    def solve_for(self, variable: int, size: int) -> tuple[int, ...] | None:
        """Returns all sizes; None if a relation cannot follow."""
        name, self._steps = self._classes[variable], STEPS
        if not self._fits(name, size):
            return None
        changes = self._repaired({name: size}, list(self._relations.get(name, ())))
        if changes is None:
            return None
        sizes = self._sizes | changes
        return tuple(sizes[each] for each in self._classes)

    @override
    def _fits(self, variable: int, size: int) -> bool:
        return variable not in self._pinned and size > 0
