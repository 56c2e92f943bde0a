"""The variables of a search for shardings: arguments, results, and values that may be constrained.

Not here: what they are for (`shardy_py.search.suggest`), what shardings cost (`suggest_scoring.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp

from shardy_py.api.program import Program
from shardy_py.api.propagating import Options
from shardy_py.api.values import Value
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import dictionaries_of, of_kind
from shardy_py.passes.runner import run_passes
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.rules import rule_of
from shardy_py.search.advice import Sites, is_backward
from shardy_py.search.suggest import (
    AnnotatedTensor,
    DimensionClasses,
    DimensionLink,
    Variables,
    links_of,
    points_of,
    roles_of,
    with_results,
)
from shardy_py.search.suggest_code import OwnConstraint, path_of, place_of
from shardy_py.xla.buffers.collect import donated_arguments
from shardy_py.xla.prepare.written_by_jax import is_written_by_jax

_DONATED = "tf.aliasing_output"


def variables_of(
    program: Program, kept: Collection[str] = (), own: Sequence[OwnConstraint] = ()
) -> Variables:
    """Returns what may be annotated in a program, with its roles.

    kept: names of values that may not. own: constraints of the source on its values, which are variables.
    """
    copy = program.copy()
    before = Options().passes()
    until = next(i for i, call in enumerate(before) if call.row.propagates)
    run_passes(copy.module, before[:until], verify="never")
    flat = build_program(copy.module, rule_of)
    links = links_of(flat.flat)
    main = Symbols(copy.module).main()
    returned = flat.slots.function_results[id(main)]

    def slot_of(value: Value) -> int:
        if value.entry.value is None:
            return returned[value.entry.index]
        return flat.slots.get(copy.origin[value.entry.value])

    values = [value for value in program.values if value.function == "main" and _shape(value) is not None]
    donors = donated_arguments(main)
    arguments = [
        replace(_tensor(value, slot_of(value)), is_donated=donors[value.entry.index])
        for value in values
        if value.role == "argument"
    ]
    results = [_tensor(value, slot_of(value)) for value in values if value.role == "result"]
    inner = {slot_of(value): value for value in values if value.role == "intermediate"}
    is_jax = is_written_by_jax(program.module)
    inside = _sites(program, inner, links) if is_jax else {n: (value,) for n, value in inner.items()}
    kept = {*kept, *(value.name for each in own for value in each.values)}
    points = {
        slot: _point(found, slot_of(found[0]))
        for slot, found in inside.items()
        if slot and not any(value.name in kept for value in found)
    }
    donated = _donated(of_kind(main, FuncOp), [each.name for each in arguments], [r.name for r in results])
    number = DimensionClasses(links)
    roles = with_results(roles_of(arguments, links, number, results), number, results, donated)
    given = [_own(each, slot_of(each.values[0])) for each in own]
    return Variables(points_of(roles, links, number, points, given), links, number)


def _shape(value: Value) -> tuple[int, ...] | None:
    """The sizes of a tensor of static shape, None for others."""
    type_ = tensor_type(value.entry.type)
    if type_ is None or None in type_.shape:
        return None
    return tuple(n for n in type_.shape if n is not None)


def _tensor(value: Value, slot: int) -> AnnotatedTensor:
    type_, shape = tensor_type(value.entry.type), _shape(value)
    assert type_ is not None
    assert shape is not None
    size = tensor_size(type_, None, {}, "linear").bytes.local_bytes
    return AnnotatedTensor(value.name, value.label, path_of(value), slot, shape, type_.element, size)


def _point(values: Sequence[Value], slot: int) -> AnnotatedTensor:
    return replace(_tensor(values[0], slot), values=tuple((each.name, place_of(each)) for each in values))


def _own(each: OwnConstraint, slot: int) -> AnnotatedTensor:
    """The values that constraints of the source are on, with these as they are written."""
    written = each.constraint
    return replace(_point(each.values, slot), own=written.spec, written=written.values)


def _sites(
    program: Program, inner: Mapping[int, Value], links: Iterable[DimensionLink]
) -> dict[int, tuple[Value, ...]]:
    """By the slot of a product, the values that a constraint around its expression in Python applies to."""
    sites, found = Sites(program.values.table, program.sources), dict[int, tuple[Value, ...]]()
    for link in links:
        value = inner.get(link.slots[-1]) if link.is_product else None
        if value is None or is_backward(value.entry.location):
            continue
        site = sites.of(value.entry)
        values = () if site is None else tuple(Value(entry, program.meshes) for entry in site.values)
        if values and all(each.function == "main" and _shape(each) is not None for each in values):
            found[link.slots[-1]] = values
    return found


def _donated(main: FuncOp, arguments: list[str], results: list[str]) -> dict[int, int]:
    """By the number of a result, that of the argument in whose memory JAX puts it."""
    attributes = dictionaries_of(main, "arg_attrs")
    by_name = {name: number for number, name in enumerate(arguments)}
    places = {name: number for number, name in enumerate(results)}
    found: dict[int, int] = {}
    for position, own in enumerate(attributes):
        index = own.data.get(_DONATED)
        if isinstance(index, IntegerAttr):
            result, argument = places.get(f"result {index.value.data}"), by_name.get(f"%arg{position}")
            if result is not None and argument is not None:
                found[result] = argument
    return found
