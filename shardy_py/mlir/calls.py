"""The functions of a module and their calls: look-ups, the order of the call graph, copies of functions.

The orders are those of a depth-first walk from each function in turn, as the module lists them:

    func @main { call @f  call @g }    top down   main, g, f
    func @f { }   func @g { }          bottom up  f, g, main

Not here: symbols and their names (`symbols.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.ir import find_ops, operands_of, ops_in, terminator_of
from shardy_py.mlir.movements import note_copies
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.symbols import Symbols, callee_name, function_name, set_callee, top_level_ops

ORIGINAL_NAME = "sdy.original_func_name"
"""The attribute of a copy of a function that holds the name of the original."""


_NAMED = 4
"""The functions that a message names."""


class Calls:
    """Functions by name and their calls, in program order; filled op by op."""

    def __init__(self) -> None:
        self.functions: dict[str, Operation] = {}
        self._calls: dict[str, list[Operation]] = {}

    def add(self, op: Operation) -> None:
        """Add a function or a call."""
        if isinstance(op, FuncOp):
            around = op.parent_op()
            if around is None or around.parent is None:  # functions of nested modules are never called
                self.functions[function_name(op)] = op
        else:
            self._calls.setdefault(callee_name(op), []).append(op)

    def of_function(self, function: Operation | None) -> list[Operation]:
        """The calls of `function`."""
        if function is None or self.functions.get(name := function_name(function)) is not function:
            return []
        return self._calls.get(name, [])

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
    """Returns whether `op` is a function with a body."""
    return isinstance(op, FuncOp) and op.body.first_block is not None


CallsByFunction = dict[Operation, list[Operation]]
"""The calls in each function with a body; the functions in program order."""


def calls_by_function(module: ModuleOp) -> CallsByFunction:
    """Returns the calls in each function with a body, those of nested modules included."""
    return {function: calls_in(function) for function in _defined_functions(module)}


def functions_bottom_up(module: ModuleOp) -> list[Operation]:
    """The functions with a body, callees before callers except in recursion; nested modules included."""
    functions = list(_defined_functions(module))
    return functions if len(functions) < 2 else bottom_up({f: calls_in(f) for f in functions})


def bottom_up(calls: CallsByFunction) -> list[Operation]:
    """These functions, callees before callers except in recursion."""
    by_name = {(id(function.parent), function_name(function)): function for function in calls}

    def callees(function: Operation) -> Iterator[Operation]:
        keys = dict.fromkeys((id(function.parent), callee_name(call)) for call in calls[function])
        return iter([by_name[key] for key in keys if key in by_name])

    ordered: list[Operation] = []
    seen: set[Operation] = set()
    for root in calls:
        if root in seen:
            continue
        seen.add(root)
        pending = [(root, callees(root))]
        while pending:
            function, rest = pending[-1]
            callee = next((c for c in rest if c not in seen), None)
            if callee is None:
                ordered.append(function)
                pending.pop()
            else:
                seen.add(callee)
                pending.append((callee, callees(callee)))
    return ordered


def functions_top_down(module: ModuleOp) -> list[Operation]:
    """The functions with a body, callers before callees."""
    return functions_bottom_up(module)[::-1]


def original_name(function: Operation) -> StringAttr:
    """The name of the function of which `function` is a copy, its own name if it is none."""
    given = function.attributes.get(ORIGINAL_NAME)
    own = function.properties["sym_name"]
    assert isinstance(own, StringAttr)
    return given if isinstance(given, StringAttr) else own


class FunctionCopies:
    """Makes copies of functions; raises `ShardyError` for one that calls itself, or beyond a number of ops.

    limit: of the ops in all copies.
    remedy: how the user avoids exceeding it, if a pass has an option for that.
    """

    def __init__(self, symbols: Symbols, limit: int, remedy: str = "") -> None:
        self._symbols = symbols
        self._limit = limit
        self._remedy = remedy
        self._sizes: dict[Operation, int] = {}
        self._callees: dict[Operation, list[Operation]] = {}
        self._copied = 0
        self._copying: set[Operation] = set()

    def copy(self, function: Operation) -> Operation:
        """Returns a detached copy of a function; it calls copies of the callees, which are in the module."""
        self._copied += self._size(function)
        if self._copied > self._limit:
            raise self._too_many(function, self._copied)
        return self._copy(function)

    def check(self, calls: CallsByFunction) -> None:
        """Checks that each of these calls, and those in the callees, can have a copy of its callee."""
        counts = Counter(callee_name(call) for made in calls.values() for call in made)
        if max(counts.values(), default=0) > 1:
            callee = self._symbols.callee
            self._callees.update((function, [*map(callee, made)]) for function, made in calls.items())
            roots = [function for function in calls if function_name(function) not in counts]
            total = sum(map(self._size, roots))
            if total > self._limit:
                raise self._too_many(max(roots, key=self._size), total)

    def _copy(self, function: Operation) -> Operation:
        copies: dict[SSAValue, SSAValue] = {}
        copy = clone(function, copies)
        note_copies(copies)
        copy.attributes[ORIGINAL_NAME] = original_name(function)
        self._copying.add(function)
        for call in calls_in(copy):
            callee = self._symbols.callee(call)
            if callee in self._copying:
                what = f"'{call.name}' op a copy for each call of recursive @{function_name(callee)}"
                raise ShardyError.unsupported(what, where=place_of(call))
            set_callee(call, self._symbols.insert(self._copy(callee)))
        self._copying.remove(function)
        return copy

    def _size(self, root: Operation) -> int:
        """The number of ops of a function and, for each call, of its callee; recursive calls aside."""
        entered: set[Operation] = set()
        pending = [root]
        while root not in self._sizes:
            function = pending[-1]
            callees = self._callees.get(function)
            if callees is None:
                callees = [self._symbols.callee(call) for call in calls_in(function)]
                self._callees[function] = callees
            missing = [callee for callee in dict.fromkeys(callees) if callee not in self._sizes]
            if missing and function not in entered:
                entered.add(function)
                pending += missing
                continue
            pending.pop()
            own = 1 + len(ops_in(function))
            self._sizes[function] = own + sum(self._sizes.get(callee, 0) for callee in callees)
        return self._sizes[root]

    def _too_many(self, function: Operation, size: int) -> ShardyError:
        path = [function]
        while len(path) < _NAMED and (calls := calls_in(path[-1])):
            path.append(max(map(self._symbols.callee, calls), key=self._size))
        names = " -> ".join(f"@{function_name(f)}" for f in path)
        more = " -> ..." if calls_in(path[-1]) else ""
        return ShardyError.unexpected(
            f"'{function.name}' op copies of functions, one for each call of {names}{more}",
            expected=f"at most {self._limit} ops",
            got=f"{size}",
            remedy=self._remedy,
            where=place_of(function),
        )


def _defined_functions(module: ModuleOp) -> Iterator[Operation]:
    for op in top_level_ops(module):
        if isinstance(op, ModuleOp):
            yield from _defined_functions(op)
        elif is_defined_function(op):
            yield op
