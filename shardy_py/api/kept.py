"""Warnings about annotations of arguments and results that are not kept because they do not divide evenly.

    weight: the annotation <@mesh, [{"tp"}, {}]> is not kept: dimension 0 of size 30 is not divisible by 4

Not here: the pass that truncates them (`sdy-update-non-divisible-input-output-shardings`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shardy_py.errors import Diagnostic
from shardy_py.graph.holders import attribute_list_shardings
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.symbols import function_name, functions_of
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of
from shardy_py.text.source import position_of

if TYPE_CHECKING:
    from shardy_py.api.program import Program
    from shardy_py.api.values import Value

_REMEDY = (
    "choose other axes or another size, or keep it with "
    "Options(update_non_divisible_input_output_shardings=False)"
)


def truncation_warnings(program: Program) -> tuple[Diagnostic, ...]:
    """Returns a warning for each annotated argument and result with an uneven dimension."""
    values: dict[tuple[str, str], Sequence[Value]] = {}
    warnings: list[Diagnostic] = []
    for function, role, index, annotation, number, parts in _uneven(program):
        if (function, role) not in values:
            listed = program.values.arguments if role == "argument" else program.values.results
            values[function, role] = listed(function)
        warnings.append(_warning(values[function, role][index], annotation, number, parts))
    return tuple(warnings)


def _uneven(program: Program) -> Iterator[tuple[str, str, int, TensorSharding, int, int]]:
    """Function, role, index, annotation, dimension and number of parts of each uneven dimension.

    Reads attributes only: the table of values of a large program is expensive.
    """
    for function in functions_of(program.module):
        type_ = function.function_type
        for role, key, types in (
            ("argument", "arg_attrs", type_.inputs),
            ("result", "res_attrs", type_.outputs),
        ):
            given = attribute_list_shardings(function.properties.get(key))
            for index, (annotation, of) in enumerate(zip(given, types.data, strict=False)):
                tensor = tensor_type(of)
                if annotation is None or tensor is None:
                    continue
                mesh = mesh_of(annotation, program.meshes)
                for number, size in enumerate(tensor.shape if annotation.dimensions else ()):
                    parts = total_size(annotation.dimensions[number].axes, mesh)
                    if size is not None and size % parts:
                        yield function_name(function), role, index, annotation, number, parts


def _warning(value: Value, annotation: TensorSharding, number: int, parts: int) -> Diagnostic:
    fact = f"{value.label or value}: the annotation {annotation} is not kept: dimension {number} of size "
    fact += f"{(value.shape or ())[number]} is not divisible by {parts}"
    return Diagnostic(fact, position_of(value.entry.location), "warning", remedy=_REMEDY)
