"""Which ops compute constants: from nothing, or from constants alone.

Not here: what is done with them (`constant_splitting.py`).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from shardy_py.graph.plain import tensor_type
from shardy_py.ir import operands_of
from shardy_py.ops import TABLE


class Kind(Enum):
    """What an op makes of constants.

    SOURCE: it is a constant. PRESERVING: its result is constant if its operands are, and `is_preserving` says
    so of types with dynamic sizes. BITCAST: `is_preserving` says so of all types. CALL, COMPUTATION: that
    depends on what it calls or holds. IGNORED: it says nothing. TERMINATOR: it passes on what it takes.
    OTHER: its result is never constant.
    """

    SOURCE = 0
    PRESERVING = 1
    CALL = 2
    COMPUTATION = 3
    IGNORED = 4
    TERMINATOR = 5
    OTHER = 6
    BITCAST = 7


_KINDS = {
    "sdy.constant": Kind.SOURCE,
    "stablehlo.iota": Kind.SOURCE,
    "stablehlo.broadcast_in_dim": Kind.PRESERVING,
    "stablehlo.reshape": Kind.PRESERVING,
    "stablehlo.slice": Kind.PRESERVING,
    "stablehlo.bitcast_convert": Kind.BITCAST,
    "func.call": Kind.CALL,
    "sdy.named_computation": Kind.COMPUTATION,
    "func.func": Kind.IGNORED,
    "sdy.sharding_group": Kind.IGNORED,
    # Elementwise, but with an effect on what it is given.
    "sdy.sharding_constraint": Kind.OTHER,
}

_NEEDS_STATIC_OPERAND = frozenset({"stablehlo.reshape", "stablehlo.broadcast_in_dim"})
"""Ops of one operand that are not sure to be valid if that has a dynamic dimension."""


@lru_cache(maxsize=4096)
def kind_of(op_class: type[Operation]) -> Kind:
    """The kind of the ops of a class."""
    known = _KINDS.get(op_class.name)
    if known is not None:
        return known
    row = TABLE.get(op_class.name)
    if row is not None and row.is_elementwise:
        return Kind.PRESERVING
    return Kind.TERMINATOR if op_class.has_trait(IsTerminator, value_if_unregistered=False) else Kind.OTHER


def is_preserving(op: Operation) -> bool:
    """Whether an op of kind PRESERVING or BITCAST makes constants of constants, with the types it has.

    It does if it is valid whatever the sizes of its dynamic dimensions are.
    """
    operands = [tensor_type(value.type) for value in operands_of(op)]
    result = tensor_type(op.results[0].type)
    shapes = [operand.shape if operand else () for operand in operands]
    if op.name == "stablehlo.bitcast_convert" and (result is None or shapes[0] != result.shape):
        return False
    if not any(None in shape for shape in shapes) or not op.name.startswith("stablehlo."):
        return True
    if len(operands) > 1 or op.name in _NEEDS_STATIC_OPERAND or result is None:
        return False
    pairs = zip(shapes[0], result.shape, strict=False)
    return all(size is not None for size, given in pairs if given is not None)
