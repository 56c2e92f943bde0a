"""Pictures of layouts as SVG: coloured tiles with thick borders, red borders of later tiles, white padding.

Not here: the content (`picture.py`), terminals (`draw.py`).

>>> from shardy_py.layout.picture import picture
>>> from shardy_py.layout.text import parse_array
>>> text = draw_svg(picture(parse_array("f32[3,5]{1,0:T(2,2)}")))
>>> text.count('class="cell"'), text.count('class="padding"'), text.count('class="tile"')
(15, 9, 6)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby, pairwise
from xml.sax.saxutils import escape

from shardy_py.layout.picture import NONE, PART, TILE, Cell, Panel, Picture

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
        body.append(_text(_MARGIN, top, line, "note" if number else ""))
        right = max(right, _DIGIT * len(line))
        top += _LINE
    for panel in shown.panels:
        if panel.title:
            body.append(_text(_MARGIN, top + 4, panel.title))
            top += _LINE
        width = max(3, *(len(str(cell.offset)) + 1 for row in panel.rows for cell in row)) * _DIGIT
        body += _panel(panel, top, width)
        top += _HEIGHT * len(panel.rows) + _LINE
        more = [f"{panel.more_rows} more rows"] * (panel.more_rows > 0)
        more += [f"{panel.more_columns} more columns"] * (panel.more_columns > 0)
        if more:
            body.append(_text(_MARGIN, top, "... " + " and ".join(more), "note"))
            top += _LINE
        right = max(right, width * len(panel.rows[0]))
    if shown.more_panels:
        text = f"... and {shown.more_panels} more along the major dimensions"
        body.append(_text(_MARGIN, top, text, "note"))
        top += _LINE
    size = f'width="{right + 2 * _MARGIN}" height="{top + _MARGIN}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n'
    return f"{head}{chr(10).join(body)}\n</svg>\n"


def _panel(panel: Panel, top: int, width: int) -> Iterator[str]:
    for i, row in enumerate(panel.rows):
        for j, cell in enumerate(row):
            yield _cell(cell, _MARGIN + j * width, top + i * _HEIGHT, width)
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


def _cell(cell: Cell, x: int, y: int, width: int) -> str:
    middle = f'x="{x + width // 2}" y="{y + _HEIGHT // 2 + 5}"'
    if cell.element is None:
        box = _rectangle(x, y, width, _HEIGHT, "padding", f"<title>padding at {cell.offset}</title>")
        return f'{box}<text {middle} class="faint">{cell.offset}</text>'
    title = f"<title>({', '.join(map(str, cell.element))}) at {cell.offset}</title>"
    box = _rectangle(x, y, width, _HEIGHT, "cell", title, f' fill="{_FILLS[cell.tile % len(_FILLS)]}"')
    return f'{box}<text {middle} class="index">{cell.offset}</text>'


def _rectangle(x: int, y: int, width: int, height: int, name: str, inside: str = "", more: str = "") -> str:
    return f'<rect class="{name}" x="{x}" y="{y}" width="{width}" height="{height}"{more}>{inside}</rect>'


def _text(x: int, y: int, text: str, name: str = "") -> str:
    return f'<text x="{x}" y="{y}"{f" class={chr(34)}{name}{chr(34)}" if name else ""}>{escape(text)}</text>'
