"""The facts about the values of a text after propagation, by their definitions; as hovers and inlay hints.

A definition is known by function, name and number (`names.NameDefinition.key`), so that facts of the last
valid text are shown while the next one is typed. Not here: how a text is propagated (`analysis.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from shardy_py.api import Result, Sharding, Value
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.lsp.names import NameDefinition, NameIndex
from shardy_py.mlir.ir import keep_file_name
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.value_table import ValueTable
from shardy_py.report.tables import type_text

Key = tuple[str, str, int]
_SEPARATOR = "\n"
"""Between the parts of a key in a name; no name in a file has it."""
_LINES = 14
"""Lines of an explanation that a hover has."""


@dataclass(frozen=True, slots=True)
class ValueFact:
    """A value after propagation.

    type: as in MLIR. local_type: of the part on each device; "" if it is the same, or there is none.
    sharding: "" if it has none. is_given: whether the text has just that sharding. op: that defines it.
    """

    type: str
    local_type: str
    sharding: str
    is_given: bool
    op: str
    value: Value


def name_by_definition(module: ModuleOp) -> None:
    """Gives the values of a module that was just read, instead of the names in the file, their keys.

    So they are known after functions are inlined, where names of several functions meet.
    """
    counts: dict[tuple[str, str], dict[object, int]] = {}
    for entry in ValueTable(module).entries:
        name = entry.file_name
        if entry.value is not None and name:
            # Regions of one op have the same names in the text, as `while(%i = %init)`.
            place = entry.op if isinstance(entry.value, BlockArgument) else entry
            numbers = counts.setdefault((entry.function, name), {})
            number = numbers.setdefault(place, len(numbers))
            keep_file_name(entry.value, _SEPARATOR.join((entry.function, name, str(number))))


def key_of(file_name: str) -> Key | None:
    """Returns the key that a value was given as its name in the file; None if it is another name."""
    parts = file_name.split(_SEPARATOR)
    return (parts[0], parts[1], int(parts[2])) if len(parts) == 3 else None


def facts_of(result: Result) -> dict[Key, ValueFact]:
    """Returns the facts about the values of a result that have names in its text."""
    given: dict[Key, Sharding | None] = {}
    for value in result.source.values:
        for key in _keys(value):
            given.setdefault(key, value.sharding)
    found: dict[Key, ValueFact] = {}
    for value in (*result.values, *result.source.values):  # of the source those that passes erase
        for key in _keys(value):
            if key not in found:
                is_given = value.sharding is not None and given.get(key) == value.sharding
                found[key] = _fact(value, is_given=is_given)
    return found


def _keys(value: Value) -> Iterator[Key]:
    for name in value.entry.file_names:
        if (key := key_of(name)) is not None:
            yield key


def _fact(value: Value, *, is_given: bool) -> ValueFact:
    sharding, shape, local = value.sharding, value.shape, value.local_shape
    is_split = sharding is not None and local is not None and local != shape
    local_type = f"tensor<{type_text(local, value.element_type or '')}>" if is_split and local else ""
    text = "" if sharding is None else str(sharding.value)
    type_ = attribute_text(value.entry.type)
    return ValueFact(type_, local_type, text, is_given, value.op_name, value)


def facts_at(facts: Mapping[Key, ValueFact], definition: NameDefinition) -> list[tuple[str, ValueFact]]:
    """Returns what is known about a definition: of `%0:2`, about each of its values, with its name."""
    if (single := facts.get(definition.key)) is not None:
        return [(definition.name, single)]
    function, name, ordinal = definition.key
    found: list[tuple[str, ValueFact]] = []
    while (fact := facts.get((function, f"{name}#{len(found)}", ordinal))) is not None:
        found.append((f"{name}#{len(found)}", fact))
    return found


def hint_text(facts: Iterable[tuple[str, ValueFact]]) -> str:
    """Returns the shardings of a definition as an inlay hint; "" if there is nothing to be added to the text.

    >>> hint_text([])
    ''
    """
    listed = [fact for _, fact in facts]
    if all(fact.is_given or not fact.sharding for fact in listed):
        return ""
    return ", ".join(_dimensions(fact.sharding) for fact in listed)


def _dimensions(sharding: str) -> str:
    """A sharding without the name of its mesh: of the only one, in most programs."""
    _, comma, dimensions = sharding.removesuffix(">").partition(", ")
    return dimensions if comma else sharding or "-"


def hover_text(name: str, fact: ValueFact, why: str) -> str:
    """Returns what a hover says about a value, in Markdown; why: its explanation, "" if there is none yet."""
    lines = [f"`{name}` = `{fact.op}`" if fact.op != FuncOp.name else f"`{name}`, an argument"]
    lines.append(f"- type `{fact.type}`")
    lines += [f"- on each device `{fact.local_type}`"] if fact.local_type else []
    lines.append(f"- sharding `{fact.sharding}`" if fact.sharding else "- no sharding")
    text = "\n".join(lines)
    return f"{text}\n\n```text\n{why}\n```" if why else text


def why_text(result: Result, value: Value) -> str:
    """Returns the explanation of a value, shortened; "" without one."""
    try:
        lines = str(result.explain(value)).splitlines()
    except ShardyError as error:
        return str(error)
    more = [f"... {len(lines) - _LINES} more lines"] if len(lines) > _LINES else []
    return "\n".join((*lines[:_LINES], *more))


def definition_of(index: NameIndex, file_name: str) -> NameDefinition | None:
    """Returns the definition of a value by its key as a name; of `%0#1`, that of `%0:2`."""
    key = key_of(file_name)
    if key is None:
        return None
    function, name, number = key
    return index.by_key.get(key) or index.by_key.get((function, name.partition("#")[0], number))
