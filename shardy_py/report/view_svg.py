"""Draws one sharding as SVG: shards as coloured boxes with their devices, in panels from rank 3 on.

A panel shows the last two dimensions for one shard of each dimension before. The size of a box is that of
its shard; a full shard has a nominal size. Not here: pictures as text (`view_picture.py`), words
(`view_words.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from xml.sax.saxutils import escape

from shardy_py.base.records import dataclass
from shardy_py.report.view_picture import first_parts, holders_text, part_along, range_text, shown_parts
from shardy_py.report.view_words import Shape, axes_text, describe
from shardy_py.sharding import DeviceSlices, Mesh, TensorSharding, device_slices

MOST_ROWS, MOST_COLUMNS, MOST_PANELS = 16, 16, 12
"""Shards shown of a dimension, down and across, and of all dimensions before."""

_BOX_WIDTH, _BOX_HEIGHT, _GAP_SIZE, _LINE = 104, 40, 32, 18
_CHARACTER = 7.7
_XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
_STYLE = (
    "text{font:12px monospace;fill:#222}.d{text-anchor:middle}.r{text-anchor:end}"
    "rect{stroke:#fff;stroke-width:1.5}.g{fill:#ddd}.e{fill:#f4f4f4;stroke:#bbb;stroke-dasharray:3}"
)


@dataclass(frozen=True, slots=True)
class _Span:
    """The place of one shown shard along one side of a panel; None: omitted shards."""

    part: int | None
    start: float
    length: float
    label: str


def to_svg(sharding: TensorSharding, mesh: Mesh, shape: Shape) -> str:
    """Returns the shards of a tensor of `shape` with the devices that hold them, as the text of an SVG file.

    The description in words is its `<desc>`; boxes have their slice as `<title>`. Of many shards, the first
    ones and the last are shown; dashed boxes hold only padding.

    Raises:
        ShardyError: the sharding does not fit mesh or shape, or a size is dynamic.
    """
    slices = device_slices(sharding, mesh, shape)
    words = describe(sharding, mesh, shape)
    rank = len(slices.shape)
    down = _spans(slices, rank - 2, _BOX_HEIGHT, MOST_ROWS, 0)
    margin = 24 + _CHARACTER * max(len(span.label) for span in down)
    across = _spans(slices, rank - 1, _BOX_WIDTH, MOST_COLUMNS, margin)
    captions = [f"{words.splitlines()[0]} of {words.splitlines()[2].partition(';')[0]}", *_axis_lines(slices)]
    lines = [_text(12, 20 + _LINE * number, line) for number, line in enumerate(captions)]
    top = 28.0 + _LINE * len(captions)
    leading = first_parts(slices.parts[:-2], MOST_PANELS)
    for outer in leading:
        if rank > 2:
            lines.append(_text(12, top, _panel_name(slices, outer)))
            top += _LINE
        lines += _panel(slices, outer, down, across, top)
        top += _LINE + _end(down) + _LINE
    if (left_out := prod(slices.parts[:-2]) - len(leading)) > 0:
        lines.append(_text(12, top, f"... {left_out:,} more"))
        top += _LINE
    width = max(_end(across) + 12, 24 + _CHARACTER * max(map(len, captions)))
    size = f'width="{width:.0f}" height="{top:.0f}" viewBox="0 0 {width:.0f} {top:.0f}"'
    head = f"<title>{escape(captions[0])}</title>\n<desc>{escape(words)}</desc>\n<style>{_STYLE}</style>"
    ground = '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>'
    return "\n".join((f'<svg {_XMLNS} {size} role="img">', head, ground, *lines, "</svg>\n"))


def _spans(slices: DeviceSlices, dimension: int, nominal: int, most: int, start: float) -> tuple[_Span, ...]:
    """Returns the shown shards along a side; one of nominal length if the tensor has no such dimension."""
    if dimension < 0:
        return (_Span(0, start, nominal, ""),)
    spans: list[_Span] = []
    full = slices.local_shape[dimension]
    for number in shown_parts(slices.parts[dimension], most):
        if number is None:
            spans.append(_Span(None, start, _GAP_SIZE, "..."))
        else:
            slice_ = part_along(slices, dimension, number)
            share = slice_.size[dimension] / full if full else 1
            length = max(nominal * share, nominal * 0.45)  # the label must fit
            spans.append(_Span(number, start, length, range_text(slice_, dimension)))
        start += spans[-1].length
    return tuple(spans)


def _axis_lines(slices: DeviceSlices) -> Iterator[str]:
    rank = len(slices.shape)
    sides = {rank - 1: "across: ", rank - 2: "down: "}
    for number, (cuts, size) in enumerate(zip(slices.splits, slices.shape, strict=True)):
        yield f"{sides.get(number, 'panels: ')}dimension {number} of {size}, {axes_text(cuts[0])}"


def _panel_name(slices: DeviceSlices, outer: tuple[int, ...]) -> str:
    part = slices.part((*outer, 0, 0))
    return "[" + "".join(f"{range_text(part, number)}, " for number in range(len(outer))) + ":, :]"


def _panel(
    slices: DeviceSlices, outer: tuple[int, ...], down: Sequence[_Span], across: Sequence[_Span], top: float
) -> Iterator[str]:
    """Returns labels of columns and rows, and the boxes."""
    for column in across:
        yield _text(column.start + column.length / 2, top, column.label, "d")
    top += 6
    for row in down:
        yield _text(across[0].start - 6, top + row.start + row.length / 2 + 4, row.label, "r")
        for column in across:
            place = f'x="{column.start:.1f}" y="{top + row.start:.1f}"'
            size = f'width="{column.length:.1f}" height="{row.length:.1f}"'
            if row.part is None or column.part is None:
                yield f'<rect class="g" {place} {size}/>'
                continue
            part = (*outer, row.part, column.part)[-len(slices.shape) :] if slices.shape else ()
            yield _box(slices, part, f"{place} {size}")
            middle = column.start + column.length / 2
            label = _fitting(holders_text(slices, part, most=3), column.length)
            yield _text(middle, top + row.start + row.length / 2 + 4, label, "d")


def _box(slices: DeviceSlices, part: tuple[int, ...], place: str) -> str:
    slice_ = slices.part(part)
    title = f"<title>{escape(f'{slice_}: {holders_text(slices, part, most=16)}')}</title>"
    if slices.shape and not prod(slice_.size):
        return f'<rect class="e" {place}>{title}</rect>'
    number = 0
    for index, count in zip(part, slices.parts, strict=True):
        number = number * count + index
    hue = number * 137.508 % 360  # the golden angle: neighbours differ most
    return f'<rect style="fill:hsl({hue:.0f} 65% 78%)" {place}>{title}</rect>'


def _fitting(label: str, width: float) -> str:
    room = int(width / _CHARACTER)
    return label if len(label) <= room else label[: max(room - 2, 1)] + ".."


def _end(spans: Sequence[_Span]) -> float:
    return spans[-1].start + spans[-1].length


def _text(x: float, y: float, content: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'
