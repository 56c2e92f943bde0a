"""What XLA's dumps hold of shardings beside the ops: `mhlo.sharding`, and `xla.sdy.*` in frontend attributes.

Frontend attributes are strings that XLA carries along untouched; Shardy spells its attributes in them:

    {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\22x\\22}]>"}}

Names are those of openxla/xla, xla/service/spmd/shardy/constants.h. Not here: what the passes make of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.registry import syntax_table
from shardy_py.errors import ShardyError
from shardy_py.graph.op_errors import errors_at
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.cursor import Cursor
from shardy_py.text.source import Source

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"
XLA_SHARDING = "mhlo.sharding"
ROUND_TRIP_MESHES = "xla.sdy.meshes"
ROUND_TRIP_SHARDING = "xla.sdy.sharding"
ROUND_TRIP_RULE = "xla.sdy.sharding_rule"
IN_SHARDINGS = "xla.sdy.in_shardings"
OUT_SHARDINGS = "xla.sdy.out_shardings"
MANUAL_AXES = "xla.sdy.manual_axes"
TUPLE_ARGUMENTS = "xla.sdy.tuple_args_shardings"
TUPLE_RESULTS = "xla.sdy.tuple_results_shardings"
GROUP_ID = "xla.sdy.sharding_group_id"
ALLOWED_DIRECTION = "xla.sdy.allowed_direction"

CUSTOM_CALL = "stablehlo.custom_call"
CONTROL_FLOW = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
SHARDING_TARGET = "Sharding"
FULL_TO_SHARD = "SPMDFullToShardShape"
SHARD_TO_FULL = "SPMDShardToFullShape"
FUNCTION_RESULT_SHARDING = "xla.sdy.FuncResultSharding"
SHARDING_GROUP = "xla.sdy.ShardingGroup"
PROPAGATION_BARRIER = "xla.sdy.PropagationBarrier"
GLOBAL_TO_LOCAL = "xla.sdy.GlobalToLocalShape"
LOCAL_TO_GLOBAL = "xla.sdy.LocalToGlobalShape"
MANUAL_COMPUTATION_BODY = "xla.sdy.manual_computation_body"
COMBINE_HALVES = "X64Combine"
PYTHON_CALLBACKS = frozenset(
    {
        "xla_python_cpu_callback",
        "xla_ffi_python_cpu_callback",
        "xla_python_gpu_callback",
        "xla_ffi_python_gpu_callback",
    }
)
"""Custom calls that keep their shardings on the way through HLO."""

_PLACES = {"arg_attrs": "arg", "res_attrs": "result"}

Kind = TypeVar("Kind", bound=Attribute)
Entries = dict[str, Attribute]


def call_target(op: Operation) -> str:
    """The name that a custom call calls; "" for other ops."""
    if op.name != CUSTOM_CALL:
        return ""
    name = op.properties.get("call_target_name")
    return name.data if isinstance(name, StringAttr) else ""


def frontend_entry(attributes: Mapping[str, Attribute], name: str, kind: type[Kind]) -> Kind | None:
    """The frontend attribute of that name, read from its string; None if there is none.

    Raises a `ShardyError` if it spells something else.
    """
    frontend = attributes.get(FRONTEND_ATTRIBUTES)
    if not isinstance(frontend, DictionaryAttr) or name not in frontend.data:
        return None
    found: Attribute = frontend.data[name]
    if isinstance(found, StringAttr) and not issubclass(kind, StringAttr):
        found = spelled_attribute(found.data)
    if not isinstance(found, kind):
        raise ShardyError(f"frontend attribute '{name}' is {found}; expected {kind.name}")
    return cast(Kind, found)


def without_frontend(attributes: Mapping[str, Attribute], names: Iterable[str]) -> Entries:
    """`attributes` without the frontend attributes `names`; without their dictionary if none is left."""
    result = dict(attributes)
    frontend = result.get(FRONTEND_ATTRIBUTES)
    if isinstance(frontend, DictionaryAttr):
        dropped = set(names)
        rest = {name: value for name, value in frontend.data.items() if name not in dropped}
        if rest:
            result[FRONTEND_ATTRIBUTES] = DictionaryAttr(rest)
        else:
            del result[FRONTEND_ATTRIBUTES]
    return result


def with_frontend(attributes: Mapping[str, Attribute], entries: Mapping[str, Attribute]) -> Entries:
    """`attributes` with frontend attributes added, each spelled as a string, in the order of their names."""
    given = attributes.get(FRONTEND_ATTRIBUTES)
    all_entries: Entries = dict(given.data) if isinstance(given, DictionaryAttr) else {}
    for name, value in entries.items():
        all_entries[name] = value if isinstance(value, StringAttr) else StringAttr(attribute_text(value))
    return {**attributes, FRONTEND_ATTRIBUTES: DictionaryAttr(dict(sorted(all_entries.items())))}


@lru_cache(maxsize=4096)
def spelled_attribute(text: str) -> Attribute:
    """The attribute that a string spells; quotes in it may be escaped once more, as older dumps have them."""
    if '\\"' in text or "\\22" in text:
        text = text.replace('\\"', '"').replace("\\22", '"')
    cursor = Cursor(Source(text, "-"), syntax_table())
    try:
        found = cursor.attribute()
    except ShardyError as error:
        raise ShardyError(f"'{text}' spells no attribute: {error.diagnostics[0].message}") from error
    if cursor.token:
        raise ShardyError(f"'{text}' spells an attribute and more")
    return found


def rewrite_entries(function: Operation, rewrite: Callable[[str, int, Entries], Entries]) -> None:
    """Replace the attributes of arguments and results by what `rewrite` makes of them.

    rewrite: takes "arg_attrs" or "res_attrs", the position, and the attributes there; returns the new ones.
        What it raises gets that place, and that of the function.
    """
    type_: Any = function.properties["function_type"]
    for place, count in (("arg_attrs", len(type_.inputs.data)), ("res_attrs", len(type_.outputs.data))):
        given = function.properties.get(place)
        dictionaries = cast("ArrayAttr[DictionaryAttr]", given).data if given is not None else ()
        old = [dict(dictionary.data) for dictionary in dictionaries] or [Entries() for _ in range(count)]
        new: list[Entries] = []
        for index, entries in enumerate(old):
            with errors_at(function, f"{_PLACES[place]} {index} - "):
                new.append(rewrite(place, index, entries))
        if any(new):
            function.properties[place] = ArrayAttr([DictionaryAttr(entries) for entries in new])
        else:
            function.properties.pop(place, None)
