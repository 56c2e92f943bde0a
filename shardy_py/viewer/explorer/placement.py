"""Places the children of each group in rows, in the way of Sugiyama, Tagawa and Toda (1981).

A row is below the rows of all that its items use. Sources stand right above their first use. Edges across a
few rows have a waypoint in each row between; longer ones are drawn as stubs. The order in a row follows the
mean position of neighbours, positions are those nearest to neighbours that keep order and distances. The page
opens groups by moving what is beside and below; order and rows never change.

>>> placed = place((60, 60, 60), frozenset({(0, 2), (1, 2)}))
>>> placed.rows, placed.centers
(((0, 1), (2,)), ((30.0, 114.0), (72.0,)))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION

GAP = 24
"""Pixels between neighbours in a row."""
LONGEST = 6
"""Edges across more rows are stubs."""
WAYPOINT = 6
WIDEST_ROW = 1400
"""Pixels of a row of items without edges."""
_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """The rows of a group from the top: items by number among the children, then waypoints.

    centers: in pixels, of each. waypoints: for an edge across rows, its waypoints in order.
    """

    rows: tuple[tuple[int, ...], ...]
    centers: tuple[tuple[float, ...], ...]
    waypoints: dict[tuple[int, int], tuple[int, ...]]


@SESSION.cache(256)
def place(widths: tuple[float, ...], edges: frozenset[tuple[int, int]]) -> Placed:
    """Returns the places of items in program order, with edges between them; equal layers share them.

    widths: in pixels.
    """
    forward = sorted((a, b) for a, b in edges if a < b)
    row = _rows(len(widths), forward)
    members: list[list[int]] = [[] for _ in range(max(row, default=-1) + 1)]
    for item, at in enumerate(row):
        members[at].append(item)
    count = len(widths)
    waypoints: dict[tuple[int, int], tuple[int, ...]] = {}
    up: dict[int, list[int]] = {}
    down: dict[int, list[int]] = {}
    for a, b in forward:
        span = row[b] - row[a]
        if span > LONGEST:
            continue
        chain = tuple(range(count, count + span - 1))
        count += len(chain)
        if chain:
            waypoints[a, b] = chain
        for offset, point in enumerate(chain, row[a] + 1):
            members[offset].append(point)
        for first, second in zip((a, *chain), (*chain, b), strict=True):
            down.setdefault(first, []).append(second)
            up.setdefault(second, []).append(first)
    sizes = [*widths, *[WAYPOINT] * (count - len(widths))]
    rows = _ordered(members, up, down)
    centers = _centered(rows, sizes, up, down)
    shift = min((centers[item] - sizes[item] / 2 for each in rows for item in each), default=0.0)
    placed = tuple(tuple(round(centers[item] - shift, 1) for item in each) for each in rows)
    return Placed(tuple(map(tuple, rows)), placed, waypoints)


def wrapped(widths: Sequence[float], first: int) -> Placed:
    """Returns the places of functions, which have no edges: one, by its index, above rows of the others."""
    rows: list[list[int]] = [[first]]
    room = 0.0
    for item, width in enumerate(widths):
        if item != first:
            room -= width + GAP
            if room < 0:
                rows.append([])
                room = WIDEST_ROW - width - GAP
            rows[-1].append(item)
    centers = (_side_by_side([widths[item] for item in row]) for row in rows)
    placed = tuple(tuple(round(center, 1) for center in row) for row in centers)
    return Placed(tuple(map(tuple, rows)), placed, {})


def _side_by_side(sizes: Sequence[float]) -> Iterator[float]:
    """The centers of boxes around 0."""
    at = -(sum(sizes) + GAP * (len(sizes) - 1)) / 2
    for size in sizes:
        yield at + size / 2
        at += size + GAP


def _rows(count: int, forward: Sequence[tuple[int, int]]) -> list[int]:
    """The row of each item: below all that it uses; without operands, right above its first use."""
    row = [0] * count
    first_use = [-1] * count
    for a, b in forward:  # sorted by a: all edges into a have been seen
        row[b] = max(row[b], row[a] + 1)
    for a, b in forward:
        if first_use[a] < 0 or row[b] < first_use[a]:
            first_use[a] = row[b]
    has_operands = {b for _, b in forward}
    for item in range(count):
        if item not in has_operands and first_use[item] > 0:
            row[item] = first_use[item] - 1
    return row


def _ordered(
    members: list[list[int]], up: dict[int, list[int]], down: dict[int, list[int]]
) -> list[list[int]]:
    """Rows in the order of the means of their neighbours, above and below in turn."""
    position: dict[int, float] = {}
    for row in members:
        position.update((item, float(at)) for at, item in enumerate(row))
    for sweep in range(_SWEEPS):
        neighbours, order = (up, members) if sweep % 2 == 0 else (down, members[::-1])
        for row in order:
            keys = {item: _mean(neighbours.get(item), position) for item in row}
            row.sort(key=lambda item: position[item] if (key := keys[item]) is None else key)
            position.update((item, float(at)) for at, item in enumerate(row))
    return members


def _mean(neighbours: Sequence[int] | None, position: dict[int, float]) -> float | None:
    return sum(position[n] for n in neighbours) / len(neighbours) if neighbours else None


def _centered(
    rows: Sequence[Sequence[int]],
    sizes: Sequence[float],
    up: dict[int, list[int]],
    down: dict[int, list[int]],
) -> dict[int, float]:
    centers: dict[int, float] = {}
    for row in rows:
        at = 0.0
        for item in row:
            centers[item] = at + sizes[item] / 2
            at += sizes[item] + GAP
    for sweep in range(_SWEEPS):
        neighbours, order = (up, rows) if sweep % 2 == 0 else (down, rows[::-1])
        for row in order:
            wanted: list[float] = []
            for item in row:
                mean = _mean(neighbours.get(item), centers)
                wanted.append(centers[item] if mean is None else mean)
            centers.update(zip(row, apart(wanted, [sizes[item] for item in row]), strict=True))
    return centers


def apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Returns the centers nearest to the wanted ones, by squares, that keep the order and do not overlap.

    Isotonic regression by pooling adjacent violators (Best and Chakravarti, 1990).

    >>> apart([0.0, 0.0], [10, 10])
    [-17.0, 17.0]
    """
    offsets, at = list[float](), 0.0
    for index, size in enumerate(sizes):
        at += (sizes[index - 1] + size) / 2 + GAP if index else 0.0
        offsets.append(at)
    blocks: list[tuple[float, int]] = []  # mean of wanted minus offset, members
    for want, offset in zip(wanted, offsets, strict=True):
        mean, members = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, more = blocks.pop()
            mean = (mean * members + other * more) / (members + more)
            members += more
        blocks.append((mean, members))
    bases = [mean for mean, members in blocks for _ in range(members)]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]
