"""One sharding as a picture of text: the parts of a tensor as boxes, with the devices that hold them.

Rank 0 to 2 is drawn, any other rank listed. Not here: words (`view_words.py`), SVG (`view_svg.py`).

>>> from shardy_py.sharding import AxisRef, DimensionSharding, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 2), MeshAxis("y", 3)))
>>> x, y = (DimensionSharding((AxisRef(name),)) for name in "xy")
>>> print(draw(TensorSharding("mesh", (x, y)), mesh, (8, 7)))
down: dimension 0 by "x"; across: dimension 1 by "y"
     0:3   3:6   6:7
    ┌─────┬─────┬─────┐
0:4 │ 0   │ 1   │ 2   │
    ├─────┼─────┼─────┤
4:8 │ 3   │ 4   │ 5   │
    └─────┴─────┴─────┘
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from shardy_py.report.view_words import Shape, cut_text, ids_text
from shardy_py.sharding import DeviceSlices, Mesh, Slice, TensorSharding, device_slices

MOST_ROWS, MOST_COLUMNS, MOST_LISTED, MOST_WIDE = 12, 8, 24, 112
"""Parts shown of a dimension, down and across, and in a list; characters in a line. The rest is left out."""
MOST_DEVICES = 1 << 20
"""Of a part that more devices hold, only their number is shown."""

_GAP = "..."
Parts = tuple[int | None, ...]
Grid = tuple[list[str], list[list[str]], list[int]]
"""Heads of columns; cells by row; widths of columns in characters."""


def draw(sharding: TensorSharding, mesh: Mesh, shape: Shape) -> str:
    """The parts of a tensor of `shape`, each with the devices that hold it.

    Of many parts, the first ones and the last are shown. Devices in parentheses hold padding alone.

    Raises:
        ShardyError: the sharding does not fit mesh or shape, or a size is dynamic.
    """
    slices = device_slices(sharding, mesh, shape)
    lines = _boxes(slices) if len(slices.shape) <= 2 else _list(slices)
    return "\n".join(line.rstrip() for line in lines)


def shown_parts(parts: int, most: int) -> Parts:
    """The numbers of the parts to show: all, or the first ones, None for those left out, and the last.

    >>> shown_parts(3, most=5), shown_parts(99, most=5)
    ((0, 1, 2), (0, 1, 2, None, 98))
    """
    return tuple(range(parts)) if parts <= most else (*range(most - 2), None, parts - 1)


def first_parts(counts: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """The first parts of a tensor of which each dimension has so many, row-major.

    >>> first_parts((2, 2), most=3)
    [(0, 0), (0, 1), (1, 0)]
    """
    found: list[tuple[int, ...]] = []
    for number in range(min(prod(counts), most)):
        part: list[int] = []
        for count in reversed(counts):
            number, digit = divmod(number, count)
            part.append(digit)
        found.append(tuple(reversed(part)))
    return found


def holders_text(slices: DeviceSlices, part: tuple[int, ...], most: int = 4) -> str:
    """The devices that hold a part; in parentheses if there is no element in it."""
    if not slices.mesh.axes and not slices.mesh.device_ids:
        return "all devices"
    if slices.replication > MOST_DEVICES:
        text = f"{slices.replication:,} devices"
    else:
        text = ids_text(slices.holders(part), most)
    return text if prod(slices.part(part).size) or not prod(slices.shape) else f"({text})"


def range_text(part: Slice, dimension: int) -> str:
    """From and to in one dimension: `0:4`."""
    start = part.offset[dimension]
    return f"{start}:{start + part.size[dimension]}"


def _boxes(slices: DeviceSlices) -> Iterator[str]:
    rank = len(slices.shape)
    rows = shown_parts(slices.parts[0], MOST_ROWS) if rank == 2 else (0,)
    labels = [_range(slices, 0, row) if rank == 2 else "" for row in rows]
    margin = max(map(len, labels))
    indent = margin + 1 if margin else 0
    heads, cells, widths = _fitting_grid(slices, rows, indent)
    margins = " " * indent
    if rank:
        yield _caption(slices)
        yield f"{margins} {' '.join(f'{head:<{w + 2}}' for head, w in zip(heads, widths, strict=True))}"
    yield margins + _rule("┌┬┐", widths)
    for number, (label, row) in enumerate(zip(labels, cells, strict=True)):
        if number:
            yield margins + _rule("├┼┤", widths)
        boxes = "│".join(f" {cell:<{width}} " for cell, width in zip(row, widths, strict=True))
        yield f"{label:>{margin}}{' ' if margin else ''}│{boxes}│"
    yield margins + _rule("└┴┘", widths)


def _fitting_grid(slices: DeviceSlices, rows: Parts, indent: int) -> Grid:
    """As many columns as fit into a line, three at least."""
    for most in range(MOST_COLUMNS, 3, -1):
        grid = _grid(slices, rows, most)
        if indent + sum(grid[2]) + 3 * len(grid[2]) + 1 <= MOST_WIDE:
            return grid
    return _grid(slices, rows, 3)


def _grid(slices: DeviceSlices, rows: Parts, most: int) -> Grid:
    rank = len(slices.shape)
    columns = shown_parts(slices.parts[-1], most) if rank else (0,)
    heads = [_range(slices, rank - 1, column) if rank else "" for column in columns]
    cells = [[_cell(slices, row, column) for column in columns] for row in rows]
    return heads, cells, [max(map(len, column)) for column in zip(heads, *cells, strict=True)]


def _list(slices: DeviceSlices) -> Iterator[str]:
    """A line a part."""
    yield _caption(slices)
    count = prod(slices.parts)
    parts = first_parts(slices.parts, MOST_LISTED)
    texts = [str(slices.part(part)) for part in parts]
    width = max(map(len, texts))
    for part, text in zip(parts, texts, strict=True):
        yield f"{text:<{width}}  {holders_text(slices, part, most=12)}"
    if count > len(parts):
        yield f"... {count - len(parts):,} more parts"


def _caption(slices: DeviceSlices) -> str:
    rank = len(slices.shape)
    names = {1: ("across: ",), 2: ("down: ", "across: ")}.get(rank, ("",) * rank)
    cuts = (cuts[0] for cuts in slices.cuts)
    return "; ".join(
        f"{name}dimension {number} {cut_text(cut)}"
        for number, (name, cut) in enumerate(zip(names, cuts, strict=True))
    )


def _range(slices: DeviceSlices, dimension: int, number: int | None) -> str:
    if number is None:
        return _GAP
    part = [0] * len(slices.shape)
    part[dimension] = number
    return range_text(slices.part(tuple(part)), dimension)


def _cell(slices: DeviceSlices, row: int | None, column: int | None) -> str:
    if row is None or column is None:
        return _GAP
    return holders_text(slices, (row, column)[2 - len(slices.shape) :])


def _rule(corners: str, widths: Sequence[int]) -> str:
    left, middle, right = corners
    return left + middle.join("─" * (width + 2) for width in widths) + right
