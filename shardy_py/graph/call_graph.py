"""The functions of a module in the order in which they call each other, and copies of functions.

The orders are those of a depth-first walk that starts at each function in turn, as the module lists them:

    func @main { call @f  call @g }    top down   main, g, f
    func @f { }   func @g { }          bottom up  f, g, main

Not here: names (`symbols.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from shardy_py.graph.calls import callee_name, function_name
from shardy_py.graph.cloning import clone
from shardy_py.graph.symbols import FUNCTION, Symbols, set_callee
from shardy_py.graph.walk import find_ops

CALL = "func.call"
ORIGINAL_NAME = "sdy.original_func_name"
"""The attribute of a copy of a function that says what the function was called at first."""


def functions_bottom_up(module: ModuleOp) -> list[Operation]:
    """The functions with a body, each after those that it calls (but for recursion)."""
    functions = {function_name(op): op for op in module.body.block.ops if is_defined_function(op)}
    callees = {name: _callees(op, functions) for name, op in functions.items()}
    ordered: list[Operation] = []
    seen: set[str] = set()
    for root in functions:
        if root in seen:
            continue
        seen.add(root)
        pending = [(root, iter(callees[root]))]
        while pending:
            name, rest = pending[-1]
            callee = next((c for c in rest if c not in seen), None)
            if callee is None:
                ordered.append(functions[name])
                pending.pop()
            else:
                seen.add(callee)
                pending.append((callee, iter(callees[callee])))
    return ordered


def functions_top_down(module: ModuleOp) -> list[Operation]:
    """The functions with a body, each before those that it calls."""
    return functions_bottom_up(module)[::-1]


def calls_in(op: Operation) -> list[Operation]:
    """The calls in an op, in program order."""
    return find_ops(op, CALL)


def is_defined_function(op: Operation) -> bool:
    """Whether `op` is a function with a body."""
    return op.name == FUNCTION and op.regions[0].first_block is not None


def original_name(function: Operation) -> StringAttr:
    """The name that a function had before it was copied."""
    given = function.attributes.get(ORIGINAL_NAME, function.properties["sym_name"])
    assert isinstance(given, StringAttr)
    return given


def copy_function(function: Operation, symbols: Symbols) -> Operation:
    """A copy of a function that calls copies of its callees; it stands nowhere yet, its callees do."""
    copy = clone(function, {})
    copy.attributes[ORIGINAL_NAME] = original_name(function)
    for call in calls_in(copy):
        set_callee(call, symbols.insert(copy_function(symbols.callee(call), symbols)))
    return copy


def _callees(function: Operation, functions: dict[str, Operation]) -> tuple[str, ...]:
    called = (callee_name(call) for call in calls_in(function))
    return tuple(dict.fromkeys(name for name in called if name in functions))
