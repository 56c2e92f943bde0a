"""The shardings that GSPMD's custom calls demand, with the dimensions that they leave open.

    @Sharding(%0) {backend_config = "unspecified_dims=[1]", sdy.sharding = ...[{"x"}, {}]...}   [{"x"}, {?}]

Not here: reading `mhlo.sharding` (`passes/xla_sdy_import_shardings.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.dialects.sdy import TensorShardingPerValueAttr
from shardy_py.dialects.stablehlo import op_class
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import SHARDING
from shardy_py.gspmd.frontend_attributes import SHARDING_TARGET
from shardy_py.ir import build_operation
from shardy_py.sharding import TensorSharding

_BACKEND_CONFIG = "backend_config"
_UNSPECIFIED = re.compile(r"unspecified_dims=\[([0-9,\s]*)\]")


def constraint_sharding(call: Operation) -> TensorSharding | None:
    """The sharding of the result of a custom call, open where its backend config leaves a dimension free.

    None: it has none.
    """
    given = call.attributes.get(SHARDING)
    if not isinstance(given, TensorShardingPerValueAttr) or not given.data:
        return None
    sharding = given.data[0]
    opened = unspecified_dims(call)
    if not opened or not sharding.dimensions:
        return sharding
    if max(opened) >= sharding.rank:
        raise ShardyError(f"leaves dimension {max(opened)} unspecified; its sharding has {sharding.rank}")
    dimensions = tuple(
        replace(dimension, is_closed=False) if index in opened else dimension
        for index, dimension in enumerate(sharding.dimensions)
    )
    return replace(sharding, dimensions=dimensions)


def sharding_call(
    target: str, value: SSAValue, type_: Attribute, sharding: TensorSharding, location: Attribute
) -> Operation:
    """A custom call of `target` that demands `sharding` of its result, which stands nowhere yet."""
    made = plain_sharding_call(value, type_, sharding, location)
    made.properties["call_target_name"] = StringAttr(target)
    opened = [index for index, dimension in enumerate(sharding.dimensions) if not dimension.is_closed]
    if opened:
        config = f"unspecified_dims=[{','.join(map(str, opened))}]"
        made.properties[_BACKEND_CONFIG] = StringAttr(config)
    return made


def plain_sharding_call(
    value: SSAValue, type_: Attribute, sharding: TensorSharding, location: Attribute
) -> Operation:
    """A @Sharding whose attribute of sdy says which dimensions are open, which stands nowhere yet."""
    properties: dict[str, Attribute] = {"call_target_name": StringAttr(SHARDING_TARGET)}
    attributes: dict[str, Attribute] = {SHARDING: TensorShardingPerValueAttr((sharding,))}
    return build_operation(op_class("custom_call"), (value,), (type_,), properties, attributes, location)


def unspecified_dims(call: Operation) -> frozenset[int]:
    """The dimensions that a custom call leaves to propagation."""
    config = call.properties.get(_BACKEND_CONFIG) or call.attributes.get(_BACKEND_CONFIG)
    found = _UNSPECIFIED.search(config.data) if isinstance(config, StringAttr) else None
    return frozenset(map(int, re.findall(r"\d+", found.group(1)))) if found else frozenset()
