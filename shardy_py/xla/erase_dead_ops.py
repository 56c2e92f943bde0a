"""`xla-erase-dead-ops`: erases ops without effects whose results are not used."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.liveness import dying_ops
from shardy_py.ir import erase, walk_pre_order


@dataclass(frozen=True)
class EraseDeadOpsPass(ModulePass):
    """Erases ops without effects whose results are not used."""

    name = "xla-erase-dead-ops"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for dead in dying_ops(walk_pre_order(op, include_root=False)).values():
            if dead.parent is not None:
                erase(dead)
