"""A memory report in a notebook, and its rows. Not here: its text and JSON (`report.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.errors import ShardyError
from shardy_py.base.rows import Row, Rows
from shardy_py.report.notebook import (
    Cell,
    Colours,
    Html,
    block,
    colours_of,
    sharding_html,
    short_repr,
    table_html,
)
from shardy_py.report.tables import bytes_text, table, type_text

if TYPE_CHECKING:
    from shardy_py.report.memory.report import MemoryReport
    from shardy_py.report.memory.rows import EntryMemory, TensorRow
    from shardy_py.xla.buffers.chips import Chip

COLUMNS = (
    *("name", "function", "op", "element_type", "shape", "local_shape", "sharding"),
    *("global_bytes", "local_bytes", "padded_bytes", "is_at_peak", "not_counted", "location"),
)
"""The columns of rows."""
TOTALS = ("arguments", "results", "constants", "peak")
LABELS = {"peak": "alive at once"}
"""The totals of an entry function, and their names where they differ."""


def short_text(report: MemoryReport) -> str:
    """Returns target and size in one line, without computing the peak."""
    target = report.target if report.chip is None else report.chip.name
    return short_repr(type(report), counted(len(report.numbers), "tensor"), f"target {target}")


def short_entry(entry: EntryMemory) -> str:
    """Returns the values alive at once in a function in one line."""
    peak = f"{bytes_text(entry.peak.bytes.padded_bytes)} alive at once"
    return short_repr(type(entry), f"@{entry.function}", peak, f"{counted(len(entry.alive), 'tensor')} alive")


def headline(report: MemoryReport) -> tuple[str, ...]:
    """Returns the memory of the program in a line, and the values alive beside it; () without a function."""
    if not report.entries:
        return ()
    alive = f"{bytes_text(report.alive_bytes)} are alive at once, of the values of the program without fusion"
    if report.not_estimated:
        return (f"{alive}; what XLA allocates cannot be estimated: {report.not_estimated}",)
    found = report.estimate
    shared = f", {bytes_text(found.aliased)} of them in memory of arguments" if found.aliased else ""
    parts = f"{bytes_text(found.arguments)} of arguments, {bytes_text(found.results)} of results{shared}"
    parts += f", {bytes_text(found.temporaries)} of temporaries"
    parts += f", of which {bytes_text(found.in_vmem)} may be in VMEM" if found.in_vmem else ""
    room = "" if report.chip is None else f", and {answer(report)} in the {_room(report.chip)}"
    return f"{bytes_text(report.memory_bytes)} is what XLA allocates, as estimated{room}: {parts}", alive


def answer(report: MemoryReport) -> str:
    """Returns whether the program fits into the memory of the chip, with the error of the estimate."""
    if report.fits:
        return "fits"
    return "may fit" if report.may_fit else "does not fit"


def estimate_text(report: MemoryReport, chip: Chip) -> str:
    """Returns the estimate beside the memory of the chip."""
    estimate = report.estimate
    names = ("arguments", "results", "aliased", "temporaries", "host", "total_bytes")
    header = ("estimate", "each device")
    rows = ((name.removesuffix("_bytes"), bytes_text(getattr(estimate, name))) for name in names)
    memory = f"The estimate {answer(report)} in the {_room(chip)}"
    memory += "; XLA computes values again to need less." if report.is_recomputed else "."
    assumed = " Arrays are assumed in layouts with the least padding." if chip.target == "tpu" else ""
    live = [("live at the peak", "each device", "location")]
    live += [(each.name, bytes_text(each.bytes), each.location) for each in estimate.largest]
    return f"{table((header, *rows))}\n\n{memory}{assumed}\n\n{table(live)}"


def html(report: MemoryReport) -> str:
    """Returns the totals of each entry function, the estimate for a chip, and the largest tensors."""
    colours = colours_of(report.meshes.values())
    parts: list[Cell] = [*report.headline]
    for entry in report.entries:
        header = (f"@{entry.function}", "tensors", "global", "each device", "padded", "waste")
        totals = ((LABELS.get(name, name), *getattr(entry, name).cells()) for name in TOTALS)
        parts.append(table_html(header, totals))
        parts.append(f"most is alive at {entry.place[-1]}" if entry.place else "most is alive on entry")
    parts.append(_estimate(report))
    rows = [_cells(row, colours) for row in report.largest(10)]
    header = ("largest tensors", "sharding", "global shape", "local shape", "padded", "location")
    parts.append(table_html(header, rows, left=(0, 1, 5), count=len(report.numbers)))
    target = report.target if report.chip is None else report.chip.name
    return block(f"Memory on each device, target {target}", *parts)


def _estimate(report: MemoryReport) -> str:
    if report.chip is None:
        return ""
    try:
        total = report.estimate.total_bytes
    except ShardyError as error:
        return error.first.message
    return f"XLA allocates about {bytes_text(total)}: it {answer(report)} in the {_room(report.chip)}"


def _room(chip: Chip) -> str:
    return f"{bytes_text(chip.memory_bytes)} of {chip.name}"


def _cells(row: TensorRow, colours: Colours) -> tuple[Cell, ...]:
    types = (type_text(shape, row.element_type) for shape in (row.shape, row.local_shape))
    name = row.name if row.function in ("", "main") else f"@{row.function}:{row.name}"
    sharding: Cell = Html("-") if row.sharding is None else sharding_html(row.sharding, colours)
    return name, sharding, *types, bytes_text(row.bytes.padded_bytes), row.location


def rows(report: MemoryReport) -> Rows:
    """Returns a row for each tensor, largest first."""
    alive = {number for entry in report.entries for number in entry.alive}
    return [_row(report.row(number), number in alive) for number in report.ranked(report.numbers)]


def _row(row: TensorRow, is_at_peak: bool) -> Row:
    shapes = ("x".join("?" if n is None else str(n) for n in shape) for shape in (row.shape, row.local_shape))
    size, sharding = row.bytes, None if row.sharding is None else str(row.sharding)
    cells = (
        *(row.name, row.function, row.op, row.element_type, *shapes, sharding),
        *(size.global_bytes, size.local_bytes, size.padded_bytes, is_at_peak, row.not_counted, row.location),
    )
    return dict(zip(COLUMNS, cells, strict=True))
