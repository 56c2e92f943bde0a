"""Draws one sharding as text: the shards of a tensor as boxes, with the devices that hold them.

Rank 0 to 2 is drawn, higher ranks are listed. Not here: words (`view_words.py`), SVG (`view_svg.py`).

>>> from shardy_py.sharding import AxisRef, DimensionSharding, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 2), MeshAxis("y", 3)))
>>> x, y = (DimensionSharding((AxisRef(name),)) for name in "xy")
>>> print(draw(TensorSharding("mesh", (x, y)), mesh, (8, 7)))
down: dimension 0 along "x"; across: dimension 1 along "y"
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

from shardy_py.report.view_words import Shape, axes_text, ids_text
from shardy_py.sharding import DeviceSlices, Mesh, Slice, TensorSharding, device_slices

MOST_ROWS, MOST_COLUMNS, MOST_LISTED, MOST_WIDE = 12, 8, 24, 112
"""Shards shown of a dimension, down and across, and in a list; characters in a line. The rest is omitted."""
MOST_DEVICES = 1 << 20
"""If more devices hold a shard, only their number is shown."""

_GAP = "..."
Parts = tuple[int | None, ...]
Grid = tuple[list[str], list[list[str]], list[int]]
"""Heads of columns, cells by row, widths of columns in characters."""


def draw(sharding: TensorSharding, mesh: Mesh, shape: Shape) -> str:
    """Returns the shards of a tensor of `shape`, each with the devices that hold it.

    Of many shards, the first ones and the last are shown. Devices in parentheses hold only padding.

    Raises:
        ShardyError: the sharding does not fit mesh or shape, or a size is dynamic.
    """
    slices = device_slices(sharding, mesh, shape)
    lines = _boxes(slices) if len(slices.shape) <= 2 else _list(slices)
    return "\n".join(line.rstrip() for line in lines)


def shown_parts(parts: int, most: int) -> Parts:
    """Returns the numbers of the shards to show: all, or the first ones, None for the omitted ones, the last.

    >>> shown_parts(3, most=5), shown_parts(99, most=5)
    ((0, 1, 2), (0, 1, 2, None, 98))
    """
    return tuple(range(parts)) if parts <= most else (*range(most - 2), None, parts - 1)


def first_parts(counts: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Returns the first shards of a tensor with so many in each dimension, row-major.

    >>> first_parts((2, 2), most=3)
    [(0, 0), (0, 1), (1, 0)]
    """
    shown = range(min(prod(counts), most))
    return [_part(number, counts) for number in shown]


def _part(number: int, counts: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    for count in reversed(counts):
        number, digit = divmod(number, count)
        found.append(digit)
    return tuple(reversed(found))


def holders_text(slices: DeviceSlices, part: tuple[int, ...], most: int = 4) -> str:
    """Returns the devices that hold a shard, in parentheses if it has no element."""
    if not slices.mesh.axes and not slices.mesh.device_ids:
        return "all devices"
    if slices.replication > MOST_DEVICES:
        text = f"{slices.replication:,} devices"
    else:
        text = ids_text(slices.holders(part), most)
    return text if prod(slices.part(part).size) or not prod(slices.shape) else f"({text})"


def range_text(part: Slice, dimension: int) -> str:
    """Returns the range of a shard in one dimension: `0:4`."""
    start = part.offset[dimension]
    return f"{start}:{start + part.size[dimension]}"


def part_along(slices: DeviceSlices, dimension: int, number: int) -> Slice:
    """Returns shard `number` of one dimension, the first one of the others."""
    return slices.part(tuple(number if at == dimension else 0 for at in range(len(slices.shape))))


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
    """Returns as many columns as fit into a line, at least three."""
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
    """Returns a line for each shard."""
    yield _caption(slices)
    count = prod(slices.parts)
    parts = first_parts(slices.parts, MOST_LISTED)
    texts = [str(slices.part(part)) for part in parts]
    width = max(map(len, texts))
    for part, text in zip(parts, texts, strict=True):
        yield f"{text:<{width}}  {holders_text(slices, part, most=12)}"
    if count > len(parts):
        yield f"... {count - len(parts):,} more shards"


def _caption(slices: DeviceSlices) -> str:
    rank = len(slices.shape)
    names = {1: ("across: ",), 2: ("down: ", "across: ")}.get(rank, ("",) * rank)
    return "; ".join(
        f"{name}dimension {number} {axes_text(cuts[0])}"
        for number, (name, cuts) in enumerate(zip(names, slices.splits, strict=True))
    )


def _range(slices: DeviceSlices, dimension: int, number: int | None) -> str:
    return _GAP if number is None else range_text(part_along(slices, dimension, number), dimension)


def _cell(slices: DeviceSlices, row: int | None, column: int | None) -> str:
    if row is None or column is None:
        return _GAP
    return holders_text(slices, (row, column)[2 - len(slices.shape) :])


def _rule(corners: str, widths: Sequence[int]) -> str:
    left, middle, right = corners
    return left + middle.join("─" * (width + 2) for width in widths) + right
