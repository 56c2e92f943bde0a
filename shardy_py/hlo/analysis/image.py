"""Images of maps: the elements read over a whole domain, as strided boxes where possible.

Variables under divisions are split into quotient and remainder (`d0 = 8 * a + b` for `d0 floordiv 8`), after
which the maps of reshapes are linear; results that share variables are enumerated. Images too large for that
are over-approximated by a box, and flagged.

>>> from shardy_py.indexing import parse_map
>>> print(image_of(parse_map("(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 9], s0 in [0, 3]")).box)
[0:39:1]
>>> print(image_of(parse_map("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]")).box)
[0:3:1, 0:7:1]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.records import dataclass
from shardy_py.hlo.analysis.strided import Progression, StridedBox, between
from shardy_py.indexing import (
    Constraint,
    Division,
    Expr,
    IndexMap,
    Interval,
    Variable,
    bounds_of,
    connected,
    dim,
    evaluate_points,
    is_empty,
    point_chunks,
)

MOST_POINTS = 1 << 20
"""The most points of a group of results that are enumerated; larger groups are over-approximated."""
_MOST_SPLITS = 32
_NOTHING = Progression(0, 1, 0)
Points = NDArray[np.int64]


@dataclass(frozen=True)
class Image:
    """The elements that a map reaches.

    box: the smallest strided box around them.
    clouds: dimensions whose indices are not a product of progressions, with their joint indices.
    is_bound: whether the box (and clouds) over-approximate the image.
    """

    box: StridedBox
    clouds: tuple[tuple[tuple[int, ...], Points], ...] = ()
    is_bound: bool = False

    @property
    def is_box(self) -> bool:
        """Returns whether the image is exactly the box."""
        return not (self.clouds or self.is_bound)

    @property
    def count(self) -> int:
        """The number of elements; an upper bound if `is_bound`."""
        clouded = {d for dims, _ in self.clouds for d in dims}
        boxed = prod(p.count for d, p in enumerate(self.box.dimensions) if d not in clouded)
        return boxed * prod(len(points) for _, points in self.clouds)

    def mark(self, mask: NDArray[np.bool_]) -> None:
        """Sets the elements in `mask`, an array of the tensor's shape."""
        if not self.clouds:
            mask[tuple(slice(p.start, p.last + 1, p.step) for p in self.box.dimensions)] = True
            return
        columns: list[Points] = [np.arange(p.start, p.last + 1, p.step) for p in self.box.dimensions]
        axes: list[tuple[tuple[int, ...], Points]] = list(self.clouds)
        clouded = {d for dims, _ in self.clouds for d in dims}
        axes += [((d,), c[:, None]) for d, c in enumerate(columns) if d not in clouded]
        index: list[Points] = columns
        for axis, (dims, points) in enumerate(axes):
            shape = [1] * len(axes)
            shape[axis] = len(points)
            for column, d in enumerate(dims):
                index[d] = points[:, column].reshape(shape)
        mask[tuple(index)] = True


def image_of(index_map: IndexMap, *, fixed_runtimes: bool = False) -> Image:
    """The image of a map; with fixed_runtimes for the least values of the runtime variables."""
    if fixed_runtimes:
        index_map = replace(index_map, runtimes=tuple(Interval(i.low, i.low) for i in index_map.runtimes))
    split = _split(index_map.simplified)
    if any(not interval.size for interval in split.bounds.values()):
        return Image(StridedBox((_NOTHING,) * len(split.results)))
    dimensions: list[Progression] = [_NOTHING] * len(split.results)
    clouds: list[tuple[tuple[int, ...], Points]] = []
    is_bound = False
    for dims, variables, constraints in _groups(split):
        if not dims:
            if is_empty(replace(split, results=(), constraints=constraints)):
                return Image(StridedBox((_NOTHING,) * len(dimensions)))
            continue
        progressions, points = _group_image(split, dims, variables, constraints)
        if progressions is None:
            is_bound = True
            progressions = [_bound(split, d) for d in dims]
        for d, progression in zip(dims, progressions, strict=True):
            dimensions[d] = progression
        if points is not None:
            clouds.append((dims, points))
    if not all(p.count for p in dimensions):
        return Image(StridedBox((_NOTHING,) * len(dimensions)))
    return Image(StridedBox(tuple(dimensions)), tuple(clouds), is_bound)


def _bound(index_map: IndexMap, result: int) -> Progression:
    interval = bounds_of(index_map.results[result], index_map.bounds)
    return between(interval.low, 1, interval.high)


def _groups(
    index_map: IndexMap,
) -> Iterator[tuple[tuple[int, ...], frozenset[Variable], tuple[Constraint, ...]]]:
    """Results, variables and constraints that are connected by common variables."""
    items: list[tuple[frozenset[Variable], int | Constraint]] = [
        *((result.variables, d) for d, result in enumerate(index_map.results)),
        *((constraint[0].variables, constraint) for constraint in index_map.constraints),
    ]
    for variables, group in connected(items):
        results = tuple(sorted(item for item in group if isinstance(item, int)))
        yield results, variables, tuple(item for item in group if not isinstance(item, int))


