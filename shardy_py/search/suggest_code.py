"""The program's own annotations as a suggestion shows them.

Not here: the code of plans (`shardy_py.search.suggest`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from xdsl.ir import OpResult

from shardy_py.api.program import Program
from shardy_py.api.values import Value
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import ManualComputationOp, ShardingConstraintOp
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of, stretch_of
from shardy_py.report.tables import type_text
from shardy_py.search.advice import is_backward
from shardy_py.search.suggest import Code, Constraint, Row, Spec
from shardy_py.sharding import Mesh
from shardy_py.sharding.axis_lists import total_size
from shardy_py.xla.buffers.collect import donated_arguments
from shardy_py.xla.prepare.explicit_axes import given_by

NUMBER = re.compile(r"(?<=[\[_./])\d+|(?<=[a-z])\d+(?=[\].'/])")
"""Numbers in JAX's names of values, as those of layers."""

_MOST_OWN = 8
"""Kinds of constraints of the program that are searched, at most."""


def path_of(value: Value) -> str:
    """Returns JAX's name of a value with numbers, as of layers, replaced by *; "" if it has none."""
    return NUMBER.sub("*", value.label)


def place_of(value: Value) -> str:
    """Returns where a value is computed, as `file:line:column to :column`; else its location as text."""
    stretch, position = stretch_of(value.entry.location), position_of(value.entry.location)
    if position is None or stretch is None:
        return value.location if position is None else str(position)
    start, end = stretch
    return f"{start} to {end.line if end.line != start.line else ''}:{end.column}"


def values_of_main(program: Program) -> dict[str, Value]:
    """Returns the values of @main by their printed names, which files may give to others."""
    return {value.name: value for value in program.values if value.function == "main"}


def own_spec(value: Value) -> Spec | None:
    """Returns the axes of each dimension of a value, sub-axes in the syntax of sdy; None: no sharding."""
    sharding = value.entry.sharding
    if sharding is None:
        return None
    return tuple(
        tuple(axis.name if axis.sub_axis is None else str(axis) for axis in dimension.axes)
        for dimension in sharding.dimensions
    )


def own_constraints(program: Program) -> tuple[Constraint, ...]:
    """Returns the constraints inside @main, those of equal types and shardings together."""
    return _constraints(program, (v for v in program.values if v.function == "main" and not is_manual(v)))


def removed_constraints(program: Program, kept: Collection[str]) -> tuple[Constraint, ...]:
    """Returns the constraints in all functions but those on values of these names."""
    return _constraints(program, (v for v in program.values if v.name not in kept and not is_manual(v)))


@dataclass(frozen=True, eq=False)
class OwnConstraint:
    """Constraints of a program that may be kept, changed or removed.

    values: what they constrain, in the program without them.
    """

    constraint: Constraint
    values: tuple[Value, ...]


def own_variables(
    source: Program, base: Program, mesh: Mesh, kept: Collection[str]
) -> tuple[OwnConstraint, ...]:
    """Returns the constraints that are as those that a plan adds, those of most values, alike ones together.

    They have whole axes that divide closed dimensions, and are on values inside @main that nothing else uses;
    a line that constrains several kinds, as of a function that constrains what it is given, is not edited.
    base: the program without them. kept: the names of others.
    """
    if source.has_explicit_axes:
        return ()
    constrained: dict[str, Value] = {}
    for value in source.values:
        op = value.entry.op
        if value.function != "main" or value.name in kept or not isinstance(op, ShardingConstraintOp):
            continue
        read = op.input
        is_computed = isinstance(read, OpResult) and not isinstance(read.op, ShardingConstraintOp)
        if is_computed and read.has_one_use() and _is_plain(value, mesh):
            entry = source.values.table.by_value[id(read)]
            constrained[value.name] = base.counterpart(Value(entry, source.meshes), base.origin)
    given = own_constraints(source)
    kinds = Counter(place for each in given for place in {place for _, place in each.values if place})
    groups = (
        Constraint(each.type, each.spec, own)
        for each in given
        if all(kinds[place] <= 1 for _, place in each.values)
        if (own := tuple(pair for pair in each.values if pair[0] in constrained))
    )
    largest = sorted(groups, key=lambda each: -len(each.values))[:_MOST_OWN]
    return tuple(OwnConstraint(each, tuple(constrained[n] for n, _ in each.values)) for each in largest)


def _is_plain(value: Value, mesh: Mesh) -> bool:
    sharding, shape = value.entry.sharding, value.shape
    if sharding is None or shape is None or sharding.replicated_axes or sharding.unreduced_axes:
        return False
    axes = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    is_whole = all(axis.sub_axis is None and axis.name in mesh.sizes for axis in axes)
    return is_whole and all(
        each.is_closed and size is not None and size % total_size(each.axes, mesh) == 0
        for each, size in zip(sharding.dimensions, shape, strict=True)
    )


def is_manual(value: Value) -> bool:
    """Returns whether a sharding belongs to a manual computation: it says what its body computes."""
    return isinstance(value.entry.op, ManualComputationOp)


def _constraints(program: Program, values: Iterable[Value]) -> tuple[Constraint, ...]:
    """Constraints; of types of JAX, which all values have where axes are explicit, those that users give."""
    found: dict[tuple[str, Spec, str], list[tuple[str, str]]] = {}
    for value in values:
        spec = own_spec(value)
        if value.role == "intermediate" and spec is not None and not _is_open(value):
            by = given_by(value.entry.op) if program.has_explicit_axes else ""
            type_ = type_text(value.shape or (), value.element_type or "")
            if by is not None and not (by and is_backward(value.entry.location)):
                found.setdefault((type_, spec, by), []).append((value.name, place_of(value)))
    return tuple(Constraint(type_, spec, tuple(values), by) for (type_, spec, by), values in found.items())


def _is_open(value: Value) -> bool:
    """True if a constraint asks for nothing, as those that XLA makes around loops."""
    sharding = value.entry.sharding
    if sharding is None or sharding.replicated_axes or sharding.unreduced_axes:
        return sharding is None
    return not any(each.axes or each.is_closed for each in sharding.dimensions)


def own_code(program: Program, mesh: Mesh) -> Code:
    """Returns the annotations of a program."""
    values = [v for v in program.values if v.function == "main" and v.shape is not None]
    donors = donated_arguments(Symbols(program.module).main())

    def row(v: Value) -> Row:
        type_ = type_text(v.shape or (), v.element_type or "")
        is_donated = v.role == "argument" and donors[v.entry.index]
        return Row(v.name, path_of(v), v.label, type_, own_spec(v), is_donated)

    def rows(role: str) -> tuple[Row, ...]:
        return tuple(row(v) for v in values if v.role == role)

    kept, explicit = own_constraints(program), program.has_explicit_axes
    return Code(mesh, rows("argument"), rows("result"), kept=kept, has_explicit_axes=explicit)
