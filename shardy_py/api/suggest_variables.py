"""The variables of a search for shardings: the arguments of @main, and values inside that may be constrained.

Not here: what they are for (`shardy_py.suggest`), what shardings cost (`suggest_scoring.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from shardy_py.api.program import Program
from shardy_py.api.propagate import Options
from shardy_py.api.values import Value
from shardy_py.graph.build import build_program
from shardy_py.graph.plain import tensor_type
from shardy_py.passes.propagating import rule_deriver
from shardy_py.passes.runner import run_passes
from shardy_py.report.sizes import tensor_size
from shardy_py.suggest import Numbering, Tensor, Variables, links_of, points_of, roles_of

_NUMBER = re.compile(r"(?<=[\[_./])\d+|(?<=[a-z])\d+(?=[\].'/])")


def variables_of(program: Program) -> Variables:
    """Returns what may be annotated in a program, with its roles."""
    copy = program.copy()
    before = Options().passes()
    until = next(i for i, call in enumerate(before) if call.row.propagates)
    run_passes(copy.module, before[:until], verify="never")
    flat = build_program(copy.module, rule_deriver())
    links = links_of(flat.flat)

    def slot_of(value: Value) -> int:
        return 0 if value.entry.value is None else flat.slots.get(copy.origin[value.entry.value])

    tensors = list(_tensors(program, slot_of))
    arguments = [each for each in tensors if not each.values]
    inside = {each.slot: each for each in tensors if each.values and each.slot}
    number = Numbering(links)
    roles = points_of(roles_of(arguments, links, number), links, number, inside)
    return Variables(roles, links, number)


def _tensors(program: Program, slot_of: Callable[[Value], int]) -> Iterator[Tensor]:
    for value in program.values:
        if value.function != "main" or value.role == "result":
            continue
        type_ = tensor_type(value.entry.type)
        if type_ is None or None in type_.shape:
            continue
        size = tensor_size(type_, None, {}, "linear").bytes.local_bytes
        shape = tuple(n for n in type_.shape if n is not None)
        path = _NUMBER.sub("*", value.label) if value.label else value.name
        is_inside = value.role == "intermediate"
        listed = ((value.name, value.location),) if is_inside else ()
        yield Tensor(value.name, path, slot_of(value), shape, type_.element, size, listed)
