"""The content of a picture of a layout: cells with offsets, tiles and padding.

Rows are along the second-minor physical dimension, columns along the minor-most one, with a panel for each
index of the others; dimensions that the first tile joins are one. Not here: drawing (`draw.py` for terminals,
`draw.py`).

>>> from shardy_py.indexing.layout.text import parse_array
>>> panel = picture(parse_array("f32[3,5]{1,0:T(2,2)}")).panels[0]
>>> [[cell.offset for cell in row] for row in panel.rows][0], panel.column_breaks
([0, 1, 4, 5, 8, 9], (0, 2, 0, 2, 0))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise, product
from math import prod

from shardy_py.base.counting import plural
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.formats import padded_bytes
from shardy_py.indexing.layout.placement import BufferPlacement
from shardy_py.indexing.layout.tile_level import linear, tile_level, unlinear
from shardy_py.indexing.layout.values import ArrayShape

NONE, PART, TILE = 0, 1, 2
"""Kinds of borders between two neighbours: none, of later tiles, of the first tiles."""

_MOST_CELLS = 1 << 17

_FULL_MEMORY = 64
"""The largest buffer that is also listed in the order of memory."""


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """The most rows and columns of a panel and the most panels that are shown."""

    rows: int = 16
    columns: int = 16
    panels: int = 8


@dataclass(frozen=True, slots=True)
class Cell:
    """One place in the buffer.

    offset: in elements. element: its logical index; None: padding.
    tile: the number of the tile of the first tiling, major to minor. part: the tile of the last tiling.
    """

    offset: int
    element: tuple[int, ...] | None
    tile: int
    part: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The last two dimensions at one index of the others.

    title: that index, as `[1,:,:]`; "" without others.
    rows: the cells shown. more_rows, more_columns: the numbers of those not shown.
    row_breaks, column_breaks: the borders between neighbours: `NONE`, `PART` or `TILE`.
    """

    title: str
    rows: tuple[tuple[Cell, ...], ...]
    more_rows: int
    more_columns: int
    row_breaks: tuple[int, ...]
    column_breaks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A layout to draw.

    notes: lines below the shape. more_panels: the number of panels not shown.
    memory: of a small buffer, by tile: the index at each offset, None for padding.
    """

    shape: ArrayShape
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]
    more_panels: int
    memory: tuple[tuple[tuple[int, ...] | None, ...], ...]

    def __repr__(self) -> str:
        return f"<Picture of {self.shape}>"

    def _repr_svg_(self) -> str:
        from shardy_py.indexing.layout.draw import draw_svg  # draws what is defined here

        return draw_svg(self)


def picture(shape: ArrayShape, limits: PictureLimits | None = None) -> Picture:
    """The picture of the head of an array, as far as `limits` allow.

    Raises ShardyError for a layout without fixed offsets, and if the limits allow too many cells.
    """
    limits = limits or PictureLimits()
    view = _View(shape.placement)
    majors = view.whole[:-2]
    cells = prod(map(min, (prod(majors), *view.whole[-2:]), (limits.panels, limits.rows, limits.columns)))
    if cells > _MOST_CELLS:
        expected = f"at most {_MOST_CELLS} places"
        remedy = "lower the limits of rows, columns or panels"
        raise ShardyError.unexpected("picture", expected=expected, got=f"{cells}", remedy=remedy)
    indices = product(*(range(min(size, limits.panels)) for size in majors))
    shown = list(islice(indices, limits.panels)) if prod(view.whole) else []
    more = prod(majors) - len(shown) if prod(view.whole) else 0
    notes = _order_note(view), _size_note(shape, view)
    panels = tuple(_panel(view, index, limits) for index in shown)
    return Picture(shape, notes, panels, more, _memory(view.place))


class _View:
    """The joined array with its padding, in at least two dimensions."""

    def __init__(self, place: BufferPlacement) -> None:
        level = place.levels[0] if place.levels else tile_level(place.physical_dimensions, ())
        cut = [count * tile for count, tile in zip(level.counts, level.tile, strict=True)]
        self.place = place
        self.missing = max(0, 2 - len(level.joined))
        self.joined = (1,) * self.missing + level.joined
        self.tile = level.tile
        self.whole = (*self.joined[: len(self.joined) - len(cut)], *cut)
        self.groups = level.groups
        physical = reversed(place.minor_to_major)
        self.names = [tuple(islice(physical, len(group))) for group in level.groups]

    def cell(self, index: Sequence[int]) -> Cell:
        place, own = self.place, list(index[self.missing :])
        padding = any(e >= size for e, size in zip(index, self.joined, strict=True))
        element = None if padding else self._element(own)
        if not place.levels:
            return Cell(linear(own, place.physical_dimensions), element, 0, ())
        first = place.levels[0]
        kept, cut = own[: first.kept], list(zip(own[first.kept :], first.tile, strict=True))
        outer = [*kept, *(e // t for e, t in cut)]
        at, part = [*outer, *(e % t for e, t in cut)], tuple(outer)
        for level in place.levels[1:]:
            at = level.tiled(at)
            part = tuple(at[: len(at) - len(level.tile)])
        tile = linear(outer, (*first.joined[: first.kept], *first.counts))
        return Cell(linear(at, place.tiled_dimensions), element, tile, part)

    def _element(self, index: Sequence[int]) -> tuple[int, ...]:
        physical = [e for at, group in zip(index, self.groups, strict=True) for e in unlinear(at, group)]
        logical = dict(zip(reversed(self.place.minor_to_major), physical, strict=True))
        return tuple(logical[i] for i in range(len(logical)))


def _panel(view: _View, major: tuple[int, ...], limits: PictureLimits) -> Panel:
    height, width = view.whole[-2:]
    columns = range(min(width, limits.columns))
    indices = range(min(height, limits.rows))
    rows = tuple(tuple(view.cell((*major, i, j)) for j in columns) for i in indices)
    column_breaks = tuple(_between(left, right) for left, right in pairwise(rows[0]))
    row_breaks = tuple(_between(above[0], below[0]) for above, below in pairwise(rows))
    if NONE not in row_breaks and NONE not in column_breaks and len(view.tile) > 0:
        # Borders around every cell carry no information.
        column_breaks = tuple(kind if kind == TILE else NONE for kind in column_breaks)
        row_breaks = tuple(kind if kind == TILE else NONE for kind in row_breaks)
    title = f"[{','.join(map(str, major))},:,:]" if major else ""
    if any(e >= size for e, size in zip(major, view.joined, strict=False)):
        title += " padding"
    more = max(0, height - limits.rows), max(0, width - limits.columns)
    return Panel(title, rows, *more, row_breaks, column_breaks)


def _between(one: Cell, other: Cell) -> int:
    if one.tile != other.tile:
        return TILE
    return PART if one.part != other.part else NONE


def _order_note(view: _View) -> str:
    """The dimensions of rows and columns."""
    names = ["*".join(map(str, group)) for group in view.names]
    if not names or not names[-1]:
        return "one element"
    return "columns: dimension " + names[-1] + (f", rows: dimension {names[-2]}" if len(names) > 1 else "")


def _size_note(shape: ArrayShape, view: _View) -> str:
    """The numbers of elements, tiles and places, and the share of padding."""
    place, elements = view.place, prod(shape.dimensions)
    text = _counted(elements, "element")
    if place.levels:
        count = prod(place.levels[0].dimensions) // max(prod(view.tile), 1)
        text += f" in {_counted(count, 'tile')} of {'x'.join(map(str, view.tile))}"
    text += f"; {_counted(place.size, 'place')}"
    if padding := place.size - elements:
        text += f", {padding} of them padding ({padding / place.size:.1%})"
        if (hidden := place.size - prod(view.whole)) > 0:
            text += f", {hidden} not shown (later tiles, tail)"
    return f"{text}; {_counted(padded_bytes(shape), 'byte')}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {plural(count, noun)}"


def _memory(place: BufferPlacement) -> tuple[tuple[tuple[int, ...] | None, ...], ...]:
    if not 0 < place.size <= _FULL_MEMORY:
        return ()
    elements = [place.element(offset) for offset in range(place.size)]
    step = prod(place.levels[0].tile) if len(place.levels) == 1 else place.size
    return tuple(tuple(elements[start : start + step]) for start in range(0, place.size, step))
