"""Debug attributes of propagation: the origins of axes, and the edges along which they propagated.

    sdy.sharding_origins      {a = "input: 0", b = "self"}; on most ops a list with one dictionary per result
    sdy.propagation_edges     #sdy.propagation_edges<[{step-0 = [{"a" = operand-0 -> [result-0]}]}]>
    sdy.sharding_origin_name  the name of a constraint or manual computation: "constraint_0", "mc_0"

Data-flow edges hold the notes of their targets, until `sink_notes` moves them to the owners. Not here: what
they say (`passes/debug_trail.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import ManualComputationOp, ShardingConstraintOp
from shardy_py.graph.calls import is_defined_function
from shardy_py.graph.data_flow import EDGE_NAME, argument_owners, edge_of_target
from shardy_py.graph.holders import Holder, Place, read
from shardy_py.graph.value_shardings import sharding_of
from shardy_py.ir import next_use, operands_of, owning_op, terminator_of, walk_post_order, walk_pre_order
from shardy_py.sharding import TensorSharding

ORIGINS = "sdy.sharding_origins"
EDGES = "sdy.propagation_edges"
ORIGIN_NAME = "sdy.sharding_origin_name"
ARGUMENT_PREFIX, RESULT_PREFIX = "block_arg_", "result_"

NOTES = tuple(
    name.replace(".", f".{prefix}")
    for prefix in ("", ARGUMENT_PREFIX, RESULT_PREFIX)
    for name in (EDGES, ORIGINS)
)
"""The attributes, except the names of origins."""

SELF = "self"
CONSTRAINT, MANUAL = ShardingConstraintOp.name, ManualComputationOp.name

Origin = tuple[SSAValue, TensorSharding, str]
"""A value, its sharding by the user, and the name of that as an origin."""


def user_origins(module: ModuleOp) -> Iterator[Origin]:
    """The shardings of the user, in order of precedence; names constraints and manual computations.

    They are also the origins of shardings of the input of a constraint and operands of a manual computation.
    """
    count = {CONSTRAINT: 0, MANUAL: 0}
    found: dict[str, list[Operation]] = {CONSTRAINT: [], MANUAL: []}
    for op in walk_post_order(module):
        if op.name in found:
            found[op.name].append(op)
    for op in found[CONSTRAINT]:
        name = _name_op(op, f"constraint_{count[CONSTRAINT]}")
        count[CONSTRAINT] += 1
        yield from _existing((op.results[0], operands_of(op)[0]), name)
    for op in found[MANUAL]:
        name = _name_op(op, f"mc_{count[MANUAL]}")
        count[MANUAL] += 1
        yield from _border_origins(op, name)
    for op in module.body.block.ops:
        if is_defined_function(op):
            yield from _function_origins(op)


def _name_op(op: Operation, name: str) -> str:
    op.attributes[ORIGIN_NAME] = StringAttr(name)
    return name


def _existing(values: Iterable[SSAValue], name: str) -> Iterator[Origin]:
    for value in values:
        sharding = sharding_of(value)
        if sharding is not None:
            yield value, sharding, name


def _border_origins(computation: Operation, name: str) -> Iterator[Origin]:
    given: tuple[TensorSharding, ...] = cast(Any, computation.properties["in_shardings"]).data
    for index, argument in enumerate(argument_owners(computation)):
        yield argument, given[index], border_name(name, argument)
        yield from _existing((operands_of(computation)[index],), border_name(name, argument))
    given = cast(Any, computation.properties["out_shardings"]).data
    for result, sharding in zip(computation.results, given, strict=True):
        yield result, sharding, border_name(name, result)


def border_name(name: str, owner: SSAValue) -> str:
    """The name of an in- or out-sharding of the manual computation `name`."""
    side = "input" if isinstance(owner, BlockArgument) else "output"
    return f"{name}_{side}: {cast(Any, owner).index}"


def _function_origins(function: Operation) -> Iterator[Origin]:
    for argument in function.regions[0].blocks[0].args:
        yield from _existing((argument,), f"input: {argument.index}")
    terminator = terminator_of(function.regions[0])
    for index, value in enumerate(operands_of(terminator) if terminator is not None else ()):
        sharding = read(Holder(Place.FUNCTION_RESULT, function, index))
        if sharding is not None:
            yield value, sharding, f"output: {index}"


# ---------------------------------------------------------------------- writing


def write_origins(value: SSAValue, names: Mapping[str, str]) -> None:
    """Write the origins of a value, by the text of its axes; also to the function result that returns it."""
    op = owning_op(value)
    function = op if op is None else _function_around(op)
    if op is None or function is None:
        return
    note = _dictionary(names)
    index = _returned_as(value, function)
    if index is not None:
        set_value_note(function, "res_attrs", index, ORIGINS, note)
    if op is function:
        set_value_note(function, "arg_attrs", cast(Any, value).index, ORIGINS, note)
    elif op.name in (CONSTRAINT, EDGE_NAME):
        op.attributes[ORIGINS] = note
    elif isinstance(value, OpResult):
        old = op.attributes.get(ORIGINS)
        notes = (
            list(cast("ArrayAttr[Attribute]", old).data) if old else [DictionaryAttr({})] * len(op.results)
        )
        notes[value.index] = note
        op.attributes[ORIGINS] = ArrayAttr(notes)


def call_own_origins_self(module: ModuleOp) -> None:
    """Replace an origin by "self" where it is the sharding beside the attribute."""
    for op in walk_pre_order(module):
        if op.name == CONSTRAINT:
            _rename(op, op.attributes.get(ORIGIN_NAME))
        elif op.name == MANUAL:
            name = cast(StringAttr, op.attributes[ORIGIN_NAME]).data
            for owner in (*argument_owners(op), *op.results):
                edge = edge_of_target(owner)
                if edge is not None:
                    _rename(edge, StringAttr(border_name(name, owner)))
        elif op.name == FuncOp.name:
            for place, kind in (("arg_attrs", "input"), ("res_attrs", "output")):
                for index, entries in enumerate(_value_attributes(op, place)):
                    if ORIGINS in entries.data:
                        note = _with_self(entries.data[ORIGINS], StringAttr(f"{kind}: {index}"))
                        set_value_note(op, place, index, ORIGINS, note)


def sink_notes(op: Operation, *names: str) -> None:
    """Move the notes `names` of its edges to an op; edges without a note are left out."""
    for prefix, owners in ((ARGUMENT_PREFIX, argument_owners(op)), (RESULT_PREFIX, op.results)):
        edges = [edge for edge in map(edge_of_target, owners) if edge is not None]
        for name in names:
            notes = [edge.attributes[name] for edge in edges if name in edge.attributes]
            op.attributes[name.replace(".", f".{prefix}")] = ArrayAttr(notes)


def set_value_note(function: Operation, place: str, index: int, name: str, note: Attribute) -> None:
    """Sets an attribute of an argument (`arg_attrs`) or result (`res_attrs`) of a function."""
    entries = list(_value_attributes(function, place))
    entries[index] = DictionaryAttr(dict(sorted({**entries[index].data, name: note}.items())))
    function.properties[place] = ArrayAttr(entries)


def _value_attributes(function: Operation, place: str) -> tuple[DictionaryAttr, ...]:
    given = function.properties.get(place)
    if given is not None:
        return cast("ArrayAttr[DictionaryAttr]", given).data
    type_ = cast(Any, function.properties["function_type"])
    return (DictionaryAttr({}),) * len(type_.inputs if place == "arg_attrs" else type_.outputs)


def _dictionary(names: Mapping[str, str]) -> DictionaryAttr:
    return DictionaryAttr({axis: StringAttr(name) for axis, name in sorted(names.items())})


def _rename(op: Operation, own: Attribute | None) -> None:
    if ORIGINS in op.attributes:
        op.attributes[ORIGINS] = _with_self(op.attributes[ORIGINS], own)


def _with_self(note: Attribute, own: Attribute | None) -> DictionaryAttr:
    entries = cast(DictionaryAttr, note).data
    return DictionaryAttr({axis: StringAttr(SELF) if name == own else name for axis, name in entries.items()})


def _function_around(op: Operation) -> Operation | None:
    around: Operation | None = op
    while around is not None and around.name != FuncOp.name:
        around = around.parent_op()
    return around


def _returned_as(value: SSAValue, function: Operation) -> int | None:
    """The index of the function result that returns `value`, the newest use if there are several."""
    terminator = terminator_of(function.regions[0])
    use = value.first_use
    while use is not None:
        if use.operation is terminator:
            return use.index
        use = next_use(use)
    return None
