"""Ops of other dialects than StableHLO: CHLO, sdy, registered dialects of users.

    emit_other("mine.weigh_rows", matrix, weights, results=tensor((8,)))

Nothing is inferred: the class declares the attributes, the caller gives the result types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdsl.ir import Attribute, OpResult, Region, SSAValue

from shardy_py.builder.emit import Types, require, result_types
from shardy_py.builder.insertion import caller_location, insert
from shardy_py.dialects import syntax_table
from shardy_py.dialects.encoding import plain_attribute
from shardy_py.dialects.verification.declared import check_declared
from shardy_py.errors import ShardyError
from shardy_py.ir import build_operation


def emit_other(
    op_name: str,
    *operands: SSAValue,
    results: Types = None,
    regions: Iterable[Region] = (),
    **attributes: Any,
) -> tuple[OpResult, ...]:
    """Inserts an op of any registered dialect by its full name; as `emit_op`, with the results given.

    Its verifier runs when the whole program is built. Raises `ShardyError` for an unknown op, and for
    attributes that its class does not declare.
    """
    syntax = syntax_table().op(op_name)
    definition: Any = getattr(syntax.op_class, "get_irdl_definition", lambda: None)() if syntax else None
    if syntax is None or definition is None:
        raise ShardyError(
            f"unknown op '{op_name}'; register its dialect with shardy_py.dialects.register_dialect"
        )
    if results is None and definition.results:
        raise ShardyError(f"the result types of {op_name} are not inferred; pass results=")
    properties: dict[str, Attribute] = {}
    discardable: dict[str, Attribute] = {}
    for name, value in attributes.items():
        if name not in definition.properties and name not in definition.attributes and "." not in name:
            declared = (*definition.properties, *definition.attributes)
            raise ShardyError.unknown("attribute", name, declared, what=op_name)
        if value is not None:
            (properties if name in definition.properties else discardable)[name] = plain_attribute(value)
    types = [] if results is None else result_types(results)
    location = caller_location()
    op = build_operation(
        syntax.op_class, operands, types, properties, discardable, location, None, list(regions)
    )
    require(op, check_declared)
    insert(op)
    return tuple(op.results)
