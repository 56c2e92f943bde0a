"""Ops of numbers in exported graphs, where the numbers are read from tensors (`item()`).

Such numbers stay tensors without dimensions (`aten._local_scalar_dense`); ops of numbers become ops of
tensors. Sizes cannot depend on them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from shardy_py.frontends.aten.elements import filled, promoted
from shardy_py.frontends.aten.pointwise import floor_quotient
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops
from shardy_py.frontends.builder.tensor import Operand

Function = Callable[..., Any]


def _compared(direction: str) -> Function:
    def function(lhs: Any, rhs: Any) -> Tensor:
        first, second = promoted(lhs, rhs)
        return ops.compare(first, second, direction)

    return function


def _of_promoted(function: Function) -> Function:
    def promoting(lhs: object, rhs: object) -> Tensor:
        return function(*promoted(lhs, rhs))

    return promoting


def _float(value: Any) -> Any:
    return ops.convert(value, "f32") if isinstance(value, Tensor) else float(value)


def _quotient(lhs: Operand, rhs: Operand) -> Tensor:
    return ops.divide(_float(lhs), _float(rhs))


def _chosen(pred: Tensor, on_true: Operand, on_false: Operand) -> Tensor:
    """As `torch.sym_ite`, also of two numbers."""
    if not isinstance(on_true, Tensor) and not isinstance(on_false, Tensor):
        element = "f32" if isinstance(on_true, float) or isinstance(on_false, float) else "i64"
        on_true = filled(RankedTensorType((), element), on_true)
    return ops.select(pred, *promoted(on_true, on_false))


_COMPARISONS = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
_OPERATORS: dict[str, Function] = {
    **{name: _compared(direction) for name, direction in _COMPARISONS.items()},
    **{name: _of_promoted(getattr(operator, name)) for name in ("add", "sub", "mul")},
    "and_": ops.and_,
    "floordiv": _of_promoted(floor_quotient),
    "neg": ops.negate,
    "not_": ops.not_,
    "or_": ops.or_,
    "truediv": _quotient,
}
"""By the name of the function of `operator`."""
_NAMED: dict[str, Function] = {
    "sym_float": _float,
    "sym_ite": _chosen,
    "sym_max": _of_promoted(ops.maximum),
    "sym_min": _of_promoted(ops.minimum),
    "sym_not": ops.not_,
}
"""By the name of the function of torch."""


def function_of_numbers(target: Any) -> Function | None:
    """The row of an op of numbers, which runs on tensors, too; None if the target is not one."""
    name = str(getattr(target, "__name__", ""))
    is_operator = getattr(operator, name, None) is target
    of_tensors = _OPERATORS.get(name) if is_operator else _NAMED.get(name)
    if of_tensors is None:
        return None

    def row(out: object, *arguments: Any) -> Any:
        given = any(isinstance(argument, Tensor) for argument in arguments)
        return of_tensors(*arguments) if given else target(*arguments)

    return row
