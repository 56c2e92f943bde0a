"""Folds of ops that compute elements: `x + 0` is `x`.

Not here: folds of ops that move elements (`fold_shapes.py`), the table of all (`fold.py`).
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.stablehlo import ComplexOp, NotOp
from shardy_py.graph.record import record_of
from shardy_py.ir import operands_of
from shardy_py.ops import TABLE
from shardy_py.text.dense import store_integer
from shardy_py.text.type_tests import is_integral
from shardy_py.xla.folding import Fold, is_static, make, make_constant, producer, same_type
from shardy_py.xla.splats import Splats


def neutral(number: int, *, left: bool = True) -> Fold:
    """Folds an op whose other operand is filled with `number` to it; not the left one if not `left`."""

    def apply(op: Operation, splats: Splats) -> SSAValue | None:
        first, second = operands_of(op)
        if splats.is_number(second, number):
            return first
        return second if left and splats.is_number(first, number) else None

    return apply


def absorbing(number: int) -> Fold:
    """Folds an integer op to the operand that is filled with `number`."""

    def apply(op: Operation, splats: Splats) -> SSAValue | None:
        return next((operand for operand in operands_of(op) if splats.integer(operand) == number), None)

    return apply


def fold_all_ones(op: Operation, splats: Splats) -> SSAValue | None:
    """`x & -1` is `x`."""
    first, second = operands_of(op)
    for kept, other in ((first, second), (second, first)):
        number = splats.integer(other)
        if number is not None and not any(store_integer(~number, cast(Any, other.type).element_type)):
            return kept
    return None


def fold_same_operands(op: Operation, splats: Splats) -> SSAValue | None:
    """`x - x` and `x ^ x` of integers are zero."""
    first, second = operands_of(op)
    if first is not second:
        return None
    element = getattr(first.type, "element_type", None)
    is_known = is_integral(element) and is_static(first)
    return make_constant(op, store_integer(0, element)) if is_known else None


def fold_compare(op: Operation, splats: Splats) -> SSAValue | None:
    """Compares integers with themselves; `x != false` and `x == true` are `x`."""
    first, second = operands_of(op)
    attributes = record_of(op).attributes
    compute = TABLE[op.name].compute
    if compute and first is second and is_integral(cast(Any, first.type).element_type) and is_static(first):
        return make_constant(op, bytes([compute(attributes, (0, 0))]))
    neutral = {"NE": 0, "EQ": 1}.get(attributes["comparison_direction"])
    return first if same_type(op) and neutral is not None and splats.integer(second) == neutral else None


def fold_convert(op: Operation, splats: Splats) -> SSAValue | None:
    """A conversion to the same type is its operand."""
    return operands_of(op)[0] if same_type(op) else None


def fold_select(op: Operation, splats: Splats) -> SSAValue | None:
    """Chooses if the predicate is known; `select(not p, a, b)` is `select(p, b, a)`."""
    choice, yes, no = operands_of(op)
    if yes is no:
        return yes
    known = splats.integer(choice)
    if known is not None:
        return yes if known else no
    inverted = producer(choice, NotOp.name)
    return None if inverted is None else make(op, "select", [*operands_of(inverted), no, yes], {})


def part_of_complex(index: int) -> Fold:
    """The real (0) or imaginary (1) part of `complex(a, b)` is `a` or `b`."""

    def apply(op: Operation, splats: Splats) -> SSAValue | None:
        joined = producer(operands_of(op)[0], ComplexOp.name)
        return None if joined is None else operands_of(joined)[index]

    return apply
