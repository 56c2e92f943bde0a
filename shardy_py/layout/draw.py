"""Pictures of layouts as text: the array with the offset of each element, tiles in boxes, padding as dots.

Not here: the content (`picture.py`), SVG (`draw_svg.py`).

>>> from shardy_py.layout.picture import picture
>>> from shardy_py.layout.text import parse_array
>>> print("\\n".join(draw(picture(parse_array("f32[3,5]{1,0:T(2,2)}"))).splitlines()[4:10]))
┌───────┬───────┬───────┐
│  0  1 │  4  5 │  8  · │
│  2  3 │  6  7 │ 10  · │
├───────┼───────┼───────┤
│ 12 13 │ 16 17 │ 20  · │
│  ·  · │  ·  · │  ·  · │
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.layout.picture import NONE, PART, TILE, Cell, Panel, Picture

_PADDING = "·"
_COLUMN = {NONE: " ", PART: "┊", TILE: " │ "}
_BACKGROUNDS = (24, 22, 54, 58, 23, 52)
"""Colours of tiles among the 256 of terminals: dark, below white digits."""


def draw(shown: Picture, *, color: bool = False) -> str:
    """The picture as text; color: with ANSI escape sequences for the backgrounds of tiles."""
    lines = [str(shown.shape), *shown.notes]
    for panel in shown.panels:
        lines += ["", *([panel.title] if panel.title else []), *_panel_lines(panel, color)]
    if shown.more_panels:
        lines += ["", f"… and {shown.more_panels} more like these along the major dimensions"]
    if shown.memory:
        lines += ["", "memory", *_memory_lines(shown)]
    return "\n".join(lines)


def _panel_lines(panel: Panel, color: bool) -> list[str]:
    width = max(len(_text(cell)) for row in panel.rows for cell in row)
    lines = [_rule(panel, width, "┌", "┬", "┐")]
    for number, row in enumerate(panel.rows):
        lines.append(_row(panel, row, width, color))
        kind = panel.row_breaks[number] if number < len(panel.row_breaks) else NONE
        if kind == TILE:
            lines.append(_rule(panel, width, "├", "┼", "┤"))
        elif kind == PART:
            lines.append(_rule(panel, width, "│", "│", "│", "┈"))
    lines.append(_rule(panel, width, "└", "┴", "┘"))
    hidden = ((panel.more_rows, "row"), (panel.more_columns, "column"))
    more = [f"{count} more {name}{'s' * (count != 1)}" for count, name in hidden if count]
    return [*lines, f"… {' and '.join(more)}"] if more else lines


def _row(panel: Panel, row: tuple[Cell, ...], width: int, color: bool) -> str:
    text = "│ "
    for number, cell in enumerate(row):
        if number:
            text += _COLUMN[panel.column_breaks[number - 1]]
        shown = _text(cell).rjust(width)
        text += _colored(shown, cell) if color else shown
    return text + (" …" if panel.more_columns else " │")


def _rule(panel: Panel, width: int, left: str, cross: str, right: str, stroke: str = "─") -> str:
    """A line between rows: `stroke` along the cells, `cross` at borders of tiles."""
    text = left + stroke * (1 + width)
    for kind in panel.column_breaks:
        text += (stroke + cross + stroke if kind == TILE else stroke) + stroke * width
    return text + stroke + (stroke if panel.more_columns else right)


def _memory_lines(shown: Picture) -> Iterator[str]:
    """The elements in the order of memory, at most 8 a line; a line has elements of one tile only."""
    texts = [
        [_PADDING if e is None else ",".join(map(str, e)) or "()" for e in tile] for tile in shown.memory
    ]
    width = max(len(text) for tile in texts for text in tile)
    start = 0
    for tile in texts:
        for at in range(0, len(tile), 8):
            yield f"{start + at:>4}: {' '.join(text.rjust(width) for text in tile[at : at + 8])}"
        start += len(tile)


def _text(cell: Cell) -> str:
    return _PADDING if cell.element is None else str(cell.offset)


def _colored(text: str, cell: Cell) -> str:
    foreground = 244 if cell.element is None else 231
    return f"\x1b[38;5;{foreground};48;5;{_BACKGROUNDS[cell.tile % len(_BACKGROUNDS)]}m{text}\x1b[0m"
