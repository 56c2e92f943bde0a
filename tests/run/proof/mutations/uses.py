"""Values that ops take from elsewhere: operands, results, arguments, calls, ops left out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.mlir.ir import (
    find_ops,
    operands_of,
    replace_operand,
    terminator_of,
    type_of,
    user_of,
)
from shardy_py.mlir.stablehlo_builder import StablehloBuilder
from shardy_py.mlir.symbols import function_name, functions_of
from shardy_py.run.proof.case import main_of
from tests.run.proof.mutations.edits import (
    Site,
    at_operand,
    instead,
    is_float,
    ops,
    ops_in_functions,
    ops_with_one_result,
    swapped,
)

ORDERED = (
    "atan2",
    "compare",
    "divide",
    "dot",
    "power",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "subtract",
)
"""Ops with two operands of one type, whose order counts."""


def operands(module: ModuleOp) -> Iterator[Site]:
    """Operands of ops whose order counts are swapped."""
    for op in ops(module, *ORDERED):
        lhs, rhs = operands_of(op)
        if lhs is not rhs and type_of(lhs) == type_of(rhs):
            yield Site(op, "operands swapped", partial(swapped, op, 0, 1))
    for op in ops(module, "select"):
        if operands_of(op)[1] is not operands_of(op)[2]:
            yield Site(op, "values swapped", partial(swapped, op, 1, 2))


def results(module: ModuleOp) -> Iterator[Site]:
    """Two results of one type are swapped, or a float is negated."""
    end = terminator_of(main_of(module).body)
    assert end is not None
    given = operands_of(end)
    for index, value in enumerate(given):
        for other in range(index + 1, len(given)):
            if type_of(value) == type_of(given[other]) and value is not given[other]:
                yield Site(end, f"results {index}, {other} swapped", partial(swapped, end, index, other))
        if is_float(value):
            yield Site(end, f"result {index} negated", partial(at_operand, end, index, _negated))


def _negated(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.unary("negate", value)


def omitted(module: ModuleOp) -> Iterator[Site]:
    """An op that keeps the type of an operand is left out."""
    for op in ops_with_one_result(module):
        for index, value in enumerate(operands_of(op)):
            if type_of(value) == type_of(op.results[0]):
                yield Site(op, f"left out, operand {index} kept", partial(instead, op, value))


def exchanged_results(module: ModuleOp) -> Iterator[Site]:
    """Two results of an op, or two arguments of a block, take each other's place."""
    for op in ops_in_functions(module):
        arguments = [block.args for region in op.regions for block in region.blocks]
        for what, values in [("results", op.results), *(("arguments", args) for args in arguments)]:
            for a, b in combinations(range(len(values)), 2):
                if type_of(values[a]) == type_of(values[b]):
                    yield Site(op, f"{what} {a}, {b} swapped", partial(_exchange, values[a], values[b]))


def _exchange(first: SSAValue, second: SSAValue) -> None:
    uses = [
        (user_of(use), use.index, other)
        for value, other in ((first, second), (second, first))
        for use in value.uses
    ]
    for op, index, other in uses:
        replace_operand(op, index, other)


def calls(module: ModuleOp) -> Iterator[Site]:
    """A call of another function, or with two operands swapped."""
    functions = functions_of(module)
    for op in find_ops(module, "func.call"):
        for a, b in combinations(range(len(operands_of(op))), 2):
            x, y = operands_of(op)[a], operands_of(op)[b]
            if x is not y and type_of(x) == type_of(y):
                yield Site(op, f"operands {a}, {b} swapped", partial(swapped, op, a, b))
        for function in functions:
            name = function_name(function)
            if name != op.properties["callee"].string_value() and function is not main_of(module):  # pyright: ignore
                yield Site(op, f"calls @{name}", partial(_call, op, name))


def _call(op: Operation, name: str) -> None:
    op.properties["callee"] = SymbolRefAttr(name)


def wrong_operands(module: ModuleOp) -> Iterator[Site]:
    """An op reads the last value before its operand that has the same type."""
    for op in ops_in_functions(module):
        for index, value in enumerate(operands_of(op)):
            found = (
                _before(value) if isinstance(value, OpResult) and op.name != "stablehlo.constant" else None
            )
            if found is not None:
                yield Site(op, f"another operand {index}", partial(replace_operand, op, index, found))


def _before(value: OpResult) -> SSAValue | None:
    op = value.op.prev_op
    while op is not None:
        for result in op.results:
            if type_of(result) == type_of(value):
                return result
        op = op.prev_op
    block = value.op.parent
    return next((a for a in block.args if type_of(a) == type_of(value)), None) if block else None


USES = {
    "operands": operands,
    "results": results,
    "op left out": omitted,
    "exchanged results": exchanged_results,
    "call": calls,
    "wrong operand": wrong_operands,
}
