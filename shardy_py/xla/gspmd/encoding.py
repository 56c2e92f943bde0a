"""The encoding of sdy in XLA's HLO: names of custom calls, and frontend attributes for sdy's attributes.

Frontend attributes are strings that XLA preserves without interpreting them:

    {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\\22x\\22}]>"}}

| sdy | in HLO |
|---|---|
| meshes | `xla.sdy.meshes` of the module |
| sharding of an argument or op | `xla.sdy.sharding` |
| sharding of a function result | @xla.sdy.FuncResultSharding with `xla.sdy.sharding` |
| sharding rule | `xla.sdy.sharding_rule` |
| op of `ENCODED_OPS` | its custom call, with one property as a frontend attribute |
| `sdy.manual_computation` | a call between the custom calls of `BODY_BORDERS` |

GSPMD's own encoding has shardings in `mhlo.sharding` (`sharding/`) and a call between custom calls as well
(`shard_maps.py`). Names: openxla/xla, xla/service/spmd/shardy/constants.h.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.registry import syntax_table
from shardy_py.mlir.dialects.sdy.syntax import PROPAGATION_DIRECTIONS
from shardy_py.mlir.dialects.stablehlo import CustomCallOp
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import build_operation, erase, find_ops
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.source import Source
from shardy_py.mlir.typed import dictionaries_in
from shardy_py.ops import TABLE, Control
from shardy_py.sharding import TensorSharding

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"
XLA_SHARDING = "mhlo.sharding"
INLINEABLE = "inlineable"
"""The frontend attribute of a call that XLA's inliner respects; "false": the call stays."""

SHARDING_TARGET = "Sharding"
FULL_TO_SHARD = "SPMDFullToShardShape"
SHARD_TO_FULL = "SPMDShardToFullShape"
FUNCTION_RESULT_SHARDING = "xla.sdy.FuncResultSharding"
GLOBAL_TO_LOCAL = "xla.sdy.GlobalToLocalShape"
LOCAL_TO_GLOBAL = "xla.sdy.LocalToGlobalShape"
MANUAL_COMPUTATION_BODY = "xla.sdy.manual_computation_body"

_PLACES = {"arg_attrs": "arg", "res_attrs": "result"}

Kind = TypeVar("Kind", bound=Attribute)
Entries = dict[str, Attribute]
"""Attributes by name."""


@dataclass(frozen=True, slots=True)
class FrontendAttribute(Generic[Kind]):
    """A frontend attribute: its name, and the class of the attribute that its string spells."""

    name: str
    kind: type[Kind]

    def read(self, attributes: Mapping[str, Attribute]) -> Kind | None:
        """Its value in `attributes`, the attributes of an op or argument; None if it is missing.

        Raises:
            ShardyError: the string spells an attribute of another class.
        """
        frontend = attributes.get(FRONTEND_ATTRIBUTES)
        if not isinstance(frontend, DictionaryAttr) or self.name not in frontend.data:
            return None
        found: Attribute = frontend.data[self.name]
        if isinstance(found, StringAttr) and not issubclass(self.kind, StringAttr):
            found = spelled_attribute(found.data)
        if not isinstance(found, self.kind):
            raise ShardyError.unexpected(
                f"frontend attribute '{self.name}'", expected=self.kind.name, got=str(found)
            )
        return cast(Kind, found)


MESHES = FrontendAttribute("xla.sdy.meshes", DictionaryAttr)
VALUE_SHARDING = FrontendAttribute("xla.sdy.sharding", sdy.TensorShardingAttr)
RESULT_SHARDINGS = FrontendAttribute("xla.sdy.sharding", sdy.TensorShardingPerValueAttr)
SHARDING_RULE = FrontendAttribute("xla.sdy.sharding_rule", sdy.OpShardingRuleAttr)
IN_SHARDINGS = FrontendAttribute("xla.sdy.in_shardings", sdy.TensorShardingPerValueAttr)
OUT_SHARDINGS = FrontendAttribute("xla.sdy.out_shardings", sdy.TensorShardingPerValueAttr)
MANUAL_AXES = FrontendAttribute("xla.sdy.manual_axes", sdy.ManualAxesAttr)
TUPLE_ARGUMENTS = FrontendAttribute("xla.sdy.tuple_args_shardings", sdy.TensorShardingPerValueAttr)
TUPLE_RESULTS = FrontendAttribute("xla.sdy.tuple_results_shardings", sdy.TensorShardingPerValueAttr)

MANUAL_MARK = MANUAL_AXES.name
"""The attribute that marks, between two passes, along which axes an op or argument is manual."""

