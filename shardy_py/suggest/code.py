"""Shardings as Python for JAX: the mesh, `PartitionSpec`s of arguments and results, constraints with lines.

Equal layers share their lines: by path if values have names of JAX, else as repeated parts of a tuple.

    in_specs = (
        P('model'),  # %arg0: 32000x1024xf32
        *(
            P(None, 'model'),  # %arg1, ...: 1024x4096xf32
            P('model'),  # %arg2, ...: 4096x1024xf32
        ) * 48,
    )

Not here: what is suggested (`suggestion.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shardy_py.sharding import Mesh
from shardy_py.suggest.schemes import Spec

_MOST_PERIOD = 64
"""Rows of a repeated part, at most."""


@dataclass(frozen=True, slots=True)
class Row:
    """An argument or result. label: its name in JAX, "" if it has none; path: with numbers replaced by *."""

    name: str
    path: str
    label: str
    type: str
    spec: Spec | None

    @property
    def key(self) -> object:
        """What equal rows have in common."""
        return self.type, self.spec


@dataclass(frozen=True, slots=True)
class Constraint:
    """Values of one type that get one sharding: their names and locations."""

    type: str
    spec: Spec
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """All annotations of a program on a mesh."""

    mesh: Mesh
    arguments: tuple[Row, ...]
    results: tuple[Row, ...]
    constraints: tuple[Constraint, ...]

    def lines(self) -> Iterator[str]:
        """Returns the lines of Python."""
        sizes, names = tuple(axis.size for axis in self.mesh.axes), tuple(a.name for a in self.mesh.axes)
        yield f"mesh = jax.make_mesh({sizes}, {names})"
        yield from _listed("in_specs", self.arguments)
        if any(row.spec is not None for row in self.results):
            yield from _listed("out_specs", self.results)
        for each in self.constraints:
            yield from _constraint(each)

    def text(self) -> str:
        """Returns the Python."""
        return "\n".join(self.lines())


def spec_text(own: Spec | None) -> str:
    """Returns the `PartitionSpec` of the axes of each dimension; None if propagation decides.

    >>> spec_text((("data", "model"), (), ("x",))), spec_text(((), ())), spec_text(None)
    ("P(('data', 'model'), None, 'x')", 'P()', 'None')
    """
    if own is None:
        return "None"
    parts = ["None" if not axes else repr(axes[0]) if len(axes) == 1 else repr(axes) for axes in own]
    while parts and parts[-1] == "None":
        parts.pop()
    return f"P({', '.join(parts)})"


def _listed(name: str, rows: Sequence[Row]) -> Iterator[str]:
    return _by_path(name, rows) if rows and all(row.path for row in rows) else _in_order(name, rows)


def _by_path(name: str, rows: Sequence[Row]) -> Iterator[str]:
    """A dictionary; rows of a path share a line if all have equal shardings."""
    by_path: dict[str, list[Row]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    yield f"{name} = {{"
    for path, own in by_path.items():
        if len({row.spec for row in own}) == 1:
            types = ", ".join(dict.fromkeys(row.type for row in own))
            note = f"{len(own)} x {types}" if len(own) > 1 else types
            yield f"    {path!r}: {spec_text(own[0].spec)},  # {note}"
        else:
            yield from (f"    {row.label!r}: {spec_text(row.spec)},  # {row.type}" for row in own)
    yield "}"


def _in_order(name: str, rows: Sequence[Row]) -> Iterator[str]:
    yield f"{name} = ("
    yield from _parts(rows, "    ", is_repeated=False)
    yield ")"


def _parts(rows: Sequence[Row], indent: str, *, is_repeated: bool) -> Iterator[str]:
    """The rows of a tuple; what repeats is a tuple times a number."""
    position = 0
    while position < len(rows):
        period, times = _repeated(rows, position)
        part = rows[position : position + period]
        if times == 1:
            more = ", ..." if is_repeated else ""
            yield from (f"{indent}{spec_text(row.spec)},  # {row.name}{more}: {row.type}" for row in part)
        else:
            yield f"{indent}*("
            yield from _parts(part, f"{indent}    ", is_repeated=True)
            yield f"{indent}) * {times},"
        position += period * times


def _repeated(rows: Sequence[Row], start: int) -> tuple[int, int]:
    """The period of the part from `start` that saves most lines when repeated, and how often it is there."""
    best, saved = (1, 1), 0
    for period in range(1, min(_MOST_PERIOD, (len(rows) - start) // 2) + 1):
        times = 1
        while _is_equal(rows, start, start + period * times, period):
            times += 1
        if period * times - period - 2 > saved:
            best, saved = (period, times), period * times - period - 2
    return best


def _is_equal(rows: Sequence[Row], one: int, other: int, count: int) -> bool:
    first, second = rows[one : one + count], rows[other : other + count]
    return len(second) == count and all(a.key == b.key for a, b in zip(first, second, strict=True))


def _constraint(each: Constraint) -> Iterator[str]:
    count = len(each.values)
    kind = f"{count} values of {each.type}" if count > 1 else each.type
    yield f"# {kind}: x = jax.lax.with_sharding_constraint(x, {spec_text(each.spec)})"
    places: dict[str, list[str]] = {}
    for name, place in each.values:
        places.setdefault(place, []).append(name)
    yield from (f"#   {_names(names)}{f' at {place}' if place else ''}" for place, names in places.items())


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]}, ... {names[-1]} ({len(names)})"
