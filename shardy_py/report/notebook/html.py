"""Parts of HTML for notebooks: blocks, tables, shardings with coloured axes; no script, no request.

Styles are inline, because notebooks are shown on pages with styles of their own. Every text is escaped unless
it is `Html` already.

>>> print(text_html("<a>"), sharding_html(None, {}))
&lt;a&gt; none

Not here: what a report shows (its own module), pages of the explorer (`shardy_py.viewer.explorer`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from shardy_py.base.terminal import without_controls
from shardy_py.report.notebook.palette import ink_and_fill
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.spelling import string_literal

MOST_ROWS = 20
"""Rows of a table that are shown."""
_MOST_CHARACTERS = 120
_MOST_TEXT = 3_000
_CELL = "padding:1px 8px;vertical-align:top;border:0"


class Html(str):
    """Text that is HTML: it is not escaped again."""

    __slots__ = ()


Cell = str | Html
Colours = Mapping[str, int]
"""The numbers of axes in the palette, by name."""


def colours_of(meshes: Iterable[Mesh]) -> Colours:
    """Returns the number of each axis, in the order of the meshes."""
    names = dict.fromkeys(axis.name for mesh in meshes for axis in mesh.axes)
    return {name: number for number, name in enumerate(names)}


def _escaped(text: str) -> str:
    """The text as HTML; commands that print none import no tables of entities."""
    from html import escape

    return escape(text)


def text_html(text: Cell) -> Html:
    """Returns a text of one line escaped, and shortened if it is long."""
    if isinstance(text, Html):
        return text
    shown = without_controls(text, lines=False)
    if len(shown) > _MOST_CHARACTERS:
        return Html(
            f'<span title="{_escaped(shown[:1000])}">{_escaped(shown[: _MOST_CHARACTERS - 3])}...</span>'
        )
    return Html(_escaped(shown))


def block(title: Cell, *parts: Cell) -> str:
    """Returns a title with parts below it; parts that are empty are left out."""
    shown = "".join(
        part if isinstance(part, Html) else f"<div>{text_html(part)}</div>" for part in parts if part
    )
    return f'<div style="font:13px sans-serif"><div><b>{text_html(title)}</b></div>{shown}</div>'


def table_html(
    header: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, left: Container[int] = (0,), count: int = 0
) -> Html:
    """Returns a table of at most `MOST_ROWS` rows, and how many of `count` are not in it; "" without rows.

    left: the columns of texts; others are numbers, to the right. count: of all rows, if more than given.
    """
    listed = [*rows]
    if not listed:
        return Html("")
    shown, more = listed[:MOST_ROWS], max(count, len(listed)) - MOST_ROWS
    aligned = ["left" if number in left else "right" for number in range(len(header))]
    head = _row("th", header, aligned)
    body = "".join(_row("td", row, aligned) for row in shown)
    rest = f"<div>and {more:,} more</div>" if more > 0 else ""
    style = "border-collapse:collapse;font:12px monospace;margin:4px 0"
    return Html(f'<table style="{style}"><thead>{head}</thead><tbody>{body}</tbody></table>{rest}')


def _row(tag: str, cells: Sequence[Cell], aligned: Sequence[str]) -> str:
    made = (
        f'<{tag} style="{_CELL};text-align:{side}">{text_html(cell)}</{tag}>'
        for cell, side in zip(cells, aligned, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def preformatted(text: str) -> Html:
    """Returns the lines of a report as they are printed; the first ones of a long text."""
    shown = without_controls(text)
    if len(shown) > _MOST_TEXT:
        lines = shown[:_MOST_TEXT].split("\n")
        shown = "\n".join(lines[:-1] or lines) + f"\n... and {len(shown) - _MOST_TEXT:,} more characters"
    return Html(f'<pre style="font:12px monospace;margin:4px 0">{_escaped(shown)}</pre>')


def picture(svg: str | None) -> Html:
    """Returns SVG as an image, because styles inside it would apply to the whole notebook; "" for None."""
    if not svg:
        return Html("")
    from base64 import b64encode

    return Html(f'<img alt="" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">')


def axes_html(axes: Iterable[tuple[str, str]], colours: Colours) -> Html:
    """Returns axes as coloured labels.

    axes: the name of each, which decides the colour, with its text.
    """
    return Html("".join(_label(name, text, colours) for name, text in axes))


def sharding_html(sharding: TensorSharding | None, colours: Colours) -> Html:
    """Returns the dimensions of a sharding with coloured axes: `[x, -, y ?]`; "none" if there is none.

    "-": not sharded. "?": open.
    """
    if sharding is None:
        return Html("none")
    dimensions = ", ".join(
        (_axis_list(each.axes, colours) or ("" if not each.is_closed else "-"))
        + ("" if each.is_closed else "?")
        for each in sharding.dimensions
    )
    lists = (("replicated", sharding.replicated_axes), ("unreduced", sharding.unreduced_axes))
    others = "".join(f", {name} {_axis_list(axes, colours)}" for name, axes in lists if axes)
    return Html(f'<span title="{_escaped(without_controls(str(sharding)))}">[{dimensions}]{others}</span>')


def _axis_list(axes: Sequence[AxisRef], colours: Colours) -> str:
    return "".join(_label(axis.name, _axis_text(axis), colours) for axis in axes)


def _axis_text(axis: AxisRef) -> str:
    """The axis without quotes: `x`, `x:(1)2`."""
    return axis.name + str(axis).removeprefix(string_literal(axis.name))


def _label(name: str, text: str, colours: Colours) -> str:
    ink, fill = ink_and_fill(colours.get(name))
    style = f"background:{fill};color:{ink};border-radius:3px;padding:0 4px;margin-right:2px"
    return f'<span style="{style}">{text_html(text)}</span>'
