r"""Pictures of layouts as text and as SVG: the array with the offset of each element, tiles, padding.

Text shows tiles in boxes and padding as dots; SVG shows coloured tiles with thick borders, red borders of
later tiles, white padding. Not here: the content (`picture.py`).

>>> from shardy_py.indexing.layout.picture import picture
>>> from shardy_py.indexing.layout.text import parse_array
>>> content = picture(parse_array("f32[3,5]{1,0:T(2,2)}"))
>>> print("\n".join(draw(content).splitlines()[4:10]))
┌───────┬───────┬───────┐
│  0  1 │  4  5 │  8  · │
│  2  3 │  6  7 │ 10  · │
├───────┼───────┼───────┤
│ 12 13 │ 16 17 │ 20  · │
│  ·  · │  ·  · │  ·  · │
>>> text = draw_svg(content)
>>> text.count('class="cell"'), text.count('class="padding"'), text.count('class="tile"')
(15, 9, 6)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby, pairwise
from xml.sax.saxutils import escape

from shardy_py.base.counting import plural
from shardy_py.indexing.layout.picture import NONE, PART, TILE, Cell, Panel, Picture

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
    more = [f"{count} more {plural(count, name)}" for count, name in hidden if count]
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


_FILLS = ("#cfe2f3", "#fff2cc", "#d9ead3", "#fce5cd", "#ead1dc", "#d0e0e3")
_HEIGHT, _DIGIT, _MARGIN, _LINE = 28, 9, 16, 20
_STYLE = (
    "text{font:14px monospace;fill:#222}.note{font-size:12px;fill:#555}.cell,.padding{stroke:#bbb}"
    ".padding{fill:#fff}.index{text-anchor:middle}.faint{text-anchor:middle;fill:#bbb}"
    ".tile{fill:none;stroke:#222;stroke-width:2}.part{fill:none;stroke:#c00;stroke-width:1.5}"
)


def draw_svg(shown: Picture) -> str:
    """The picture as an SVG document; each cell has its logical index as a tooltip."""
    body: list[str] = []
    top, right = _MARGIN + _LINE, 0
    for number, line in enumerate((str(shown.shape), *shown.notes)):
        body.append(_svg_text(_MARGIN, top, line, "note" if number else ""))
        right = max(right, _DIGIT * len(line))
        top += _LINE
    for panel in shown.panels:
        if panel.title:
            body.append(_svg_text(_MARGIN, top + 4, panel.title))
            top += _LINE
        width = max(3, *(len(str(cell.offset)) + 1 for row in panel.rows for cell in row)) * _DIGIT
        body += _panel(panel, top, width)
        top += _HEIGHT * len(panel.rows) + _LINE
        more = [f"{panel.more_rows} more rows"] * (panel.more_rows > 0)
        more += [f"{panel.more_columns} more columns"] * (panel.more_columns > 0)
        if more:
            body.append(_svg_text(_MARGIN, top, "... " + " and ".join(more), "note"))
            top += _LINE
        right = max(right, width * len(panel.rows[0]))
    if shown.more_panels:
        text = f"... and {shown.more_panels} more along the major dimensions"
        body.append(_svg_text(_MARGIN, top, text, "note"))
        top += _LINE
    size = f'width="{right + 2 * _MARGIN}" height="{top + _MARGIN}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n'
    return f"{head}{chr(10).join(body)}\n</svg>\n"


def _panel(panel: Panel, top: int, width: int) -> Iterator[str]:
    for i, row in enumerate(panel.rows):
        for j, cell in enumerate(row):
            yield _svg_cell(cell, _MARGIN + j * width, top + i * _HEIGHT, width)
    for least, name in ((PART, "part"), (TILE, "tile")):
        if least == PART and PART not in (*panel.row_breaks, *panel.column_breaks):
            continue
        for above, below in _runs(panel.row_breaks, least):
            for left, right in _runs(panel.column_breaks, least):
                x, y = _MARGIN + left * width, top + above * _HEIGHT
                yield _rectangle(x, y, (right - left) * width, (below - above) * _HEIGHT, name)


def _runs(breaks: tuple[int, ...], least: int) -> list[tuple[int, int]]:
    """Ranges of neighbours without a border of at least this kind between them."""
    numbers = [0]
    for kind in breaks:
        numbers.append(numbers[-1] + (kind >= least and kind != NONE))
    stops = [0, *accumulate(len(list(run)) for _, run in groupby(numbers))]
    return list(pairwise(stops))


def _svg_cell(cell: Cell, x: int, y: int, width: int) -> str:
    middle = f'x="{x + width // 2}" y="{y + _HEIGHT // 2 + 5}"'
    if cell.element is None:
        box = _rectangle(x, y, width, _HEIGHT, "padding", f"<title>padding at {cell.offset}</title>")
        return f'{box}<text {middle} class="faint">{cell.offset}</text>'
    title = f"<title>({', '.join(map(str, cell.element))}) at {cell.offset}</title>"
    box = _rectangle(x, y, width, _HEIGHT, "cell", title, f' fill="{_FILLS[cell.tile % len(_FILLS)]}"')
    return f'{box}<text {middle} class="index">{cell.offset}</text>'


def _rectangle(x: int, y: int, width: int, height: int, name: str, inside: str = "", more: str = "") -> str:
    return f'<rect class="{name}" x="{x}" y="{y}" width="{width}" height="{height}"{more}>{inside}</rect>'


def _svg_text(x: int, y: int, text: str, name: str = "") -> str:
    return f'<text x="{x}" y="{y}"{f" class={chr(34)}{name}{chr(34)}" if name else ""}>{escape(text)}</text>'
