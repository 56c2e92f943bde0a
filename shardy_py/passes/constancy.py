"""The ops that compute constants: without operands, or from constants only.

Not here: what is done with them (`constant_splitting.py`).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from shardy_py.dialects.sdy import ShardingGroupOp
from shardy_py.dialects.traits import UnfoldableConstant
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import operands_of
from shardy_py.ops import TABLE, Control


class Kind(Enum):
    """When the results of an op are constant.

    SOURCE: always. PRESERVING: if its operands are; with dynamic sizes, also subject to `is_preserving`.
    BITCAST: the same, subject to `is_preserving` for all types. CALL, COMPUTATION: depends on the callee or
    region. IGNORED: it has no results. TERMINATOR: it passes its operands on. OTHER: never.
    """

    SOURCE = 0
    PRESERVING = 1
    CALL = 2
    COMPUTATION = 3
    IGNORED = 4
    TERMINATOR = 5
    OTHER = 6
    BITCAST = 7


@lru_cache(maxsize=4096)
def kind_of(op_class: type[Operation]) -> Kind:
    """The kind of the ops of a class."""
    row = TABLE[op_class.name]
    if issubclass(op_class, CallOp):
        return Kind.CALL
    if issubclass(op_class, FuncOp | ShardingGroupOp):
        return Kind.IGNORED
    if op_class.get_trait(UnfoldableConstant) is not None:
        return Kind.SOURCE
    if row.control is Control.REGION:
        return Kind.COMPUTATION
    if row.makes_constants:
        return Kind.BITCAST if callable(row.is_elementwise) else Kind.PRESERVING
    return Kind.TERMINATOR if op_class.get_trait(IsTerminator) is not None else Kind.OTHER


def is_preserving(op: Operation) -> bool:
    """Returns whether an op of kind PRESERVING or BITCAST has constant results for constant operands.

    It has if the op is valid for all sizes of its dynamic dimensions.
    """
    row = TABLE[op.name]
    operands = [tensor_type(value.type) for value in operands_of(op)]
    result = tensor_type(op.results[0].type)
    shapes = [operand.shape if operand else () for operand in operands]
    if callable(row.is_elementwise) and (result is None or shapes[0] != result.shape):
        return False
    if not any(None in shape for shape in shapes) or not op.name.startswith("stablehlo."):
        return True
    if len(operands) > 1 or row.needs_static_operand or result is None:
        return False
    pairs = zip(shapes[0], result.shape, strict=False)
    return all(size is not None for size, given in pairs if given is not None)
