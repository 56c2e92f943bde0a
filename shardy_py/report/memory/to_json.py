"""A memory report as JSON values, for tools; the schema is in docs/memory.md and changes only with `SCHEMA`.

Not here: the same as text (`text.py`).
"""

from __future__ import annotations

from typing import Any

from shardy_py.report.memory.report import EntryMemory, MemoryReport, Place, TensorRow, Total
from shardy_py.report.memory.sizes import Bytes

SCHEMA = 1


def memory_json(report: MemoryReport) -> dict[str, Any]:
    """The report as dicts, lists, strings, integers and null."""
    ranked = report.ranked(report.numbers)
    positions = {number: position for position, number in enumerate(ranked)}
    return {
        "schema": SCHEMA,
        "target": report.target,
        "meshes": {
            name: {"axes": dict(mesh.sizes), "devices": mesh.device_count}
            for name, mesh in report.meshes.items()
        },
        "entries": [_entry(entry, positions) for entry in report.entries],
        "tensors": [_row(report.row(number)) for number in ranked],
    }


def _entry(entry: EntryMemory, positions: dict[int, int]) -> dict[str, Any]:
    return {
        "function": entry.function,
        "arguments": _total(entry.arguments),
        "results": _total(entry.results),
        "constants": _total(entry.constants),
        "peak": {
            **_total(entry.peak),
            "place": [_place(place) for place in entry.place],
            "alive": [positions[number] for number in entry.alive],
        },
    }


def _total(total: Total) -> dict[str, int]:
    return {"count": total.count, **_bytes(total.bytes)}


def _bytes(size: Bytes) -> dict[str, int]:
    return {
        "global_bytes": size.global_bytes,
        "local_bytes": size.local_bytes,
        "padded_bytes": size.padded_bytes,
    }


def _place(place: Place) -> dict[str, str]:
    return {"function": place.function, "op": place.op, "name": place.name, "location": place.location}


def _row(row: TensorRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "function": row.function,
        "op": row.op,
        "element_type": row.element_type,
        "shape": list(row.shape),
        "local_shape": list(row.local_shape),
        "sharding": None if row.sharding is None else str(row.sharding),
        **_bytes(row.bytes),
        "location": row.location,
        "not_counted": row.problem,
    }