BODY_BORDERS = {
    GLOBAL_TO_LOCAL: {IN_SHARDINGS: "in_shardings", MANUAL_AXES: "manual_axes"},
    LOCAL_TO_GLOBAL: {OUT_SHARDINGS: "out_shardings", MANUAL_AXES: "manual_axes"},
}
"""The custom calls before and after the body of a manual computation: which has which of its properties."""


@dataclass(frozen=True, slots=True)
class EncodedOp:
    """An op of sdy that becomes a custom call with the same operands and results.

    property: the property of the op that becomes `entry`.
    decode: returns the property that an entry spells, None if it spells none.
    missing: the error without a valid entry, as Shardy has it.
    has_result: whether the op has a result.
    """

    op_class: type[Operation]
    target: str
    property: str
    entry: FrontendAttribute[Any]
    decode: Callable[[Any], Attribute | None]
    missing: str
    has_result: bool = True


def _direction(given: StringAttr) -> Attribute | None:
    """The direction that a barrier allows, by number (`1 : i32`) or by name in capital letters."""
    spelled = re.fullmatch(r"(\d+) : i32|(?:.*\W)?([A-Z]+)\W*", given.data)
    for number, name in enumerate(PROPAGATION_DIRECTIONS):
        if spelled is not None and (spelled[1] == str(number) or spelled[2] == name):
            return IntegerAttr(number, i32)
    return None


ENCODED_OPS = (
    EncodedOp(
        sdy.ShardingGroupOp,
        "xla.sdy.ShardingGroup",
        "group_id",
        FrontendAttribute("xla.sdy.sharding_group_id", IntegerAttr),
        lambda given: IntegerAttr(given.value.data, i64),
        "expected CustomCallOp with a sharding group id.",
        has_result=False,
    ),
    EncodedOp(
        sdy.PropagationBarrierOp,
        "xla.sdy.PropagationBarrier",
        "allowed_direction",
        FrontendAttribute("xla.sdy.allowed_direction", StringAttr),
        _direction,
        "expected PropagationBarrier CustomCall Op with a propagation direction.",
    ),
)


def without_frontend(
    attributes: Mapping[str, Attribute], dropped: Iterable[FrontendAttribute[Any]]
) -> Entries:
    """Returns `attributes` without some frontend attributes, and without an empty dictionary of them."""
    result = dict(attributes)
    frontend = result.get(FRONTEND_ATTRIBUTES)
    if isinstance(frontend, DictionaryAttr):
        names = {entry.name for entry in dropped}
        rest = {name: value for name, value in frontend.data.items() if name not in names}
        if rest:
            result[FRONTEND_ATTRIBUTES] = DictionaryAttr(rest)
        else:
            del result[FRONTEND_ATTRIBUTES]
    return result


def with_frontend(attributes: Mapping[str, Attribute], entries: Mapping[str, Attribute]) -> Entries:
    """Returns `attributes` with frontend attributes added as strings, all in the order of their names."""
    given = attributes.get(FRONTEND_ATTRIBUTES)
    all_entries: Entries = dict(given.data) if isinstance(given, DictionaryAttr) else {}
    for name, value in entries.items():
        all_entries[name] = value if isinstance(value, StringAttr) else StringAttr(attribute_text(value))
    return {**attributes, FRONTEND_ATTRIBUTES: DictionaryAttr(dict(sorted(all_entries.items())))}


@SESSION.cache(4096)
def spelled_attribute(text: str) -> Attribute:
    """The attribute that a string spells; its quotes may be escaped twice, as in older dumps."""
    if '\\"' in text or "\\22" in text:
        text = text.replace('\\"', '"').replace("\\22", '"')
    cursor = Cursor(Source(text, "-"), syntax_table())
    try:
        with deep_stack():
            found = cursor.attribute()
    except ShardyError as error:
        raise ShardyError(f"invalid attribute '{text}': {error.first.message}") from error
    if cursor.token:
        raise ShardyError.unexpected(f"invalid attribute '{text}'", expected="its end", got=cursor.token)
    return found


def is_control_flow(op: Operation) -> bool:
    """Returns whether `op` is a loop or branches, which GSPMD expects to have a sharding."""
    return TABLE[op.name].control in (Control.LOOP, Control.BRANCHES)


