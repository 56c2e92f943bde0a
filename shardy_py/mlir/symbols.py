"""The symbols of a module (functions, meshes), and unique names for new ones.

Not here: which functions call which (`calls.py`), unreferenced symbols (`passes/import_/call_graph.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.dialects.sdy.ops import MeshOp
from shardy_py.mlir.ir import erase, place_at_end, walk_pre_order
from shardy_py.mlir.op_errors import errors_at, place_of
from shardy_py.mlir.typed import property_of, text_of
from shardy_py.sharding import Mesh

MAIN = "main"


class Symbols:
    """The symbols at the top level of one module.

    Numbers of unique names count up over all names, as in MLIR: copies of f and g are f_0 and g_1.
    """

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self._counter = 0
        self._ops: dict[str, Operation] = {}
        self._nested: list[ModuleOp] = []
        for op in top_level_ops(module):
            name = symbol_name(op)
            if name is not None:
                self._ops[name] = op
            if type(op) is ModuleOp:
                self._nested.append(op)

    def get(self, name: str) -> Operation | None:
        """The op of that name, or None."""
        return self._ops.get(name)

    def function(self, name: str) -> Operation:
        """The function of that name; raises `ShardyError` if there is none."""
        op = self._ops.get(name)
        if not isinstance(op, FuncOp):
            raise ShardyError(f"Failed to lookup function: {name}")
        return op

    def callee(self, call: Operation) -> Operation:
        """The callee of a call; raises `ShardyError` if there is none, or for calls in nested modules."""
        self._check_nested()
        with errors_at(call):
            return self.function(callee_name(call))

    def mesh(self, reference: str | Mesh) -> Mesh | None:
        """The mesh of a name, or an inlined mesh itself; None for an unknown name."""
        if isinstance(reference, Mesh):
            return reference
        self._check_nested()
        op = self._ops.get(reference)
        return op.mesh.data if isinstance(op, MeshOp) else None

    def meshes(self) -> dict[str, Mesh]:
        """The meshes by symbol."""
        self._check_nested()
        return {name: op.mesh.data for name, op in self._ops.items() if isinstance(op, MeshOp)}

    def _check_nested(self) -> None:
        """Raises `ShardyError` for a call or mesh of a nested module: names mean other symbols there."""
        if not self._nested:
            return
        for op in chain.from_iterable(map(walk_pre_order, self._nested)):
            if type(op) is CallOp:
                what = f"'{op.name}' op of a nested module"
            elif type(op) is MeshOp and not self._is_outer(op):
                what = f"mesh @{op.sym_name.data} of a nested module"
            else:
                continue
            raise ShardyError.unsupported(what, remedy="move it to the outermost module", where=place_of(op))

    def _is_outer(self, op: MeshOp) -> bool:
        outer = self._ops.get(op.sym_name.data)
        return isinstance(outer, MeshOp) and outer.mesh == op.mesh

    def insert(self, op: Operation) -> str:
        """Make the name of `op` unique and return it; a detached op is placed at the end of the module."""
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
        """The entry function: the only function, or else `main`; raises `ShardyError` if there is none."""
        functions = {name: op for name, op in self._ops.items() if isinstance(op, FuncOp)}
        if len(functions) == 1:
            return next(iter(functions.values()))
        if MAIN not in functions:
            names = ", ".join(f"@{name}" for name in functions) or "none"
            place = place_of(next(iter(functions.values()), self.module))
            fact = f"needs one function, or one named @{MAIN}; it has: {names}"
            raise ShardyError(Diagnostic(f"'builtin.module' op {fact}", place))
        return functions[MAIN]


def symbol_name(op: Operation) -> str | None:
    """The symbol that `op` defines, or None."""
    attribute = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return attribute.data if isinstance(attribute, StringAttr) else None


def function_name(function: Operation) -> str:
    """The symbol of a function."""
    return text_of(function, "sym_name")


def callee_name(call: Operation) -> str:
    """The symbol that a call refers to."""
    return property_of(call, "callee", SymbolRefAttr).root_reference.data


def set_callee(call: Operation, name: str) -> None:
    """Make `call` call the function of that name."""
    call.properties["callee"] = SymbolRefAttr(name)


def top_level_ops(module: ModuleOp) -> Iterator[Operation]:
    """The ops in the body of `module`, in order; the caller may erase or move the op it was given."""
    block = module.body.first_block
    op = None if block is None else block.first_op
    while op is not None:
        following = op.next_op
        yield op
        op = following


def meshes_of(module: ModuleOp) -> dict[str, Mesh]:
    """The meshes of `module` by symbol."""
    return {op.sym_name.data: op.mesh.data for op in top_level_ops(module) if isinstance(op, MeshOp)}


def functions_of(module: ModuleOp) -> tuple[FuncOp, ...]:
    """The functions of `module`, in order."""
    return tuple(op for op in top_level_ops(module) if isinstance(op, FuncOp))


def module_of(op: Operation) -> ModuleOp:
    """The outermost op around `op`, which is a module."""
    while (parent := op.parent_op()) is not None:
        op = parent
    return cast(ModuleOp, op)
