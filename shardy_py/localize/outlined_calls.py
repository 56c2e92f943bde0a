"""Callees of a call that is partitioned alone: they are partitioned with it, as copies.

    before  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
    after   %0 = sdy.manual_computation(%a) ... (%arg0: tensor<4xf32>) { %1 = func.call @f_0(%arg0) ... }
            func.func private @f_0(%arg0: tensor<4xf32>) -> tensor<4xf32>

Other calls of a function may be partitioned in another way, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from shardy_py.mlir.calls import calls_in
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.ir import take_out
from shardy_py.mlir.symbols import Symbols, callee_name, function_name, functions_of, set_callee


def callees_of(op: Operation, module: ModuleOp) -> list[Operation]:
    """Returns copies of the functions that `op` and its callees call, in order of breadth."""
    functions = {function_name(function): function for function in functions_of(module)}
    found: dict[str, Operation] = {}
    pending = [op]
    for caller in pending:
        calls = [caller] if isinstance(caller, CallOp) else calls_in(caller)
        for name in map(callee_name, calls):
            if name in functions and name not in found:
                found[name] = clone(functions[name], {})
                pending.append(functions[name])
    return list(found.values())


def unused_name(name: str, functions: list[Operation]) -> str:
    """Returns `name`, with underlines where a function has it."""
    taken = set(map(function_name, functions))
    while name in taken:
        name += "_"
    return name


def move_callees(function: FuncOp, module: ModuleOp, target: ModuleOp) -> None:
    """Moves the other functions of `module` to the end of `target`, with names that are unused there."""
    symbols, names = Symbols(target), dict[str, str]()
    moved = [other for other in functions_of(module) if other is not function]
    for other in moved:
        name = function_name(other)
        take_out(other)
        names[name] = symbols.insert(other)
    for call in _calls_in([function, *moved]):
        set_callee(call, names[callee_name(call)])


def _calls_in(functions: list[FuncOp]) -> Iterator[Operation]:
    for function in functions:
        yield from calls_in(function)
