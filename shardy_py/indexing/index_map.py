"""Indexing maps: which elements of one tensor an element of another reads, symbolically.

An `IndexMap` has dimension variables d (they index the domain tensor), range variables s (each runs over its
whole interval for every d) and runtime variables rt (known only when the program runs), all with closed
intervals, and constraints `lower <= expression <= upper`. Not here: the maps of single ops (`ops/`), rewrites
(`simplify.py`), reading the text form (`parse.py`).

>>> print(IndexMap((dim(0) + runtime(0), range_var(0)), (extent(10),), (extent(3),), (extent(6),)))
(d0)[s0]{rt0} -> (d0 + rt0, s0),
domain:
d0 in [0, 9],
s0 in [0, 2],
rt0 in [0, 5]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from shardy_py.indexing.expr import Expr, Variable, dim, range_var, runtime


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`, both included; empty if `high` < `low`."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many integers it holds."""
        return max(0, self.high - self.low + 1)

    def contains(self, value: int) -> bool:
        """Whether `value` lies in it."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"


def extent(size: int) -> Interval:
    """The indices of a dimension of `size` elements: [0, size - 1]."""
    return Interval(0, size - 1)


Constraint = tuple[Expr, Interval]


@dataclass(frozen=True)
class IndexMap:
    """A map (d, s, rt) -> results on a domain.

    results: one expression for each dimension of the tensor that is read.
    dims, ranges, runtimes: the intervals of d0.., s0.., rt0...
    constraints: what else holds in the domain.
    """

    results: tuple[Expr, ...]
    dims: tuple[Interval, ...] = ()
    ranges: tuple[Interval, ...] = ()
    runtimes: tuple[Interval, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    @property
    def bounds(self) -> dict[Variable, Interval]:
        """The interval of every variable, dimensions first."""
        return {
            **{dim(i): v for i, v in enumerate(self.dims)},
            **{range_var(i): v for i, v in enumerate(self.ranges)},
            **{runtime(i): v for i, v in enumerate(self.runtimes)},
        }

    @property
    def used(self) -> frozenset[Variable]:
        """The variables that occur in results or constraints."""
        expressions = chain(self.results, (expression for expression, _ in self.constraints))
        return frozenset[Variable]().union(*(e.variables for e in expressions))

    def evaluate(
        self, dims: Sequence[int], ranges: Sequence[int] = (), runtimes: Sequence[int] = ()
    ) -> tuple[int, ...] | None:
        """The element read at one point, None if the point lies outside the domain."""
        values = _point(dims, ranges, runtimes)
        if not self.holds(values):
            return None
        return tuple(result.evaluate(values) for result in self.results)

    def holds(self, values: Mapping[Variable, int]) -> bool:
        """Whether the point with these values lies in the domain."""
        return all(interval.contains(values[v]) for v, interval in self.bounds.items()) and all(
            interval.contains(expression.evaluate(values)) for expression, interval in self.constraints
        )

    def trimmed(self) -> IndexMap:
        """The same map without range and runtime variables that do not occur, the rest numbered anew.

        Those with an empty interval stay: they make the domain empty.

        >>> str(IndexMap((range_var(1),), (), (Interval(0, 3), Interval(0, 4))).trimmed()).split(",")[0]
        '()[s0] -> (s0)'
        """
        used = self.used
        ranges = [i for i, v in enumerate(self.ranges) if range_var(i) in used or not v.size]
        runtimes = [i for i, v in enumerate(self.runtimes) if runtime(i) in used or not v.size]
        if len(ranges) == len(self.ranges) and len(runtimes) == len(self.runtimes):
            return self
        renamed: dict[Variable, Expr] = {
            **{range_var(old): range_var(new) for new, old in enumerate(ranges)},
            **{runtime(old): runtime(new) for new, old in enumerate(runtimes)},
        }
        return replace(
            self.substituted(renamed),
            ranges=tuple(self.ranges[i] for i in ranges),
            runtimes=tuple(self.runtimes[i] for i in runtimes),
        )

    def substituted(self, renamed: Mapping[Variable, Expr]) -> IndexMap:
        """The map with expressions in the place of variables; the intervals stay as they are."""

        def replaced(expression: Expr) -> Expr:
            return expression.replace(lambda v: renamed.get(v, v))

        return replace(
            self,
            results=tuple(map(replaced, self.results)),
            constraints=tuple((replaced(expression), interval) for expression, interval in self.constraints),
        )

    def compose(self, then: IndexMap) -> IndexMap:
        """First this map, then `then`: what the element that this map reads reads in its turn.

        The ranges and runtime variables of `then` come before this map's own, as the outer loops of a
        reduction do. That this map lands in `then`'s domain becomes a constraint.
        """
        ranges, runtimes = len(then.ranges), len(then.runtimes)
        shifted = self.substituted(
            {
                **{range_var(i): range_var(i + ranges) for i in range(len(self.ranges))},
                **{runtime(i): runtime(i + runtimes) for i in range(len(self.runtimes))},
            }
        )
        outer = then.substituted({dim(i): result for i, result in enumerate(shifted.results)})
        landing = tuple(zip(shifted.results, then.dims, strict=True))
        return IndexMap(
            outer.results,
            self.dims,
            then.ranges + self.ranges,
            then.runtimes + self.runtimes,
            _distinct((*shifted.constraints, *landing, *outer.constraints)),
        )

    def __str__(self) -> str:
        def names(of: Iterable[Expr]) -> str:
            return ", ".join(map(str, of))

        text = f"({names(map(dim, range(len(self.dims))))})"
        if self.ranges:
            text += f"[{names(map(range_var, range(len(self.ranges))))}]"
        if self.runtimes:
            text += f"{{{names(map(runtime, range(len(self.runtimes))))}}}"
        text += f" -> ({names(self.results)})"
        domain = [f"{e} in {interval}" for e, interval in (*self.bounds.items(), *self.constraints)]
        return text + (",\ndomain:\n" + ",\n".join(domain) if domain else "")


def _point(dims: Sequence[int], ranges: Sequence[int], runtimes: Sequence[int]) -> dict[Variable, int]:
    values: dict[Variable, int] = {dim(i): v for i, v in enumerate(dims)}
    values.update({range_var(i): v for i, v in enumerate(ranges)})
    values.update({runtime(i): v for i, v in enumerate(runtimes)})
    return values


def _distinct(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    return tuple(dict.fromkeys(constraints))
