"""Functions that follow from the rows of elementwise ops: `tanh(operand)`, `add(lhs, rhs)`.

An op gets one if it is elementwise (`ops/`), and if its row in the dialect has no required attributes and
infers its result. Two operands are broadcast as numpy does.
"""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword

from shardy_py.frontends.builder.emit import emit_one
from shardy_py.frontends.builder.tensor import Operand, Tensor, elementwise, value_of
from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.stablehlo import OPS
from shardy_py.ops import TABLE


def functions() -> dict[str, Callable[..., Tensor]]:
    """Returns the functions by their Python names: `and_` for the op `and`."""
    rows = (row for row in OPS.rows.values() if _is_plain(row))
    return {f"{row.name}_" if iskeyword(row.name) else row.name: _function(row) for row in rows}


def _is_plain(row: OpRow) -> bool:
    return (
        TABLE[f"{OPS.dialect}.{row.name}"].is_elementwise is True
        and len(row.operands) < 3
        and all(slot.optional for slot in row.attributes)
        and row.infer is not None
    )


def _function(row: OpRow) -> Callable[..., Tensor]:
    name = row.name

    def unary(operand: Tensor) -> Tensor:
        return Tensor(emit_one(name, value_of(operand)))

    def binary(lhs: Operand, rhs: Operand) -> Tensor:
        return elementwise(name, lhs, rhs)

    function = unary if len(row.operands) == 1 else binary
    many = "a tensor" if function is unary else "two tensors; numbers and sizes of 1 are broadcast"
    function.__doc__ = f"`stablehlo.{name}` of {many}."
    function.__name__ = function.__qualname__ = name
    return function
