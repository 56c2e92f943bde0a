"""`xla-erase-dead-ops`: erases ops without effects whose results are not used."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.liveness import dead_ops
from shardy_py.ir import erase, walk_pre_order


def erase_dead_ops(module: ModuleOp) -> None:
    """Erases ops without effects whose results are not used."""
    for op in dead_ops(walk_pre_order(module, include_root=False)).values():
        if op.parent is not None:
            erase(op)
