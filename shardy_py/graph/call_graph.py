"""The functions of a module in the order in which they call each other, and copies of functions.

The orders are those of a depth-first walk that starts at each function in turn, as the module lists them:

    func @main { call @f  call @g }    top down   main, g, f
    func @f { }   func @g { }          bottom up  f, g, main

Not here: names (`symbols.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from shardy_py.graph.calls import callee_name, function_name
from shardy_py.graph.cloning import clone
from shardy_py.graph.movements import note_copies
from shardy_py.graph.symbols import FUNCTION, Symbols, set_callee
from shardy_py.ir import find_ops

CALL = "func.call"
ORIGINAL_NAME = "sdy.original_func_name"
"""The attribute of a copy of a function that says what the function was called at first."""


def functions_bottom_up(module: ModuleOp) -> list[Operation]:
    """The functions with a body, each after those that it calls (but for recursion); nested modules too."""
    functions = list(_defined_functions(module))
    by_name = {(id(f.parent), function_name(f)): f for f in functions}
    ordered: list[Operation] = []
    seen: set[Operation] = set()
    for root in functions:
        if root in seen:
            continue
        seen.add(root)
        pending = [(root, iter(_callees(root, by_name)))]
        while pending:
            function, rest = pending[-1]
            callee = next((c for c in rest if c not in seen), None)
            if callee is None:
                ordered.append(function)
                pending.pop()
            else:
                seen.add(callee)
                pending.append((callee, iter(_callees(callee, by_name))))
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
    copies: dict[SSAValue, SSAValue] = {}
    copy = clone(function, copies)
    note_copies(copies)
    copy.attributes[ORIGINAL_NAME] = original_name(function)
    for call in calls_in(copy):
        set_callee(call, symbols.insert(copy_function(symbols.callee(call), symbols)))
    return copy


def _defined_functions(module: ModuleOp) -> Iterator[Operation]:
    for op in module.body.block.ops:
        if isinstance(op, ModuleOp):
            yield from _defined_functions(op)
        elif is_defined_function(op):
            yield op


def _callees(function: Operation, by_name: Mapping[tuple[int, str], Operation]) -> tuple[Operation, ...]:
    """What a function calls, from the module that it stands in."""
    keys = dict.fromkeys((id(function.parent), callee_name(call)) for call in calls_in(function))
    return tuple(by_name[key] for key in keys if key in by_name)
