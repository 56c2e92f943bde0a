"""Rewrites of ops that send because of how they are written: the same values by ops that propagate.

| op | rewrite |
|---|---|
| a concatenate of one value, several times | `broadcast_in_dim` and a reshape, through which shardings pass |
| a composite | a call of its decomposition |

Not here: whether that helps (`adviser.py` tries it), edits of annotations (`proposals.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, TensorType, i64
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConcatenateOp, op_class
from shardy_py.mlir.ir import build_operation, operands_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.typed import element_type_of, integer_of, property_of
from shardy_py.search.advice.pasting import parsed_call
from shardy_py.search.advice.replacing import SuggestedRewrite, at, replace_op

_COMPOSITE = op_class("composite")
_RESHAPE = op_class("reshape")
_NEAREST = 4
"""The number of ops before one that sends that are looked at."""


def rewrite_of(op: Operation) -> SuggestedRewrite | None:
    """Returns the rewrite of an op; None if it has none."""
    if isinstance(op, ConcatenateOp) and len(operands_of(op)) > 1 and len({*operands_of(op)}) == 1:
        tensor = tensor_type(operands_of(op)[0].type)
        times = [1] * len(() if tensor is None else tensor.shape)
        times[integer_of(op, "dimension")] = len(operands_of(op))
        return replace(_REPEATED, code=partial(_tiled, times=tuple(times)))
    return _DECOMPOSED if isinstance(op, _COMPOSITE) else None


def near(op: Operation) -> Iterator[SSAValue]:
    """Returns the results of an op and of those that its operands come from, through changes of shardings."""
    pending = [op]
    for _ in range(_NEAREST):
        if not pending:
            return
        current = pending.pop(0)
        yield from current.results
        if isinstance(current, ReshardOp | ShardingConstraintOp | _RESHAPE) or current is op:
            pending += [value.op for value in operands_of(current) if isinstance(value, OpResult)]


def _repeated(op: Operation) -> None:
    value, (result,) = operands_of(op)[0], op.results
    tensor, at = tensor_type(value.type), integer_of(op, "dimension")
    assert tensor is not None
    sizes = [size or 0 for size in tensor.shape]
    wide = [*sizes[:at], len(operands_of(op)), *sizes[at:]]
    kept = [i for i in range(len(wide)) if i != at]
    dimensions: dict[str, Attribute] = {
        "broadcast_dimensions": cast("Attribute", DenseArrayBase.from_list(i64, kept))
    }
    type_ = TensorType(element_type_of(value.type), wide)
    location = op.location
    copies = build_operation(BroadcastInDimOp, [value], [type_], dimensions, {}, location)
    flat = build_operation(_RESHAPE, copies.results, [result.type], {}, dict(op.attributes), location)
    replace_op(op, copies, flat)


def _tiled(text: str, times: tuple[int, ...]) -> str:
    """The concatenation of one expression as `jnp.tile` of it; "" if the text is another one."""
    call = parsed_call(text)
    if call is None or not isinstance(call.func, ast.Attribute) or not call.args:
        return ""
    given = call.args[0].left if isinstance(call.args[0], ast.BinOp) else call.args[0]
    listed = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    if call.func.attr != "concatenate" or len({*map(ast.unparse, listed)}) != 1:
        return ""
    return f"{ast.unparse(call.func.value)}.tile({ast.unparse(listed[0])}, {times})"


def _decomposed(op: Operation) -> None:
    callee: dict[str, Attribute] = {"callee": property_of(op, "decomposition", SymbolRefAttr)}
    types = [result.type for result in op.results]
    replace_op(op, build_operation(CallOp, operands_of(op), types, callee, {}, op.location))


_REPEATED = SuggestedRewrite(
    "repeat by broadcast_in_dim",
    lambda op: f"repeat by broadcast_in_dim and reshape instead of the concatenate{at(op)}",
    _repeated,
)
_DECOMPOSED = SuggestedRewrite(
    "call the decomposition",
    lambda op: f"call @{op.properties['decomposition'].string_value()} in place of the composite{at(op)}",  # pyright: ignore
    _decomposed,
)
