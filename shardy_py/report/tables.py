"""Cells and tables of reports as text.

>>> print(table((("axis", "values"), ("x", "12"), ("data", "3"))))
axis  values
x         12
data       3
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from shardy_py.base.counting import counted
from shardy_py.base.terminal import lines_text, without_controls
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import Meshes
from shardy_py.sharding.slices import short_text

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def table(rows: Iterable[tuple[str, ...]], left: Container[int] = (0,), omitted: int = 0) -> str:
    """Returns rows of aligned cells, the columns in `left` to the left; then the number of omitted rows."""
    listed = [tuple(without_controls(cell, lines=False) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    aligned = [f"{'<' if column in left else '>'}{width}" for column, width in enumerate(widths)]
    lines = ("  ".join(map(format, row, aligned)).rstrip() for row in listed)
    return "\n".join([*lines, *omission(omitted)])


def omission(count: int, indent: str = "") -> list[str]:
    """Returns the line that follows a list without its last `count` entries; no line for 0."""
    return [f"{indent}... and {count:,} more"] if count > 0 else []


def bytes_text(count: int) -> str:
    """Returns a number of bytes in the largest decimal unit that leaves at least one.

    >>> bytes_text(999), bytes_text(2_500_000)
    ('999 B', '2.50 MB')
    """
    unit = min((len(str(count)) - 1) // 3, len(_UNITS) - 1)
    return f"{count} B" if unit == 0 else f"{count / 1000**unit:.2f} {_UNITS[unit]}"


def seconds_text(seconds: float) -> str:
    """Returns seconds in the unit that leaves at least one.

    >>> seconds_text(0), seconds_text(2.5e-6), seconds_text(0.25), seconds_text(3)
    ('0 s', '2.50 us', '250.00 ms', '3.00 s')
    """
    if seconds == 0:
        return "0 s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


def type_text(shape: Iterable[int | None], element: str) -> str:
    """Returns a tensor type in short.

    >>> type_text((8, None), "f32")
    '8x?xf32'
    """
    return "x".join((*("?" if size is None else str(size) for size in shape), element))


def _devices(mesh: Mesh) -> str:
    return counted(mesh.device_count, "device")


def meshes_text(meshes: Meshes) -> str:
    """Returns a line for each mesh; long lists of device ids are abbreviated."""
    return lines_text(f"mesh @{name} = {short_text(mesh)}, {_devices(mesh)}" for name, mesh in meshes.items())
