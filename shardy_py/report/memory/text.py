"""A memory report as a table a person reads.

Not here: the same for tools (`to_json.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shardy_py.report.memory.report import EntryMemory, MemoryReport, Place, TensorRow, Total
from shardy_py.report.tables import bytes_text, table

ROWS = 20
"""How many tensors each table shows."""


def memory_text(report: MemoryReport, rows: int = ROWS) -> str:
    """Totals of each function that the program starts with, what is alive at its peak, the largest tensors.

    rows: how many tensors a table shows.
    """
    parts = [f"Memory on each device, target {report.target}"]
    parts += [f"mesh @{name} = {mesh}, {mesh.device_count} devices" for name, mesh in report.meshes.items()]
    blocks = ["\n".join(parts)]
    for entry in report.entries:
        blocks += _entry_blocks(report, entry, rows)
    if not report.entries:
        blocks.append("The module has no function with a body.")
    shown = report.largest(rows)
    if shown:
        blocks.append(_tensors("largest tensors", shown, len(report.numbers), report))
    problems = report.not_counted
    if problems:
        blocks.append("Not counted:\n" + "\n".join(_not_counted(problems[:rows], len(problems))))
    return "\n\n".join(blocks)


def _entry_blocks(report: MemoryReport, entry: EntryMemory, rows: int) -> Iterator[str]:
    totals = (entry.arguments, entry.results, entry.constants, entry.peak)
    names = ("arguments", "results", "constants", "peak")
    header = (f"@{entry.function}", "tensors", "global", "each device", "padded", "waste")
    yield table((header, *(_total_row(name, total) for name, total in zip(names, totals, strict=True))))
    where = ", within it ".join(map(_place_text, entry.place)) or "on entry"
    yield f"The peak is at {where}" if entry.place else "The peak is on entry."
    alive = [report.row(number) for number in entry.alive[:rows]]
    if alive:
        yield _tensors("alive at the peak", alive, len(entry.alive), report)


def _total_row(name: str, total: Total) -> tuple[str, ...]:
    return (
        name,
        f"{total.count:,}",
        *_byte_cells(total.bytes.global_bytes, total.bytes.local_bytes),
        *_padded(total),
    )


def _byte_cells(*counts: int) -> tuple[str, ...]:
    return tuple(map(bytes_text, counts))


def _padded(measured: Total | TensorRow) -> tuple[str, str]:
    return bytes_text(measured.bytes.padded_bytes), f"{measured.bytes.waste:.1%}"


def _place_text(place: Place) -> str:
    name = f"{place.name} = " if place.name else ""
    location = f" ({place.location})" if place.location else ""
    return f"{name}{place.op} of @{place.function}{location}"


def _tensors(title: str, shown: Sequence[TensorRow], count: int, report: MemoryReport) -> str:
    header = (title, "sharding", "global shape", "local shape", "padded", "waste", "location")
    rows = [_tensor_row(row, report) for row in shown]
    text = table((header, *rows), left=(0, 1, 6))
    return text if count == len(shown) else f"{text}\n... and {count - len(shown):,} more"


def _tensor_row(row: TensorRow, report: MemoryReport) -> tuple[str, ...]:
    return (
        row.name if row.function in ("", "main") else f"@{row.function}:{row.name}",
        _sharding_text(row, only_mesh=len(report.meshes) == 1),
        _shape_text(row.shape, row.element_type),
        _shape_text(row.local_shape, row.element_type),
        *_padded(row),
        row.location,
    )


def _sharding_text(row: TensorRow, *, only_mesh: bool) -> str:
    if row.sharding is None:
        return "-"
    text = str(row.sharding)
    prefix = f"<@{row.sharding.mesh}, "
    return text[len(prefix) : -1] if only_mesh and text.startswith(prefix) else text


def _shape_text(shape: Iterable[int | None], element: str) -> str:
    return "x".join((*("?" if size is None else str(size) for size in shape), element))


def _not_counted(rows: Sequence[TensorRow], count: int) -> Iterator[str]:
    for row in rows:
        yield f"  {row.name} of @{row.function}, {_shape_text(row.shape, row.element_type)}: {row.problem}"
    if count > len(rows):
        yield f"  ... and {count - len(rows):,} more"
