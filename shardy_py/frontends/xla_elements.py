"""Folds of ops that compute elements.

    x + 0    x

Not here: folds of ops that move them (`xla_shapes.py`), the table of all (`xla_folds.py`).
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from shardy_py.frontends.xla_constants import COMPARISONS, Splats
from shardy_py.frontends.xla_making import Fold, is_static, make, make_constant, maker_of, same_type
from shardy_py.graph.plain import plain
from shardy_py.ir import operands_of
from shardy_py.text.dense import store_integer
from shardy_py.text.type_tests import is_integral


def neutral(number: int, *, left: bool = True) -> Fold:
    """What an op with this number leaves as it is."""

    def apply(op: Operation, splats: Splats) -> SSAValue | None:
        first, second = operands_of(op)
        if splats.is_number(second, number):
            return first
        return second if left and splats.is_number(first, number) else None

    return apply


def absorbing(number: int) -> Fold:
    """What makes an integer op give this number whatever the other operand is."""

    def apply(op: Operation, splats: Splats) -> SSAValue | None:
        return next((operand for operand in operands_of(op) if splats.integer(operand) == number), None)

    return apply


def fold_all_ones(op: Operation, splats: Splats) -> SSAValue | None:
    """`x & -1`."""
    first, second = operands_of(op)
    for kept, other in ((first, second), (second, first)):
        number = splats.integer(other)
        if number is not None and not any(store_integer(~number, cast(Any, other.type).element_type)):
            return kept
    return None


def fold_same_operands(op: Operation, splats: Splats) -> SSAValue | None:
    """`x - x` and `x ^ x` of integers."""
    first, second = operands_of(op)
    if first is not second:
        return None
    element = getattr(first.type, "element_type", None)
    is_known = is_integral(element) and is_static(first)
    return make_constant(op, store_integer(0, element)) if is_known else None


def fold_compare(op: Operation, splats: Splats) -> SSAValue | None:
    """Integers with themselves; booleans with what leaves them as they are."""
    first, second = operands_of(op)
    direction: str = plain(op.properties["comparison_direction"])
    if first is second and is_integral(cast(Any, first.type).element_type) and is_static(first):
        return make_constant(op, bytes([COMPARISONS[direction](0, 0)]))
    neutral = {"NE": 0, "EQ": 1}.get(direction)
    return first if same_type(op) and neutral is not None and splats.integer(second) == neutral else None


def fold_convert(op: Operation, splats: Splats) -> SSAValue | None:
    """What goes in, if of the same type."""
    return operands_of(op)[0] if same_type(op) else None


def fold_select(op: Operation, splats: Splats) -> SSAValue | None:
    """What is chosen, if known; `select(p, b, a)` of `select(not p, a, b)`."""
    choice, yes, no = operands_of(op)
    if yes is no:
        return yes
    known = splats.integer(choice)
    if known is not None:
        return yes if known else no
    inverted = maker_of(choice, "stablehlo.not")
    return None if inverted is None else make(op, "select", [*operands_of(inverted), no, yes], {})


def part_of_complex(index: int) -> Fold:
    """The real (0) or imaginary (1) part that a complex number was made of."""

    def apply(op: Operation, splats: Splats) -> SSAValue | None:
        joined = maker_of(operands_of(op)[0], "stablehlo.complex")
        return None if joined is None else operands_of(joined)[index]

    return apply
