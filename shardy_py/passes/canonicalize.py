"""`canonicalize`: folds ops, removes dead ones and applies the rewrites that ops bring.

    before  %0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}]>
            %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"x"}]>
    after   %0 = sdy.reduce_scatter [{"x"}] %arg0 out_sharding=<@mesh, [{"x"}]>

The rewrites are in `rewrites/`; `enable-patterns` restricts them to those with the labels given. Dead ops are
removed and constants merged whatever it says.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.passes.rewrites import REWRITES, apply_rewrites


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Folds ops, removes dead ones and applies the rewrites that each op brings."""

    name = "canonicalize"

    enable_patterns: tuple[str, ...] = ()

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        labels = self.enable_patterns
        apply_rewrites(op, [r for r in REWRITES if not labels or r.label in labels])
