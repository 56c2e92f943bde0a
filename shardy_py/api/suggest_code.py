"""The program's own annotations as a suggestion shows them.

Not here: the code of plans (`shardy_py.suggest`).
"""

from __future__ import annotations

import re

from shardy_py.api.program import Program
from shardy_py.api.values import Value
from shardy_py.report.tables import type_text
from shardy_py.sharding import Mesh
from shardy_py.suggest import Code, Constraint, Row, Spec

_NUMBER = re.compile(r"(?<=[\[_./])\d+|(?<=[a-z])\d+(?=[\].'/])")


def path_of(value: Value) -> str:
    """Returns JAX's name of a value with numbers, as of layers, replaced by *; "" if it has none."""
    return _NUMBER.sub("*", value.label)


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
    found: dict[tuple[str, Spec], list[tuple[str, str]]] = {}
    for value in program.values:
        spec = own_spec(value)
        if value.function == "main" and value.role == "intermediate" and spec is not None:
            type_ = type_text(value.shape or (), value.element_type or "")
            found.setdefault((type_, spec), []).append((value.name, value.location))
    return tuple(Constraint(type_, spec, tuple(values)) for (type_, spec), values in found.items())


def own_code(program: Program, mesh: Mesh) -> Code:
    """Returns the annotations of a program."""
    values = [v for v in program.values if v.function == "main" and v.shape is not None]

    def rows(role: str) -> tuple[Row, ...]:
        given = (v for v in values if v.role == role)
        return tuple(
            Row(v.name, path_of(v), v.label, type_text(v.shape or (), v.element_type or ""), own_spec(v))
            for v in given
        )

    return Code(mesh, rows("argument"), rows("result"), own_constraints(program))
