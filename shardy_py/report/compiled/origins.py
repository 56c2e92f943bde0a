"""Origins of compiled instructions as text, as locations of programs are shown."""

from __future__ import annotations

from shardy_py.base.errors import Position
from shardy_py.hlo.text import Origin
from shardy_py.report.join import frame_of


def position_in(origin: Origin) -> Position | None:
    """Returns the place of an origin in the source program; None if it has none."""
    frame = frame_of(origin)
    return None if frame is None else Position(frame.file, frame.line, frame.column)


def origin_text(origin: Origin) -> str:
    """Returns an origin in one line, `model.py:12:3 jit(f)/dot`; "" if there is nothing to say."""
    place = position_in(origin)
    return " ".join(filter(None, ("" if place is None else str(place), origin.name)))
