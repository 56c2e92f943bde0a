"""The state of a reshard, `AxisMoves`, and its first two collectives: all-slices and permutes.

`AxisMoves` holds for each dimension the axes that it has and those that it is to have, without their common
prefix. Axes are split so that any two that overlap are equal.

    from [{"x", "y"}, {}] to [{"x"}, {"y"}]     have [["y"], []], want [[], ["y"]]

All-slices make the others move less. A wanted axis that shards no dimension yet is sliced where it is wanted
if that dimension is to have more parts than now; otherwise in a dimension that is, and moved from there.

    have [["y"], [], []], want [["x"], ["y"], ["z"]]    slices [[], ["x"], ["z"]]

A permute may replace the axes of a dimension by any others with as many parts, in any order. It takes one
message for each device, so it precedes the more expensive collectives.

    have [["x", "y"], ["z"]], want [["z"], []]      becomes have [["y"], ["x"]], want [[], []]

Not here: which collectives are chosen, permutes for another order of devices (`collectives.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from math import gcd, prod
from typing import Self

from shardy_py.sharding import Axes, AxisRef, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, total_size

Place = tuple[int, int]
"""A dimension and an index in its list."""


class AxisMoves:
    """The difference between the current and the wanted sharding.

    current: the axes of each dimension, merged where possible.
    have: those of them behind the common prefix.
    want: the axes that each dimension is to have instead of `have`.
    """

    def __init__(
        self, source: TensorSharding, target: TensorSharding, mesh: Mesh, whole: frozenset[int] = frozenset()
    ) -> None:
        """whole: the dimensions whose common prefix moves too."""
        self.mesh = mesh
        self.current = [dimension.axes for dimension in source.dimensions]
        self.have, self.want = aligned_axes(source, target, mesh)
        for dimension, (have, want) in enumerate(zip(self.have, self.want, strict=True)):
            while dimension not in whole and have and want and have[0] == want[0]:
                del have[0], want[0]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.current)

    @property
    def is_done(self) -> bool:
        """True if the current sharding is the wanted one."""
        return not any(self.have) and not any(self.want)

    def copy(self) -> Self:
        """An independent copy."""
        other = copy(self)
        other.current = list(self.current)
        other.have, other.want = [list(axes) for axes in self.have], [list(axes) for axes in self.want]
        return other

    def has(self, axis: AxisRef) -> bool:
        """True if `axis` shards a dimension, in another place than wanted."""
        return any(axis in axes for axes in self.have)

    def places(self) -> dict[AxisRef, Place]:
        """The place where each axis is wanted."""
        return {a: (dim, index) for dim, axes in enumerate(self.want) for index, a in enumerate(axes)}

    def add(self, dimension: int, axes: Iterable[AxisRef]) -> None:
        """Appends `axes` to the current sharding of `dimension`."""
        self.current[dimension] = append_axes(self.current[dimension], axes, self.mesh)

    def pop(self, dimension: int, start: int = 0) -> list[AxisRef]:
        """Removes the axes that `dimension` has from index `start` on, and returns them."""
        popped = self.have[dimension][start:]
        del self.have[dimension][start:]
        current = list(self.current[dimension])
        for axis in reversed(popped):
            last = current.pop()
            if prefix := last.prefix_without(axis):
                current.append(prefix)
        self.current[dimension] = tuple(current)
        return popped

    def arrive(self, dimension: int, axes: Sequence[AxisRef]) -> None:
        """Appends `axes` to `dimension`; those that are wanted next there are done."""
        self.add(dimension, axes)
        have, want = self.have[dimension], self.want[dimension]
        for axis in axes:
            if not have and want and want[0] == axis:
                del want[0]
            else:
                have.append(axis)

    def distribute(
        self, available: Sequence[list[AxisRef]], capacities: list[int], *, at_front: bool = False
    ) -> list[tuple[int, AxisRef]]:
        """Adds axes to `have`, dimension by dimension, within the capacities; returns dimensions and axes.

        available: for each dimension the axes it may take; they are removed. All may be the same list.
        capacities: into how many parts each dimension may still be split; updated.
        at_front: before the axes of a dimension, not behind them.
        """
        placed: list[tuple[int, AxisRef]] = []
        divided: list[AxisRef] = []
        for dimension, axes in enumerate(available):
            have = self.have[dimension]
            position = 0 if at_front else len(have)
            index = 0
            while index < len(axes) and capacities[dimension] > 1:
                within, rest = fit(axes[index], capacities[dimension], self.mesh)
                if within is None:
                    index += 1
                    continue
                capacities[dimension] //= within.size(self.mesh)
                del axes[index]
                have.insert(position, within)
                position += 1
                placed.append((dimension, within))
                if rest is not None:
                    divided.append(within)
                    axes.insert(0, rest)
                    index += 1
        if divided:
            divided.sort(key=lambda axis: axis.order)
            self.want = [_split_all(want, divided, self.mesh) for want in self.want]
        return placed


def aligned_axes(
    first: TensorSharding, second: TensorSharding, mesh: Mesh
) -> tuple[list[list[AxisRef]], list[list[AxisRef]]]:
    """The axes of each dimension of both, split so that any two that overlap are equal."""
    own, its = ([dimension.axes for dimension in sharding.dimensions] for sharding in (first, second))
    own_axes, its_axes = _ordered(own), _ordered(its)
    return [_split_all(axes, its_axes, mesh) for axes in own], [
        _split_all(axes, own_axes, mesh) for axes in its
    ]


def fit(axis: AxisRef, capacity: int, mesh: Mesh) -> tuple[AxisRef | None, AxisRef | None]:
    """The major part of `axis` of at most size `capacity`, and the rest of it; None if there is none."""
    size = axis.size(mesh)
    if capacity <= 1 or not is_multiple(size, capacity):
        return None, None
    if capacity >= size:
        return axis, None
    within = SubAxis(axis.pre_size, capacity)
    rest = SubAxis(within.next_pre_size, size // capacity)
    return AxisRef(axis.name, within), AxisRef(axis.name, rest)


def is_multiple(first: int, second: int) -> bool:
    """True if one divides the other."""
    return first % second == 0 or second % first == 0


def _ordered(axes_per_dimension: Iterable[Axes]) -> list[AxisRef]:
    return sorted((a for axes in axes_per_dimension for a in axes), key=lambda axis: axis.order)


def _split_all(axes: Iterable[AxisRef], others: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    return [part for axis in axes for part in _split(axis, others, mesh)]


def _split(axis: AxisRef, others: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    """`axis` split where one of `others` starts or ends; `others` are disjoint and in order."""
    first = next((index for index, other in enumerate(others) if axis.overlaps(other)), len(others))
    parts: list[AxisRef] = []
    rest: AxisRef | None = axis
    for other in others[first:]:
        common = rest.overlap(other)
        if common is None or common == rest:
            break
        if prefix := rest.prefix_without(other):
            parts.append(prefix)
        parts.append(common)
        rest = rest.suffix_without(other, mesh)
        if rest is None:
            return parts
    return [*parts, rest]


SlicedAxes = list[list[AxisRef]]
"""By dimension."""


def take_slices(
    moves: AxisMoves, shape: Sequence[int], fixed: frozenset[int] = frozenset()
) -> tuple[Axes, ...]:
    """Slices a tensor of `shape` along all axes to add, but not in dimensions that are `fixed`.

    Returns the axes of each dimension.
    """
    mesh = moves.mesh
    sliced: SlicedAxes = [[] for _ in shape]
    capacities = [
        (parts := total_size(want, mesh)) // gcd(total_size(have, mesh), parts)
        for have, want in zip(moves.have, moves.want, strict=True)
    ]
    for dimension in range(moves.rank):
        if dimension not in fixed:
            _slice_ahead(moves, dimension, shape[dimension], capacities, sliced)
    available: list[AxisRef] = []
    for dimension in range(moves.rank):
        available += _slice_in_place(moves, dimension, capacities, sliced[dimension])
    for dimension, axis in moves.distribute([available] * moves.rank, capacities):
        moves.add(dimension, (axis,))
        sliced[dimension].append(axis)
    return tuple(append_axes((), axes, mesh) for axes in sliced)


def _slice_ahead(moves: AxisMoves, source: int, size: int, capacities: list[int], sliced: SlicedAxes) -> None:
    """Slices dimension `source` along axes that follow its own in the dimension that these move to.

    One all-to-all then moves them together, and in order:

        have [["x"], []], want [[], ["x", "y"]]     slices [["y"], []]

    Requires that neither dimension changes otherwise, and that the parts have equal sizes.
    """
    have = moves.have[source]
    if not have or moves.want[source]:
        return  # first: there may be many dimensions, and `places` visits them all
    places = moves.places()
    if have[-1] not in places:
        return
    target, last = places[have[-1]]
    want = moves.want[target]
    if moves.have[target]:
        return
    end = last + 1
    while end < len(want) and not moves.has(want[end]):
        end += 1
    added = want[last + 1 : end]
    common = _common_suffix(have, want[: last + 1])
    out_of_order = any(places.get(axis, (-1, 0))[0] == target for axis in have[: len(have) - common])
    if not added or out_of_order:
        return
    parts = total_size(added, moves.mesh)
    if size % (total_size(moves.current[source], moves.mesh) * parts):
        return
    capacities[target] //= total_size(have[len(have) - common :], moves.mesh) * parts
    have.extend(added)
    moves.add(source, added)
    sliced[source].extend(added)


def _common_suffix(first: Sequence[AxisRef], second: Sequence[AxisRef]) -> int:
    count = 0
    for a, b in zip(reversed(first), reversed(second), strict=False):
        if a != b:
            break
        count += 1
    return count


def _slice_in_place(
    moves: AxisMoves, dimension: int, capacities: list[int], sliced: list[AxisRef]
) -> list[AxisRef]:
    """Slices `dimension` along the axes wanted there; returns those that exceed its capacity."""
    have, want = moves.have[dimension], moves.want[dimension]
    left: list[AxisRef] = []
    index = 0
    while index < len(want):
        axis = want[index]
        if moves.has(axis):
            index += 1
            continue
        within, rest = fit(axis, capacities[dimension], moves.mesh)
        if within is None:
            left.append(axis)
            index += 1
            continue
        capacities[dimension] //= within.size(moves.mesh)
        sliced.append(within)
        moves.add(dimension, (within,))
        if not have and index == 0:
            del want[0]
        else:
            have.append(within)
            want[index] = within
            index += 1
        if rest is not None:
            want.insert(index, rest)
            left.append(rest)
            index += 1
    return left


def needs_permute(moves: AxisMoves) -> bool:
    """True if a permute helps: axes to replace, or axes to reorder before they move."""
    mesh = moves.mesh
    for have, want in zip(moves.have, moves.want, strict=True):
        if have and want and is_multiple(have[0].size(mesh), want[0].size(mesh)):
            return True
    places = moves.places()
    superfluous = missing = None
    for dimension, (have, want) in enumerate(zip(moves.have, moves.want, strict=True)):
        found, is_out_of_order = _order(have, dimension, places, is_emptied=not want)
        if is_out_of_order:
            return True
        superfluous = found or superfluous
        missing = next((axis for axis in reversed(want) if not moves.has(axis)), missing)
    return (
        superfluous is not None
        and missing is not None
        and is_multiple(superfluous.size(mesh), missing.size(mesh))
    )


def _order(
    have: list[AxisRef], dimension: int, places: dict[AxisRef, Place], *, is_emptied: bool
) -> tuple[AxisRef | None, bool]:
    """The last axis of `have` that is wanted nowhere; whether the axes are out of order.

    They are in order if those wanted in another dimension are consecutive and in the wanted order, if none is
    wanted further behind in this dimension, and if in a dimension that is to be emptied the axes to gather
    come first.
    """
    superfluous: AxisRef | None = None
    seen: set[int] = set()
    previous: Place | None = None
    for axis in have:
        place = places.get(axis)
        if place is not None:
            follows = previous is not None and place == (previous[0], previous[1] + 1)
            if (place[0] == dimension or place[0] in seen) and not follows:
                return superfluous, True
            seen.add(place[0])
        elif previous is not None and is_emptied:
            return superfluous, True
        else:
            superfluous = axis
        previous = place
    return superfluous, False


def permuted(moves: AxisMoves) -> AxisMoves | None:
    """`moves` with the best axes in each dimension instead of those it has; None if they do not fit.

    Axes wanted in the dimension come first, as far as they fit; axes wanted elsewhere go to the back, axes to
    gather to the front, in their dimension if possible, so that an all-to-all can move the back away.
    """
    moves = moves.copy()
    wanted = set(moves.places())
    capacities: list[int] = []
    gathered: list[list[AxisRef]] = []
    for dimension in range(moves.rank):
        had = moves.pop(dimension)
        whole = prod(axis.size(moves.mesh) for axis in had)
        left = _fill(moves, dimension, whole)
        capacities.append(left)
        gathered.append(_replaced_last(moves, [a for a in had if a not in wanted], whole // left))
    missing = [axis for want in moves.want for axis in want]
    moves.distribute([missing] * moves.rank, capacities)
    moves.distribute(gathered, capacities, at_front=True)
    rest = [axis for axes in gathered for axis in axes]
    moves.distribute([rest] * moves.rank, capacities, at_front=True)
    for dimension, have in enumerate(moves.have):
        moves.add(dimension, have)
    return moves if max(capacities, default=1) == 1 else None


def _fill(moves: AxisMoves, dimension: int, capacity: int) -> int:
    """Puts the axes wanted first in `dimension` there; returns the remaining capacity."""
    want = moves.want[dimension]
    while capacity > 1 and want:
        within, rest = fit(want[0], capacity, moves.mesh)
        if within is None:
            break
        capacity //= within.size(moves.mesh)
        want[:1] = [rest] if rest is not None else []
        moves.add(dimension, (within,))
    return capacity


def _replaced_last(moves: AxisMoves, axes: list[AxisRef], replaced: int) -> list[AxisRef]:
    """`axes` with those in front of total size `replaced` moved to the end: others have replaced them."""
    kept = list(axes)
    moved: list[AxisRef] = []
    while kept and (parts := fit(kept[0], replaced, moves.mesh))[0] is not None:
        within, rest = parts
        assert within is not None
        replaced //= within.size(moves.mesh)
        kept[:1] = [rest] if rest is not None else []
        moved.append(within)
    return kept + moved
