"""When a collective permute brings axes closer to where they are wanted, and which axes it leaves where.

A permute may replace the axes of a dimension by any others that cut it into as many parts, and put them in
any order. It is one message a device, which is why it comes before all that costs more.

    have [["x", "y"], ["z"]], want [["z"], []]      becomes have [["y"], ["x"]], want [[], []]

Not here: permutes that only follow another order of devices (`collectives.py`).
"""

from __future__ import annotations

from math import prod

from shardy_py.partition.axis_moves import AxisMoves, Place, fit, is_multiple
from shardy_py.sharding import AxisRef


def needs_permute(moves: AxisMoves) -> bool:
    """Whether a permute saves something: axes to replace, or axes to bring in order before they move."""
    mesh = moves.mesh
    for have, want in zip(moves.have, moves.want, strict=True):
        if have and want and is_multiple(have[0].size(mesh), want[0].size(mesh)):
            return True
    places = moves.places()
    superfluous = missing = None
    for dimension, (have, want) in enumerate(zip(moves.have, moves.want, strict=True)):
        found, is_out_of_order = _look(have, dimension, places, is_emptied=not want)
        if is_out_of_order:
            return True
        superfluous = found or superfluous
        missing = next((axis for axis in reversed(want) if not moves.has(axis)), missing)
    return (
        superfluous is not None
        and missing is not None
        and is_multiple(superfluous.size(mesh), missing.size(mesh))
    )


def _look(
    have: list[AxisRef], dimension: int, places: dict[AxisRef, Place], *, is_emptied: bool
) -> tuple[AxisRef | None, bool]:
    """The last axis of `have` that is wanted nowhere; whether the axes are out of order.

    They are in order if those wanted in another dimension stand together, in the order wanted, if none is
    wanted in this dimension behind where it stands, and if in a dimension that is to be emptied what is to be
    gathered comes first.
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
    """`moves` with the best axes in the place of those that each dimension has; None if they do not fit.

    What is wanted in the dimension goes first, as far as it fits; what is wanted elsewhere goes to the back,
    what is to be gathered to the front, where it was if it can, so that an all-to-all can take the back away.
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
    """Put the axes wanted first in `dimension` there; the capacity left."""
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
    """`axes` with those in front that cut into `replaced` parts moved to the end: others stand there now."""
    kept = list(axes)
    moved: list[AxisRef] = []
    while kept and (parts := fit(kept[0], replaced, moves.mesh))[0] is not None:
        within, rest = parts
        assert within is not None
        replaced //= within.size(moves.mesh)
        kept[:1] = [rest] if rest is not None else []
        moved.append(within)
    return kept + moved
