"""The symbols of a module (functions, meshes), and unique names for new ones.

Not here: which functions call which (`call_graph.py`), which symbols nothing refers to
(`passes/symbol_dce.py`).

    symbols = Symbols(module)
    symbols.insert(clone)           # "f" if that name is free, else "f_0", "f_1", ...
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.calls import callee_name
from shardy_py.ir import erase, place_at_end
from shardy_py.sharding import Mesh
from shardy_py.text.source import position_of

FUNCTION = "func.func"
MAIN = "main"
MESH = "sdy.mesh"


class Symbols:
    """What the symbols at the top of one module name.

    Numbers behind unique names count up over all names, as in MLIR: copies of f and g are f_0 and g_1.
    """

    def __init__(self, module: ModuleOp) -> None:
        """Collect the symbols of `module`."""
        self.module = module
        self._ops: dict[str, Operation] = {}
        self._counter = 0
        op = module.body.block.first_op
        while op is not None:
            name = symbol_name(op)
            if name is not None:
                self._ops[name] = op
            op = op.next_op

    def get(self, name: str) -> Operation | None:
        """The op of that name."""
        return self._ops.get(name)

    def function(self, name: str) -> Operation:
        """The function of that name; an error if there is none."""
        op = self._ops.get(name)
        if op is None or op.name != FUNCTION:
            raise ShardyError(f"Failed to lookup function: {name}")
        return op

    def callee(self, call: Operation) -> Operation:
        """The function that a call names; an error if there is none."""
        return self.function(callee_name(call))

    def mesh(self, reference: str | Mesh) -> Mesh | None:
        """The mesh itself, of a name or an inlined mesh; None if there is none of that name."""
        if isinstance(reference, Mesh):
            return reference
        op = self._ops.get(reference)
        return cast(Any, op.properties["mesh"]).data if op is not None and op.name == MESH else None

    def meshes(self) -> dict[str, Mesh]:
        """All named meshes."""
        named = {name: op for name, op in self._ops.items() if op.name == MESH}
        return {name: cast(Any, op.properties["mesh"]).data for name, op in named.items()}

    def insert(self, op: Operation) -> str:
        """Give `op` a name of its own, put it last in the module unless it stands there, return the name."""
        if op.parent is None:
            place_at_end(op, self.module.body.block)
        wanted = symbol_name(op)
        assert wanted is not None
        name = wanted
        if name in self._ops and self._ops[name] is not op:
            while name in self._ops:
                name = f"{wanted}_{self._counter}"
                self._counter += 1
            op.properties["sym_name"] = StringAttr(name)
        self._ops[name] = op
        return name

    def erase(self, op: Operation) -> None:
        """Erase a symbol from the module."""
        name = symbol_name(op)
        if name is not None and self._ops.get(name) is op:
            del self._ops[name]
        erase(op)

    def main(self) -> Operation:
        """The function where a program starts: the only one, or else `main`; an error if there is none."""
        functions = [op for op in self._ops.values() if op.name == FUNCTION]
        if len(functions) != 1 and self.get(MAIN) not in functions:
            found = ", ".join(f"@{symbol_name(op)}" for op in functions) or "none"
            place = position_of(cast(Any, functions[0] if functions else self.module).location)
            fact = f"needs one function, or one named @{MAIN}; it has: {found}"
            raise ShardyError(Diagnostic(f"'builtin.module' op {fact}", place))
        return functions[0] if len(functions) == 1 else self.function(MAIN)


def symbol_name(op: Operation) -> str | None:
    """The symbol that `op` defines."""
    attribute = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return attribute.data if isinstance(attribute, StringAttr) else None


def set_callee(call: Operation, name: str) -> None:
    """Let `call` call the function of that name."""
    call.properties["callee"] = SymbolRefAttr(name)
