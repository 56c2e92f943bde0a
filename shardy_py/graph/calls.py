"""The functions of a module and their calls: look-ups, the order of the call graph, copies of functions.

The orders are those of a depth-first walk from each function in turn, as the module lists them:

    func @main { call @f  call @g }    top down   main, g, f
    func @f { }   func @g { }          bottom up  f, g, main

Not here: symbols and their names (`symbols.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from shardy_py.graph.cloning import clone
from shardy_py.graph.movements import note_copies
from shardy_py.graph.symbols import Symbols, callee_name, function_name, set_callee, top_level_ops
from shardy_py.ir import find_ops, operands_of, terminator_of

ORIGINAL_NAME = "sdy.original_func_name"
"""The attribute of a copy of a function that holds the name of the original."""


class Calls:
    """Functions by name and their calls, in program order; filled op by op."""

    def __init__(self) -> None:
        self.functions: dict[str, Operation] = {}
        self._calls: dict[str, list[Operation]] = {}

    def add(self, op: Operation) -> None:
        """Add a function or a call."""
        if isinstance(op, FuncOp):
            self.functions[function_name(op)] = op
        else:
            self._calls.setdefault(callee_name(op), []).append(op)

    def of_function(self, function: Operation | None) -> list[Operation]:
        """The calls of `function`."""
        return [] if function is None else self._calls.get(function_name(function), [])

    def argument(self, call: Operation, index: int) -> SSAValue | None:
        """The callee's argument for operand `index` of `call`; None if the callee has no body."""
        function = self.functions.get(callee_name(call))
        block = None if function is None else function.regions[0].first_block
        return None if block is None else block.args[index]

    def returned(self, call: Operation, index: int) -> SSAValue | None:
        """The value that the callee returns as result `index` of `call`; None if the callee has no body."""
        function = self.functions.get(callee_name(call))
        terminator = terminator_of(function.regions[0]) if function is not None else None
        return None if terminator is None else operands_of(terminator)[index]


def calls_in(op: Operation) -> list[Operation]:
    """The calls in an op, in program order."""
    return find_ops(op, CallOp.name)


def is_defined_function(op: Operation) -> bool:
    """Whether `op` is a function with a body."""
    return isinstance(op, FuncOp) and op.body.first_block is not None


def functions_bottom_up(module: ModuleOp) -> list[Operation]:
    """The functions with a body, callees before callers except in recursion; nested modules included."""
    functions = list(_defined_functions(module))
    by_name = {(id(f.parent), function_name(f)): f for f in functions}
    ordered: list[Operation] = []
    seen: set[Operation] = set()
    for root in functions:
        if root in seen:
            continue
        seen.add(root)
        pending = [(root, _callees(root, by_name))]
        while pending:
            function, rest = pending[-1]
            callee = next((c for c in rest if c not in seen), None)
            if callee is None:
                ordered.append(function)
                pending.pop()
            else:
                seen.add(callee)
                pending.append((callee, _callees(callee, by_name)))
    return ordered


def functions_top_down(module: ModuleOp) -> list[Operation]:
    """The functions with a body, callers before callees."""
    return functions_bottom_up(module)[::-1]


def original_name(function: Operation) -> StringAttr:
    """The name of the function of which `function` is a copy, its own name if it is none."""
    given = function.attributes.get(ORIGINAL_NAME, function.properties["sym_name"])
    assert isinstance(given, StringAttr)
    return given


def copy_function(function: Operation, symbols: Symbols) -> Operation:
    """Returns a detached copy of a function; it calls copies of the callees, which are in the module."""
    copies: dict[SSAValue, SSAValue] = {}
    copy = clone(function, copies)
    note_copies(copies)
    copy.attributes[ORIGINAL_NAME] = original_name(function)
    for call in calls_in(copy):
        set_callee(call, symbols.insert(copy_function(symbols.callee(call), symbols)))
    return copy


def _defined_functions(module: ModuleOp) -> Iterator[Operation]:
    for op in top_level_ops(module):
        if isinstance(op, ModuleOp):
            yield from _defined_functions(op)
        elif is_defined_function(op):
            yield op


def _callees(function: Operation, by_name: Mapping[tuple[int, str], Operation]) -> Iterator[Operation]:
    """The callees in the same module, each once."""
    keys = dict.fromkeys((id(function.parent), callee_name(call)) for call in calls_in(function))
    return iter([by_name[key] for key in keys if key in by_name])
