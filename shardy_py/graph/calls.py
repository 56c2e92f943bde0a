"""Functions of a module and the calls of them.

Not here: order of the call graph (the passes that need it).
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from shardy_py.ir import terminator_of


class Calls:
    """Functions by name and their calls, in program order; filled op by op."""

    def __init__(self) -> None:
        """Start without any function."""
        self.functions: dict[str, Operation] = {}
        self._calls: dict[str, list[Operation]] = {}

    def add(self, op: Operation) -> None:
        """Take note of a `func.func` or `func.call`."""
        if op.name == "func.func":
            self.functions[function_name(op)] = op
        else:
            self._calls.setdefault(callee_name(op), []).append(op)

    def of_function(self, function: Operation | None) -> list[Operation]:
        """The calls of `function`."""
        return [] if function is None else self._calls.get(function_name(function), [])

    def callee(self, call: Operation) -> Operation | None:
        """The function that `call` calls, if the module has it."""
        return self.functions.get(callee_name(call))

    def argument(self, call: Operation, index: int) -> SSAValue | None:
        """The argument that operand `index` of `call` becomes."""
        function = self.callee(call)
        if function is None or not function.regions[0].blocks:
            return None
        return function.regions[0].blocks[0].args[index]

    def returned(self, call: Operation, index: int) -> SSAValue | None:
        """The value that the callee returns as result `index` of `call`."""
        function = self.callee(call)
        terminator = terminator_of(function.regions[0]) if function is not None else None
        return None if terminator is None else terminator.operands[index]


def function_name(function: Operation) -> str:
    """The symbol of a function."""
    return cast(Any, function.properties["sym_name"]).data


def callee_name(call: Operation) -> str:
    """The symbol that a call refers to."""
    return cast(Any, call.properties["callee"]).root_reference.data
