"""Programs, results, values and shardings in notebooks. Not here: reports, which show themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from shardy_py.base.counting import counted
from shardy_py.base.errors import ShardyError
from shardy_py.report.difference_shown import changes_html, figures_html
from shardy_py.report.notebook import (
    Cell,
    Colours,
    Html,
    axes_html,
    block,
    colours_of,
    picture,
    sharding_html,
    table_html,
    text_html,
)
from shardy_py.report.tables import type_text
from shardy_py.report.view import to_svg

if TYPE_CHECKING:
    from shardy_py.api.comparison import Comparison
    from shardy_py.api.program import Program
    from shardy_py.api.result import Result
    from shardy_py.api.sharding import Sharding
    from shardy_py.api.values import Value
    from shardy_py.sharding import Mesh

_SHOWN = 10
_HEADER = ("value", "name", "type", "sharding", "each device")
_MOST_WARNINGS = 3
_MOST_SVG = 12_000
"""Characters of a picture."""


def program_html(program: Program) -> str:
    """Returns meshes, ops, and arguments and results of the first functions with their shardings."""
    colours = colours_of(program.meshes.values())
    return block(repr(program), _meshes(program.meshes, colours), *_signature(program, colours))


def result_html(result: Result) -> str:
    """Returns the meshes, the number of sharded values, warnings, and the main function's signature."""
    colours = colours_of(result.program.meshes.values())
    tensors = [value for value in result.values if value.shape is not None]
    sharded = sum(1 for each in tensors if each.sharding and not each.sharding.is_fully_replicated)
    summary = f"{sharded:,} of {counted(len(tensors), 'tensor')} sharded"
    warnings = [str(each) for each in result.warnings[:_MOST_WARNINGS]]
    more = len(result.warnings) - _MOST_WARNINGS
    rest = f"and {counted(more, 'more warning')}" if more > 0 else ""
    parts = _meshes(result.program.meshes, colours), summary, *warnings, rest
    return block(repr(result), *parts, *_signature(result.program, colours))


def value_html(value: Value) -> str:
    """Returns type and sharding of a value, and a picture of its shards if it has one."""
    colours = colours_of(value.meshes.values())
    facts = value.op_name, value.label, value.location
    svg = None
    if value.sharding is not None and value.shape is not None and None not in value.shape:
        svg = sharding_svg(value.sharding, tuple(size for size in value.shape if size is not None))
    return block(repr(value), _table([value], colours), *filter(None, facts), picture(svg))


def sharding_picture(sharding: Sharding) -> str | None:
    """Returns the shards of a tensor with one element a shard as SVG; None if it cannot be drawn."""
    sizes = (prod(axis.size(sharding.mesh) for axis in each.axes) for each in sharding.dimensions)
    return None if sharding.mesh.is_maximal else sharding_svg(sharding, tuple(sizes))


def sharding_svg(sharding: Sharding, shape: tuple[int, ...]) -> str | None:
    """Returns the shards of a tensor as SVG; None if they cannot be drawn, or the picture is large."""
    try:
        text = to_svg(sharding.for_rank(len(shape)).value, sharding.mesh, shape)
    except ShardyError:
        return None
    return text if len(text) <= _MOST_SVG else None


def sharding_block(sharding: Sharding) -> str:
    """Returns the mesh and the dimensions of a sharding, and the picture of its shards if it has one."""
    colours = colours_of((sharding.mesh,))
    dimensions = Html(f"<div>{sharding_html(sharding.value, colours)}</div>")
    return block(_mesh("", sharding.mesh, colours), dimensions, picture(sharding_picture(sharding)))


def comparison_html(comparison: Comparison) -> str:
    """Returns the costs before and after, and the changed shardings."""
    replaced = (each.after for each in comparison.mesh_changes if each.after is not None)
    meshes = (*comparison.before.program.meshes.values(), *replaced)
    title = counted(len(comparison.changes), "changed sharding")
    parts = figures_html(*comparison.figures), changes_html(comparison.changes, colours_of(meshes))
    return block(title, *parts)


def _signature(program: Program, colours: Colours) -> Iterable[Cell]:
    """The arguments and results of @main, or of the first function."""
    functions = program.functions
    if not functions:
        return
    name = "main" if "main" in functions else functions[0]
    for role, values in (
        ("argument", program.values.arguments(name)),
        ("result", program.values.results(name)),
    ):
        yield f"@{name}: {counted(len(values), role)}"
        yield _table(values, colours)


def _table(values: list[Value], colours: Colours) -> Html:
    return table_html(
        _HEADER, (_cells(each, colours) for each in islice(values, _SHOWN)), left=range(5), count=len(values)
    )


def _cells(value: Value, colours: Colours) -> tuple[Cell, ...]:
    element = value.element_type
    if element is None:
        return value.name, value.label, str(value.entry.type), "", ""
    types = (type_text(shape or (), element) for shape in (value.shape, value.local_shape))
    shape, local = types
    sharding = None if value.sharding is None else value.sharding.value
    return value.name, value.label, shape, sharding_html(sharding, colours), local


def _meshes(meshes: Mapping[str, Mesh], colours: Colours) -> Html:
    shown = (f"<div>{_mesh(f'@{name} ', mesh, colours)}</div>" for name, mesh in islice(meshes.items(), 5))
    return Html("".join(shown))


def _mesh(name: str, mesh: Mesh, colours: Colours) -> Html:
    axes = axes_html(((axis.name, f"{axis.name}={axis.size}") for axis in mesh.axes[:20]), colours)
    return Html(f"mesh {text_html(name)}{axes} {counted(mesh.device_count, 'device')}")
