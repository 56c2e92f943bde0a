"""Indexing maps: the elements of one tensor that each element of another reads, symbolically.

An `IndexMap` has dimension variables d (they index the domain tensor), range variables s (each has all values
of its interval for every d) and runtime variables rt (known at run time only), all with closed intervals, and
constraints `lower <= expression <= upper`. Maps are equal if their simplified forms are.

Not here: the maps of single ops (`ops/`), rewrites (`rewrite.py`), reading the text form (`parse.py`),
the points of domains (`domain.py`), the other direction (`reverse.py`).

>>> ten, three, six = Interval(0, 9), Interval(0, 2), Interval(0, 5)
>>> print(IndexMap((dim(0) + runtime(0), range_var(0)), (ten,), (three,), (six,)))
(d0)[s0]{rt0} -> (d0 + rt0, s0),
domain:
d0 in [0, 9],
s0 in [0, 2],
rt0 in [0, 5]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.bounds import Constraint, Interval
from shardy_py.indexing.expr import Expr, Variable, dim, range_var, runtime
from shardy_py.indexing.rewrite import simplify_parts


@dataclass(frozen=True, eq=False)
class IndexMap:
    """A map (d, s, rt) -> results on a domain.

    results: one expression for each dimension of the tensor read.
    dims, ranges, runtimes: the intervals of d0.., s0.., rt0...
    constraints: further conditions on the domain.
    """

    results: tuple[Expr, ...]
    dims: tuple[Interval, ...] = ()
    ranges: tuple[Interval, ...] = ()
    runtimes: tuple[Interval, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    @cached_property
    def simplified(self) -> IndexMap:
        """The normal form: the same element at every point, without unused range and runtime variables.

        A map with undeclared variables (a bare affine map) is returned unchanged.
        """
        if not self.used <= self.bounds.keys():
            return self
        return _SIMPLIFIED.get(self.parts) or _remember(self)

    @cached_property
    def tidied(self) -> IndexMap:
        """The form of the maps of ops: simplified, but `d0 + rt0` stays if d0 or rt0 has one value only.

        Runtime variables keep their numbers, so that rt0 is the same value in all maps of an op.
        """
        return _simplify(self, keeps_names=True)

    @property
    def parts(self) -> tuple[object, ...]:
        """The fields, as a key."""
        return (self.results, self.dims, self.ranges, self.runtimes, self.constraints)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexMap):
            return NotImplemented
        return self.parts == other.parts or self.simplified.parts == other.simplified.parts

    def __hash__(self) -> int:
        return hash(self.simplified.parts)

    def __mul__(self, then: IndexMap) -> IndexMap:
        return self.compose(then).simplified

    def restricted(self, box: Mapping[Variable, Interval] | Sequence[Interval]) -> IndexMap:
        """The map restricted to intervals of some variables, or of the first dimensions."""
        if not isinstance(box, Mapping):
            box = {dim(i): interval for i, interval in enumerate(box)}
        unknown = [v for v in box if v not in self.bounds]
        if unknown:
            raise ValueError(f"unknown variable {unknown[0]} of the map")
        bounds = {v: i.intersect(box[v]) if v in box else i for v, i in self.bounds.items()}
        return replace(self, **by_kind(bounds))

    @property
    def bounds(self) -> dict[Variable, Interval]:
        """The interval of every variable, dimensions first."""
        bounds = {dim(i): interval for i, interval in enumerate(self.dims)}
        bounds |= {range_var(i): interval for i, interval in enumerate(self.ranges)}
        return bounds | {runtime(i): interval for i, interval in enumerate(self.runtimes)}

    @property
    def used(self) -> frozenset[Variable]:
        """The variables that occur in results or constraints."""
        expressions = chain(self.results, (expression for expression, _ in self.constraints))
        return frozenset[Variable]().union(*(e.variables for e in expressions))

    def evaluate(
        self, dims: Sequence[int], ranges: Sequence[int] = (), runtimes: Sequence[int] = ()
    ) -> tuple[int, ...] | None:
        """The element read at one point, None if the point is outside the domain."""
        pairs = ((dim, dims), (range_var, ranges), (runtime, runtimes))
        values = {variable(i): v for variable, given in pairs for i, v in enumerate(given)}
        if not self.holds(values):
            return None
        return tuple(result.evaluate(values) for result in self.results)

    def holds(self, values: Mapping[Variable, int]) -> bool:
        """Returns whether the point with these values is in the domain."""
        return all(interval.contains(values[v]) for v, interval in self.bounds.items()) and all(
            interval.contains(expression.evaluate(values)) for expression, interval in self.constraints
        )

    def trimmed(self, *, in_order: bool = False, keeps_runtimes: bool = False) -> IndexMap:
        """The map without unused range and runtime variables, the rest renumbered.

        Variables with an empty interval stay, as they make the domain empty. in_order: ranges are numbered in
        order of occurrence. keeps_runtimes: runtime variables keep their numbers if any of them is used.
        """
        used = self.used
        ranges = [i for i, v in enumerate(self.ranges) if range_var(i) in used or not v.size]
        runtimes = [i for i, v in enumerate(self.runtimes) if runtime(i) in used or not v.size]
        if runtimes and keeps_runtimes:
            runtimes = [*range(len(self.runtimes))]
        if in_order:
            expressions = (*self.results, *(e for e, _ in self.constraints))
            occurring = chain.from_iterable(
                sorted(e.variables, key=lambda v: v.sort_key) for e in expressions
            )
            first = [v.index for v in dict.fromkeys(occurring) if v.kind == "s"]
            ranges.sort(key=lambda i: first.index(i) if i in first else len(first) + i)
        if ranges == [*range(len(self.ranges))] and len(runtimes) == len(self.runtimes):
            return self
        renamed = {range_var(old): range_var(new) for new, old in enumerate(ranges)}
        renamed |= {runtime(old): runtime(new) for new, old in enumerate(runtimes)}
        kept_ranges, kept_runtimes = [self.ranges[i] for i in ranges], [self.runtimes[i] for i in runtimes]
        trimmed = self.substituted(renamed)
        return replace(trimmed, ranges=tuple(kept_ranges), runtimes=tuple(kept_runtimes))

    def substituted(self, renamed: Mapping[Variable, Expr]) -> IndexMap:
        """The map with expressions in place of variables and unchanged intervals."""
        known: dict[Expr, Expr] = {}

        def replaced(expression: Expr) -> Expr:
            return expression.rebuilt(lambda v: renamed.get(v, v), known)

        constraints = tuple((replaced(expression), interval) for expression, interval in self.constraints)
        return replace(self, results=tuple(map(replaced, self.results)), constraints=constraints)

    def compose(self, then: IndexMap) -> IndexMap:
        """First this map, then `then`: the elements read by the elements that this map reads.

        The ranges and runtime variables of `then` precede this map's own, as the outer loops of a reduction
        do. Constraints keep the results of this map inside the domain of `then`.
        """
        ranges, runtimes = len(then.ranges), len(then.runtimes)
        renamed = {range_var(i): range_var(i + ranges) for i in range(len(self.ranges))}
        renamed |= {runtime(i): runtime(i + runtimes) for i in range(len(self.runtimes))}
        shifted = self.substituted(renamed)
        outer = then.substituted({dim(i): result for i, result in enumerate(shifted.results)})
        landing = tuple(zip(shifted.results, then.dims, strict=True))
        constraints = tuple(dict.fromkeys((*shifted.constraints, *landing, *outer.constraints)))
        intervals = self.dims, then.ranges + self.ranges, then.runtimes + self.runtimes
        return IndexMap(outer.results, *intervals, constraints)

    def __str__(self) -> str:
        def names(prefix: str, intervals: Sequence[Interval]) -> str:
            return ", ".join(f"{prefix}{i}" for i in range(len(intervals)))

        text = f"({names('d', self.dims)})"
        text += f"[{names('s', self.ranges)}]" if self.ranges else ""
        text += f"{{{names('rt', self.runtimes)}}}" if self.runtimes else ""
        text += f" -> ({', '.join(map(str, self.results))})"
        domain = [f"{e} in {interval}" for e, interval in (*self.bounds.items(), *self.constraints)]
        return text + (",\ndomain:\n" + ",\n".join(domain) if domain else "")


def by_kind(bounds: Mapping[Variable, Interval]) -> dict[str, tuple[Interval, ...]]:
    """The intervals as the fields of a map."""
    return {
        field: tuple(interval for v, interval in bounds.items() if v.kind == kind)
        for field, kind in (("dims", "d"), ("ranges", "s"), ("runtimes", "rt"))
    }


_SIMPLIFIED: dict[tuple[object, ...], IndexMap] = SESSION.table("simplified maps")


def _remember(index_map: IndexMap) -> IndexMap:
    simple = _simplify(index_map, keeps_names=False)
    simple.__dict__["simplified"] = simple
    _SIMPLIFIED[index_map.parts] = _SIMPLIFIED[simple.parts] = simple
    return simple


def _simplify(index_map: IndexMap, *, keeps_names: bool) -> IndexMap:
    given = index_map.results, index_map.bounds, index_map.constraints
    results, bounds, constraints = simplify_parts(*given, keeps_names=keeps_names)
    simple = IndexMap(results, **by_kind(bounds), constraints=constraints)
    return simple.trimmed(in_order=True, keeps_runtimes=keeps_names)
