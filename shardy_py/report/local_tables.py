"""What devices hold of the values of a program, as a table and as plain data for tools.

Not here: how it is found out (`local_shapes.py`), one sharding in words and pictures (`view.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shardy_py.report.local_shapes import LocalValue
from shardy_py.report.tables import table
from shardy_py.sharding import DeviceSlices

_NOT_GLOBAL = "* inside a manual computation, of the tensor there: the program has no global one for it."


def local_shapes_text(values: Iterable[LocalValue], device_id: int | None = None) -> str:
    """A table with a row a value: what each device allocates, and how often each element is held.

    device_id: also show the slice that this device holds.

    Raises:
        ShardyError: a mesh of the program has no such device.
    """
    listed = tuple(values)
    lines = [table([_head(device_id), *(_row(value, device_id) for value in listed)])]
    if device_id is not None and not all(value.is_global for value in listed):
        lines.append(_NOT_GLOBAL)
    return "\n".join(lines)


def local_shapes_data(values: Iterable[LocalValue]) -> list[dict[str, Any]]:
    """The same as dictionaries of plain values, ready for JSON; None for what is not known."""
    return [
        {
            "value": value.name,
            "label": value.entry.label,
            "type": _type_text(value.type.shape, value.type.element),
            "sharding": str(value.sharding) if value.sharding else None,
            "local_shape": list(value.local_shape),
            "global_shape": list(value.slices.shape) if value.slices and value.is_global else None,
            "parts": list(value.slices.parts) if value.slices else None,
            "copies": value.copies,
            "manual_axes": list(value.manual_axes),
        }
        for value in values
    ]


def _head(device_id: int | None) -> tuple[str, ...]:
    head = ("value", "type", "sharding", "each device", "copies")
    return head if device_id is None else (*head, f"device {device_id}")


def _row(value: LocalValue, device_id: int | None) -> tuple[str, ...]:
    slices = value.slices
    row = (
        value.name,
        _type_text(value.type.shape, value.type.element),
        str(value.sharding) if value.sharding else "-",
        _type_text(value.local_shape, value.type.element),
        "?" if value.copies is None else str(value.copies),
    )
    return row if device_id is None else (*row, _held_text(slices, device_id, value.is_global))


def _held_text(slices: DeviceSlices | None, device_id: int, is_global: bool) -> str:
    if slices is None:
        return "?"
    found = slices.of(device_id)
    if found is None:
        return "nothing"
    return f"{found}{'' if is_global else '*'}"


def _type_text(shape: Sequence[int | None], element: str) -> str:
    return "x".join([*("?" if size is None else str(size) for size in shape), element])
