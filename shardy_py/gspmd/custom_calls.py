"""Custom calls of XLA: reading and building them, and the shardings that GSPMD's custom calls constrain.

    @Sharding(%0) {backend_config = "unspecified_dims=[1]", sdy.sharding = ...[{"x"}, {}]...}   [{"x"}, {?}]

Not here: the names of targets (`encoding.py`), `mhlo.sharding` (`sharding/`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy import TensorShardingPerValueAttr
from shardy_py.dialects.stablehlo import CustomCallOp
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import SHARDING
from shardy_py.ir import build_operation, erase, find_ops
from shardy_py.sharding import TensorSharding

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
    attributes = {SHARDING: TensorShardingPerValueAttr((sharding,))}
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
    if not isinstance(given, TensorShardingPerValueAttr) or not given.data:
        return None
    sharding = given.data[0]
    config = call.properties.get(_BACKEND_CONFIG) or call.attributes.get(_BACKEND_CONFIG)
    found = _UNSPECIFIED.search(config.data) if isinstance(config, StringAttr) else None
    opened = frozenset(map(int, re.findall(r"\d+", found.group(1)))) if found else ()
    if not opened or not sharding.dimensions:
        return sharding
    if max(opened) >= sharding.rank:
        raise ShardyError.unexpected(
            "unspecified_dims", expected=f"dimensions below {sharding.rank}", got=str(max(opened))
        )
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
