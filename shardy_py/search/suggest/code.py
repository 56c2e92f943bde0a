"""Shardings as Python for JAX: the mesh, `PartitionSpec`s of arguments and results, constraints with lines.

Axes of the mesh are automatic: those that `jax.make_mesh` makes by default are explicit, for which programs
are written otherwise. Where values have names of JAX, specs are by path, and a function of a few lines gives
each leaf of the arguments its sharding, also those that `jax.jit` drops. Equal layers share their lines:

    in_specs = {
        "embedding": P('model'),  # 32000x1024xf32
        **{f"layers[{i}]['up']": P(None, 'model') for i in range(48)},  # 48 x 1024x4096xf32
    }

Else specs are in the order of the program's arguments, and repeated parts of a tuple are written once.

Not here: what is suggested (`suggestion.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from shardy_py.base.records import dataclass
from shardy_py.search.suggest.schemes import Spec
from shardy_py.sharding import Mesh

_MOST_PERIOD = 64
"""Rows of a repeated part, at most."""
_MOST_PLACES = 40
"""Places of constraints of one kind that are listed."""
_HEAD = ("import jax", "from jax.sharding import AxisType, NamedSharding, PartitionSpec as P", "")
_BY_PATH = r'''

def sharded(specs, **trees):
    """Returns trees with a sharding for each leaf, by its path; what is not used is replicated."""

    def sharding(name, path):
        key = re.sub(r"<flat index (\d+)>", r"\1", name + jax.tree_util.keystr(path))
        spec = specs.get(key, P())
        return spec if spec is None else NamedSharding(mesh, spec)

    with_path = jax.tree_util.tree_map_with_path
    return tuple(with_path(lambda path, _: sharding(name, path), tree) for name, tree in trees.items())

'''
_IN_ORDER = '''

def in_order(specs, tree):
    """Returns the tree with the shardings of its leaves, all of which the program must use."""
    shardings = [spec if spec is None else NamedSharding(mesh, spec) for spec in specs]
    return jax.tree.unflatten(jax.tree.structure(tree), shardings)

'''
_KINDS = {False: "AxisType.Auto", True: "AxisType.Explicit"}
_NAME = re.compile(r"[A-Za-z_]\w*")
_JAX_PATH = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\]|\.[A-Za-z_]\w*)*")
"""The name of an argument, and a path in its tree, as `jax.tree_util.keystr` writes it."""


@dataclass(frozen=True, slots=True)
class Row:
    """An argument or result. label: its name in JAX, "" if it has none; path: with numbers replaced by *.

    is_donated: whether its memory may be reused.
    """

    name: str
    path: str
    label: str
    type: str
    spec: Spec | None
    is_donated: bool = False

    @property
    def key(self) -> object:
        """A key that equal rows share."""
        return self.type, self.spec


@dataclass(frozen=True, slots=True)
class Constraint:
    """Values of one type that get one sharding: their names and locations.

    given_by: what of JAX gives it; "" for `with_sharding_constraint`.
    """

    type: str
    spec: Spec
    values: tuple[tuple[str, str], ...]
    given_by: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """All annotations of a program on a mesh.

    constraints: that are added. kept, changed, removed: of the program's own; changed: with what they become.
    has_explicit_axes: whether the axes of the mesh are explicit, as a program has them; never those of plans.
    """

    mesh: Mesh
    arguments: tuple[Row, ...]
    results: tuple[Row, ...]
    constraints: tuple[Constraint, ...] = ()
    kept: tuple[Constraint, ...] = ()
    removed: tuple[Constraint, ...] = ()
    changed: tuple[tuple[Constraint, Spec], ...] = ()
    has_explicit_axes: bool = False

    def lines(self) -> Iterator[str]:
        """Returns the lines of Python."""
        helpers = [*self._helpers()]
        if any("re.sub" in line for line in helpers):
            yield "import re"
        yield from mesh_lines(self)
        yield from _listed("in_specs", self.arguments)
        if self._has_results:
            yield from _listed("out_specs", self.results)
        for title, listed in (
            ("remove from the program", self.removed),
            ("stays in the program", self.kept),
        ):
            for each in listed:
                by = f" by {each.given_by}" if each.given_by else ""
                yield from _constraint(
                    each, f"{title}, {_kind(each)} constrained to {spec_text(each.spec)}{by}:"
                )
        for each, new in self.changed:
            given = f"{_kind(each)} constrained to {spec_text(each.spec)}"
            yield from _constraint(each, f"change in the program, {given}: {_made(new)}")
        for each in self.constraints:
            yield from _constraint(each, f"add to the program, for {_kind(each)}: {_made(each.spec)}")
        yield from helpers

    @property
    def _has_results(self) -> bool:
        return any(row.spec is not None for row in self.results)

    @property
    def _is_by_path(self) -> tuple[bool, ...]:
        """True if specs of arguments, and of results if there are any, are by path."""
        return tuple(map(_is_by_path, (self.arguments, *([self.results] if self._has_results else []))))

    def _helpers(self) -> Iterator[str]:
        """The function that makes shardings of the specs, and its call."""
        by_path, has_results = self._is_by_path, self._has_results
        if by_path[0] and not all(_JAX_PATH.fullmatch(row.label) for row in self.arguments):
            return  # names of a module of PyTorch, for example
        if any(by_path):
            yield from _BY_PATH.split("\n")[1:-1]
        if not all(by_path):
            yield from _IN_ORDER.split("\n")[1:-1]
        if by_path[0]:
            names = dict.fromkeys(match[0] for row in self.arguments if (match := _NAME.match(row.label)))
            given = ", ".join(f"{name}={name}" for name in names)
            yield "# With all arguments in order, without static ones; for **kwargs, device_put has to do:"
            yield f"# in_shardings = sharded(in_specs, {given})"
        else:
            if any(row.label for row in self.results):
                yield "# By path, also where jit drops arguments, if lowered with as_text(debug_info=True)."
            yield "# With the tuple of the function's arguments:"
            yield "# in_shardings = in_order(in_specs, arguments)"
        if has_results:
            yield (
                "# (out_shardings,) = sharded(out_specs, result=jax.eval_shape(function, *arguments))"
                if by_path[1]
                else "# out_shardings = in_order(out_specs, jax.eval_shape(function, *arguments))"
            )
        more = ", out_shardings=out_shardings" if has_results else ""
        donated = [row for row in self.arguments if row.is_donated]
        if by_path[0] and donated:
            more += (
                f", donate_argnames={tuple(dict.fromkeys(_NAME.findall(row.label)[0] for row in donated))}"
            )
        elif donated:
            yield "# The program donates arguments: with its own donate_argnums."
        yield f"# jitted = jax.jit(function, in_shardings=in_shardings{more})"
        yield "# jitted(*jax.device_put(arguments, in_shardings))"

    def text(self) -> str:
        """Returns the Python."""
        return "\n".join(self.lines())


def mesh_lines(code: Code) -> Iterator[str]:
    """Returns the imports of JAX, and the mesh."""
    yield from _HEAD
    names = tuple(axis.name for axis in code.mesh.axes)
    sizes, kind = tuple(axis.size for axis in code.mesh.axes), _KINDS[code.has_explicit_axes]
    yield f"mesh = jax.make_mesh({sizes}, {names}, axis_types=({kind},) * {len(names)})"


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


def _made(own: Spec) -> str:
    return f"x = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, {spec_text(own)}))"


def _is_by_path(rows: Sequence[Row]) -> bool:
    """True if values have names of JAX, all of them different."""
    labels = {row.label for row in rows}
    return bool(rows) and "" not in labels and len(labels) == len(rows)


def _listed(name: str, rows: Sequence[Row]) -> Iterator[str]:
    return by_path(name, rows) if _is_by_path(rows) else _in_order(name, rows)


def by_path(name: str, rows: Sequence[Row], texts: Mapping[Spec | None, str] | None = None) -> Iterator[str]:
    """Returns a dictionary; rows of a path share a line if all have equal shardings, and all numbers occur.

    texts: its values by sharding; None: `PartitionSpec`s.
    """
    text = spec_text if texts is None else texts.__getitem__
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.path, []).append(row)
    yield f"{name} = {{"
    for path, own in grouped.items():
        layers = _layers(path, own) if len(own) > 1 and len({row.spec for row in own}) == 1 else None
        if layers is None:
            yield from (f"    {row.label!r}: {text(row.spec)},  # {row.type}" for row in own)
        else:
            types = ", ".join(dict.fromkeys(row.type for row in own))
            yield f"    **{{f{layers[0]!r}: {text(own[0].spec)} {layers[1]}}},  # {len(own)} x {types}"
    yield "}"


def _layers(path: str, rows: Sequence[Row]) -> tuple[str, str] | None:
    """The text of an f-string with a letter for each number that varies, and the loops over these.

    None if the labels are not those of all numbers of some ranges.
    """
    pattern = re.escape(path).replace(r"\*", r"(0|[1-9]\d*)")
    found = [re.fullmatch(pattern, row.label) for row in rows]
    groups = [tuple(map(int, match.groups())) for match in found if match is not None]
    if len(groups) < len(rows) or len({*groups}) < len(groups):
        return None
    columns = [(min(column), max(column) + 1) for column in zip(*groups, strict=True)]
    if len(groups) != len([*product(*(range(*each) for each in columns))]):
        return None
    letters, parts, loops = iter("ijklmn"), path.split("*"), list[str]()
    text = _braces(parts[0])
    for (first, last), part in zip(columns, parts[1:], strict=True):
        letter = next(letters, "")
        if last - first == 1 or not letter:
            text += str(first)
        else:
            text += f"{{{letter}}}"
            loops.append(f"for {letter} in range({f'{first}, ' if first else ''}{last})")
        text += _braces(part)
    return (text, " ".join(loops)) if loops else None


def _braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


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


def _kind(each: Constraint) -> str:
    return f"{len(each.values)} values of {each.type}" if len(each.values) > 1 else each.type


def _constraint(each: Constraint, title: str) -> Iterator[str]:
    yield f"# {title}"
    places: dict[str, list[str]] = {}
    for name, place in each.values:
        places.setdefault(place, []).append(name)
    shown = [*places.items()][:_MOST_PLACES]
    for place, names in shown:
        yield f"#   {place} ({_names(names)})" if place else f"#   {_names(names)}"
    if len(shown) < len(places):
        yield f"#   and {len(places) - len(shown)} more places"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]}, ... {names[-1]} ({len(names)})"
