"""What stands directly in a module: its functions and meshes, in order.

Not here: looking them up by name, or naming new ones (`symbols.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy.ops import MeshOp
from shardy_py.sharding import Mesh


def top_level_ops(module: ModuleOp) -> Iterator[Operation]:
    """The ops of the body of `module`."""
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
    """The functions of `module`."""
    return tuple(cast(FuncOp, op) for op in top_level_ops(module) if op.name == "func.func")


def module_of(op: Operation) -> ModuleOp:
    """The module that `op` stands in."""
    above: Operation = op
    while (parent := above.parent_op()) is not None:
        above = parent
    return cast(ModuleOp, above)
