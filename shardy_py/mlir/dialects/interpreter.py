"""The dialect `interpreter` of StableHLO: ops for programs that an interpreter runs.

    interpreter.print %0 : tensor<2xi32>
    %1 = interpreter.probe %0, probe_id = "before" : tensor<2xi32>

`run_parallel` runs a grid of functions, one a device: replicas by partitions.

Not here: running (`run/interpret/`).

>>> op_class("probe").name
'interpreter.probe'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ShapedType, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.mlir.dialects import encoding as encodings
from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import OpRow, many, optional, slots
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import type_kinds as t
from shardy_py.mlir.dialects.stablehlo.verify.messages import quoted
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.template import Template
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.text import DialectSyntax
from shardy_py.mlir.text.assembly import OPERAND_TYPE, SAME_TYPE
from shardy_py.mlir.text.builtin_attributes import is_array


def _require(holds: object, message: str) -> None:
    if not holds:
        raise Fault(message, is_plain=True)


def _check_run_parallel(op: Any, scope: Scope) -> None:
    """Programs are a grid of functions that take the inputs and give the results; queues are functions.

    Raises `Fault`. Not checked, as in C++: the types of inputs and results.
    """
    grid = [row.data for row in op.programs.data]
    _require(grid and grid[0], "`programs` attribute cannot be empty")
    functions: list[FuncOp] = []
    for row in grid:
        _require(
            len(row) == len(grid[0]),
            f"Sizes of second dimension of `programs` should all match {len(grid[0])} but got {len(row)}",
        )
        functions += (_function(symbol, scope) for symbol in row)
    counts = (
        ("inputs", len(op.inputs), sum(len(f.function_type.inputs) for f in functions)),
        ("results", len(op.results), sum(len(f.function_type.outputs) for f in functions)),
    )
    for what, given, expected in counts:
        _require(
            given == expected,
            f"Number of {what} ({given}) should match the sum of the number of {what} of all programs"
            f" ({expected})",
        )
    if op.infeed is not None:
        _require(op.infeed.data, "infeed attribute is optional or should not be empty")
        for symbol in op.infeed.data:
            _check_queue(symbol, scope)


def _function(symbol: SymbolRefAttr, scope: Scope) -> FuncOp:
    function = scope.symbols.get(symbol.string_value())
    if not isinstance(function, FuncOp):
        raise Fault(f'Function "{symbol.string_value()}" not found', is_plain=True)
    return function


def _check_queue(symbol: SymbolRefAttr, scope: Scope) -> None:
    name, results = f'Function "{symbol.string_value()}"', _function(symbol, scope).function_type.outputs.data
    _require(len(results) == 1, f"{name} should return 1 tensor but returns {len(results)}")
    is_shaped = isinstance(results[0], ShapedType)
    _require(is_shaped, f"{name} should return a tensor type, but instead returns {quoted(results[0])}")


def _check_same_type(view: View) -> None:
    operand, result = view.operands[0], view.results[0]
    if not (operand.is_shaped_as(result) and operand.element == result.element):
        raise Fault("requires the same type for all operands and results")
    if (operand.bounds, operand.encoding) != (result.bounds, result.encoding):
        raise Fault("requires the same encoding for all operands and results")


def _is_grid(attribute: Attribute) -> bool:
    return is_array(attribute) and k.SYMBOLS.accepts(attribute)


_GRID = k.array_of("Array of FlatSymbolRefArrayAttr", _is_grid, encodings.array_encoding(encodings.SYMBOL))
ROWS = (
    OpRow("print", operands=slots(operand=t.TENSOR), form=Template(" $operand", OPERAND_TYPE)),
    OpRow(
        "probe",
        operands=slots(operand=t.TENSOR),
        attributes=slots(probe_id=k.STRING),
        results=slots(result=t.TENSOR),
        form=Template(" $operand, probe_id = $probe_id", SAME_TYPE),
        verify=(_check_same_type,),
    ),
    OpRow(
        "run_parallel",
        operands=slots(inputs=many(t.TENSOR_OR_TOKEN)),
        attributes=slots(infeed=optional(k.SYMBOLS), programs=_GRID),
        results=slots(results=many(t.TENSOR_OR_TOKEN)),
        verify_symbols=_check_run_parallel,
    ),
)
"""The rows."""

OPS = OpTable("interpreter", ROWS)
"""Every op of the dialect."""

INTERPRETER = DialectSyntax("interpreter", OPS.syntax)
"""The dialect's syntax."""

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.interpreter_op_classes import *  # noqa: F403  (every class of a row)
else:
    __getattr__ = OPS.class_named
op_class = OPS.op_class
xdsl_dialect = OPS.xdsl_dialect
"""Returns the dialect for xDSL, with the classes of all ops."""


__all__ = ["INTERPRETER", "OPS", "op_class", "xdsl_dialect"]