def _group_image(
    index_map: IndexMap,
    dims: tuple[int, ...],
    variables: frozenset[Variable],
    constraints: tuple[Constraint, ...],
) -> tuple[list[Progression] | None, Points | None]:
    """Progressions for the dimensions, and the points themselves if they are not the product of these."""
    bounds = index_map.bounds
    if len(dims) == 1:
        progression = _linear_image(index_map.results[dims[0]], constraints, index_map)
        if progression is not None:
            return [progression], None
    if prod(bounds[v].size for v in variables) > MOST_POINTS:
        return None, None
    order = sorted(variables, key=lambda v: v.sort_key)
    renamed: dict[Variable, Expr] = {v: dim(i) for i, v in enumerate(order)}
    alone = IndexMap(
        tuple(index_map.results[d] for d in dims), tuple(bounds[v] for v in order), constraints=constraints
    ).substituted(renamed)
    chunks = [np.unique(evaluate_points(alone, chunk)[0], axis=0) for chunk in point_chunks(alone)]
    if not chunks:
        return [_NOTHING] * len(dims), None
    points = np.unique(np.concatenate(chunks), axis=0)
    lines = [_line(np.unique(points[:, column])) for column in range(len(dims))]
    is_product = prod(p.count for p in lines) == len(points)
    return lines, None if is_product else points


def _line(values: Points) -> Progression:
    """The smallest progression that holds sorted values."""
    step = int(np.gcd.reduce(np.diff(values))) if len(values) > 1 else 1
    return between(int(values[0]), step, int(values[-1]))


def _linear_image(
    result: Expr, constraints: tuple[Constraint, ...], index_map: IndexMap
) -> Progression | None:
    """The values of a sum of multiples of variables, if they are a progression."""
    if any(not isinstance(atom, Variable) for atom, _ in result.terms):
        return None
    bounds = index_map.bounds
    start, step, count = result.constant, 0, 1
    for atom, factor in sorted(result.terms, key=lambda term: abs(term[1])):
        assert isinstance(atom, Variable)
        interval = bounds[atom]
        start += min(interval.low * factor, interval.high * factor)
        if interval.size == 1:
            continue
        step = step or abs(factor)
        if factor % step or abs(factor) > step * count:
            return None
        count += abs(factor) // step * (interval.size - 1)
    progression = Progression(start, step or 1, count)
    for expression, interval in constraints:
        # A constraint on the same sum clips the progression; the effect of any other is unknown.
        shift = expression - result
        if not shift.is_constant:
            return None
        progression = progression.clipped(interval.low - shift.constant, interval.high - shift.constant)
    return progression


def _split(index_map: IndexMap) -> IndexMap:
    """A map with the same image and variables under divisions split to eliminate the divisions."""
    for _ in range(_MOST_SPLITS):
        simpler = _without_residue(index_map) or _without_quotient(index_map)
        if simpler is None:
            return index_map
        index_map = simpler.simplified
    return index_map


def _replaced(
    index_map: IndexMap, variable: Variable, value: Expr, parts: dict[Variable, Interval]
) -> IndexMap:
    """The map with `value`, an expression over the new variables of `parts`, in place of `variable`."""
    kept = {v: i for v, i in index_map.bounds.items() if v is not variable}
    return _as_dims(index_map.substituted({variable: value}), kept | parts)


def _as_dims(index_map: IndexMap, bounds: dict[Variable, Interval]) -> IndexMap:
    """The map with all variables as dimensions; images do not depend on their kinds."""
    renamed: dict[Variable, Expr] = {v: dim(i) for i, v in enumerate(bounds)}
    substituted = index_map.substituted(renamed)
    return IndexMap(substituted.results, tuple(bounds.values()), constraints=substituted.constraints)


_FRESH = dim(1 << 20), dim((1 << 20) + 1)


def _without_residue(index_map: IndexMap) -> IndexMap | None:
    """Replaces x by c * t + first where (x + k) mod c must be one number."""
    for number, (expression, interval) in enumerate(index_map.constraints):
        if not isinstance(expression, Division) or expression.op != "mod" or interval.size != 1:
            continue
        terms = expression.dividend.terms
        if len(terms) != 1 or not isinstance(terms[0][0], Variable) or abs(terms[0][1]) != 1:
            continue
        variable, factor = terms[0][0], terms[0][1]
        by, bounds = expression.divisor, index_map.bounds[variable]
        residue = (interval.low - expression.dividend.constant) * factor % by
        first = bounds.low + (residue - bounds.low) % by
        inside = Interval(0, (bounds.high - first) // by)
        rest = index_map.constraints[:number] + index_map.constraints[number + 1 :]
        thinner = replace(index_map, constraints=rest)
        return _replaced(thinner, variable, _FRESH[0] * by + first, {_FRESH[0]: inside})
    return None


def _without_quotient(index_map: IndexMap) -> IndexMap | None:
    """Replaces x by c * a + b where c divides both a division of x and the size of x's interval."""
    for division in _divisions((*index_map.results, *(e for e, _ in index_map.constraints))):
        for atom, factor in division.dividend.terms:
            if not isinstance(atom, Variable):
                continue
            by = division.divisor // gcd(factor, division.divisor)
            interval = index_map.bounds[atom]
            if by > 1 and interval.size > by and not interval.size % by:
                value = _FRESH[0] * by + _FRESH[1] + interval.low
                parts = {_FRESH[0]: Interval(0, interval.size // by - 1), _FRESH[1]: Interval(0, by - 1)}
                return _replaced(index_map, atom, value, parts)
    return None


def _divisions(expressions: tuple[Expr, ...]) -> Iterator[Division]:
    """All divisions, those inside others first."""
    for expression in expressions:
        for atom, _ in expression.terms:
            if isinstance(atom, Division):
                yield from _divisions((atom.dividend,))
                yield atom
