"""Tables as text: rows of cells in columns, and the summary of a propagated program.

>>> print(table((("axis", "values"), ("x", "12"), ("data", "3"))))
axis  values
x         12
data       3
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from shardy_py.report.summary import ROLES, Meshes, Summary

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def table(rows: Iterable[tuple[str, ...]], left: Container[int] = (0,)) -> str:
    """Rows under each other: the columns of these numbers to the left, the others to the right."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in listed
    )


def summary_text(summary: Summary, meshes: Meshes) -> str:
    """The tables of a summary: meshes, values, axes, bytes."""
    parts = [
        "\n".join(f"mesh @{name} = {mesh}, {mesh.device_count} devices" for name, mesh in meshes.items()),
        table(_value_rows(summary)),
        table(_axis_rows(summary, meshes)),
        table(_byte_rows(summary)),
        "Intermediates are all results of ops together, not what is alive at one time.",
    ]
    if summary.dynamic:
        parts.append(f"{summary.dynamic} values have dynamic dimensions; their bytes are not counted.")
    return "\n\n".join(filter(None, parts))


def bytes_text(count: int) -> str:
    """A number of bytes in the largest decimal unit that leaves at least one.

    >>> bytes_text(999), bytes_text(2_500_000)
    ('999 B', '2.50 MB')
    """
    unit = min((len(str(count)) - 1) // 3, len(_UNITS) - 1)
    return f"{count} B" if unit == 0 else f"{count / 1000**unit:.2f} {_UNITS[unit]}"


def _value_rows(summary: Summary) -> Iterator[tuple[str, ...]]:
    yield "values", "count", "share"
    for name in ("sharded", "replicated", "scalars"):
        count: int = getattr(summary, name)
        yield name, f"{count:,}", _share(count, summary.values)
    yield "all", f"{summary.values:,}", ""


def _axis_rows(summary: Summary, meshes: Meshes) -> Iterator[tuple[str, ...]]:
    yield "sharded over", "size", "count", "share"
    sizes = {axis.name: axis.size for mesh in meshes.values() for axis in mesh.axes}
    counts = {**dict(summary.by_axis), **{name: 0 for name in sizes if name not in dict(summary.by_axis)}}
    for name, count in counts.items():
        yield f'"{name}"', str(sizes.get(name, "")), f"{count:,}", _share(count, summary.values)


def _byte_rows(summary: Summary) -> Iterator[tuple[str, ...]]:
    yield "bytes", "values", "global", "each device", "share"
    for role in ROLES:
        row = summary.bytes[role]
        share = _share(row.local_bytes, row.global_bytes)
        yield role, f"{row.count:,}", bytes_text(row.global_bytes), bytes_text(row.local_bytes), share


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