def rewrite_entries(function: Operation, rewrite: Callable[[str, int, Entries], Entries]) -> None:
    """Replaces the attributes of the arguments and results of a function by what `rewrite` returns.

    rewrite: takes "arg_attrs" or "res_attrs", the position, and a copy of the attributes there. Its errors
        are reported at that argument or result.
    """
    type_: Any = function.properties["function_type"]
    for place, count in (("arg_attrs", len(type_.inputs.data)), ("res_attrs", len(type_.outputs.data))):
        given = function.properties.get(place)
        dictionaries = dictionaries_in(given) if given is not None else ()
        old = [dict(dictionary.data) for dictionary in dictionaries] or [Entries() for _ in range(count)]
        new: list[Entries] = []
        for index, entries in enumerate(old):
            with errors_at(function, f"{_PLACES[place]} {index} - "):
                new.append(rewrite(place, index, entries))
        if any(new):
            function.properties[place] = ArrayAttr([DictionaryAttr(entries) for entries in new])
        else:
            function.properties.pop(place, None)


_BACKEND_CONFIG = "backend_config"
_UNSPECIFIED = re.compile(r"unspecified_dims=\[([0-9,\s]*)\]")


def call_target(op: Operation) -> str:
    """The name of the target that a custom call calls; "" for other ops."""
    if op.name != CustomCallOp.name:
        return ""
    name = op.properties.get("call_target_name")
    return name.data if isinstance(name, StringAttr) else ""


def calls_of(module: Operation, targets: Container[str]) -> list[Operation]:
    """The custom calls of these targets in a module, in program order."""
    return [op for op in find_ops(module, CustomCallOp.name) if call_target(op) in targets]


def custom_call(
    target: str,
    operands: Sequence[SSAValue],
    types: Sequence[Attribute],
    attributes: Mapping[str, Attribute],
    location: Attribute,
    *,
    has_side_effect: bool = True,
) -> Operation:
    """Returns a new custom call of `target`, in no block."""
    properties: dict[str, Attribute] = {"call_target_name": StringAttr(target)}
    if has_side_effect:
        properties["has_side_effect"] = IntegerAttr(1, i1)
    return build_operation(CustomCallOp, operands, types, properties, dict(attributes), location)


def sharding_call(
    target: str,
    value: SSAValue,
    type_: Attribute,
    sharding: TensorSharding,
    location: Attribute,
    *,
    lists_open: bool = True,
) -> Operation:
    """Returns a new custom call of `target` that constrains the sharding of its result, in no block.

    lists_open: whether its backend config lists the open dimensions, as GSPMD expects.
    """
    attributes = {SHARDING: sdy.TensorShardingPerValueAttr((sharding,))}
    call = custom_call(target, (value,), (type_,), attributes, location, has_side_effect=False)
    opened = [index for index, dimension in enumerate(sharding.dimensions) if not dimension.is_closed]
    if opened and lists_open:
        config = f"unspecified_dims=[{','.join(map(str, opened))}]"
        call.properties[_BACKEND_CONFIG] = StringAttr(config)
    return call


def constraint_sharding(call: Operation) -> TensorSharding | None:
    """The sharding of the result of a custom call, open in the dimensions that its backend config lists.

    None if it has none.
    """
    given = call.attributes.get(SHARDING)
    if not isinstance(given, sdy.TensorShardingPerValueAttr) or not given.data:
        return None
    sharding = given.data[0]
    config = call.properties.get(_BACKEND_CONFIG) or call.attributes.get(_BACKEND_CONFIG)
    found = _UNSPECIFIED.search(config.data) if isinstance(config, StringAttr) else None
    words = re.findall(r"[0-9]+", found.group(1)) if found else ()
    if not words or not sharding.dimensions:
        return sharding
    known = {str(dimension): dimension for dimension in range(sharding.rank)}
    wrong = next((word for word in words if word not in known), None)
    if wrong is not None:
        expected = f"dimensions below {sharding.rank}"
        raise ShardyError.unexpected("unspecified_dims", expected=expected, got=wrong[:40])
    opened = {known[word] for word in words}
    dimensions = tuple(
        replace(dimension, is_closed=False) if index in opened else dimension
        for index, dimension in enumerate(sharding.dimensions)
    )
    return replace(sharding, dimensions=dimensions)


def users(value: SSAValue) -> list[Operation]:
    """The op of each use of `value`."""
    return [use.operation for use in value.uses]


def producer(value: SSAValue, target: str) -> Operation | None:
    """The custom call of `target` that defines `value`; None if it is defined otherwise."""
    op = value.op if isinstance(value, OpResult) else None
    return op if op is not None and call_target(op) == target else None


def erase_unused(ops: Iterable[Operation]) -> None:
    """Erases those of `ops` without users, and those that become unused by that."""
    pending = [op for op in dict.fromkeys(ops) if op.parent is not None]
    while dead := [op for op in pending if not any(result.first_use for result in op.results)]:
        for op in dead:
            erase(op)
        pending = [op for op in pending if op not in dead]
