"""The axes of an all-slice, the first collective of a reshard: the others then move less.

A wanted axis that shards no dimension yet is sliced where it is wanted if that dimension is to have more
parts than now; otherwise in a dimension that is, and moved from there.

    have [["y"], [], []], want [["x"], ["y"], ["z"]]    slices [[], ["x"], ["z"]]

Not here: moving axes between dimensions (`collectives.py`, `permutes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from shardy_py.partition.axis_moves import AxisMoves, fit
from shardy_py.sharding import Axes, AxisRef
from shardy_py.sharding.axis_lists import append_axes, total_size

SlicedAxes = list[list[AxisRef]]
"""By dimension."""


def take_slices(moves: AxisMoves, shape: Sequence[int]) -> tuple[Axes, ...]:
    """Slices a tensor of `shape` along all axes to add; returns those of each dimension."""
    mesh = moves.mesh
    sliced: SlicedAxes = [[] for _ in shape]
    capacities = [
        (parts := total_size(want, mesh)) // gcd(total_size(have, mesh), parts)
        for have, want in zip(moves.have, moves.want, strict=True)
    ]
    for dimension in range(moves.rank):
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
    have, places = moves.have[source], moves.places()
    if not have or moves.want[source] or have[-1] not in places:
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
    """The length of the common suffix."""
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
