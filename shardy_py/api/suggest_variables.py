"""The variables of a search for shardings: arguments, results, and values that may be constrained.

Not here: what they are for (`shardy_py.suggest`), what shardings cost (`suggest_scoring.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr
from xdsl.dialects.func import FuncOp

from shardy_py.api.program import Program
from shardy_py.api.propagate import Options
from shardy_py.api.suggest_code import path_of
from shardy_py.api.values import Value
from shardy_py.graph.build import build_program
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.symbols import Symbols
from shardy_py.passes.propagating import rule_deriver
from shardy_py.passes.runner import run_passes
from shardy_py.report.sizes import tensor_size
from shardy_py.suggest import (
    Numbering,
    Tensor,
    Variables,
    links_of,
    points_of,
    roles_of,
    with_results,
)

_DONATED = "tf.aliasing_output"


def variables_of(program: Program, kept: Collection[str] = ()) -> Variables:
    """Returns what may be annotated in a program, with its roles; `kept`: names of values that may not."""
    copy = program.copy()
    before = Options().passes()
    until = next(i for i, call in enumerate(before) if call.row.propagates)
    run_passes(copy.module, before[:until], verify="never")
    flat = build_program(copy.module, rule_deriver())
    links = links_of(flat.flat)
    main = Symbols(copy.module).main()
    returned = flat.slots.function_results[id(main)]

    def slot_of(value: Value) -> int:
        if value.entry.value is None:
            return returned[value.entry.index]
        return flat.slots.get(copy.origin[value.entry.value])

    values = [value for value in program.values if value.function == "main" and _shape(value) is not None]
    arguments = [_tensor(value, slot_of(value)) for value in values if value.role == "argument"]
    results = [_tensor(value, slot_of(value)) for value in values if value.role == "result"]
    inside = {
        slot: _tensor(value, slot, is_inside=True)
        for value in values
        if value.role == "intermediate" and value.name not in kept and (slot := slot_of(value))
    }
    donated = _donated(cast("FuncOp", main), [each.name for each in arguments], [r.name for r in results])
    number = Numbering(links)
    roles = with_results(roles_of(arguments, links, number), number, results, donated)
    return Variables(points_of(roles, links, number, inside), links, number)


def _shape(value: Value) -> tuple[int, ...] | None:
    """The sizes of a tensor of static shape, None for others."""
    type_ = tensor_type(value.entry.type)
    if type_ is None or None in type_.shape:
        return None
    return tuple(n for n in type_.shape if n is not None)


def _tensor(value: Value, slot: int, *, is_inside: bool = False) -> Tensor:
    type_, shape = tensor_type(value.entry.type), _shape(value)
    assert type_ is not None
    assert shape is not None
    size = tensor_size(type_, None, {}, "linear").bytes.local_bytes
    listed = ((value.name, value.location),) if is_inside else ()
    return Tensor(value.name, value.label, path_of(value), slot, shape, type_.element, size, listed)


def _donated(main: FuncOp, arguments: list[str], results: list[str]) -> dict[int, int]:
    """By the number of a result, that of the argument in whose memory JAX puts it."""
    attributes = cast("ArrayAttr[DictionaryAttr] | None", main.properties.get("arg_attrs"))
    by_name = {name: number for number, name in enumerate(arguments)}
    places = {name: number for number, name in enumerate(results)}
    found: dict[int, int] = {}
    for position, own in enumerate(attributes or ()):
        index = own.data.get(_DONATED)
        if isinstance(index, IntegerAttr):
            result, argument = places.get(f"result {index.value.data}"), by_name.get(f"%arg{position}")
            if result is not None and argument is not None:
                found[result] = argument
    return found
