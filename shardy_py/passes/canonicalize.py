"""`canonicalize`: folds ops, removes dead ones and applies the rewrites that ops bring.

    before  %0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}]>
            %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"x"}]>
    after   %0 = sdy.reduce_scatter [{"x"}] %arg0 out_sharding=<@mesh, [{"x"}]>

The rewrites are in `rewrites/`; `enable-patterns` restricts them to those with the labels given. Dead ops are
removed and constants merged whatever it says.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import CanonicalizeOptions
from shardy_py.passes.rewrites import FOLDS, REWRITES, apply_rewrites


def canonicalize(module: ModuleOp, options: CanonicalizeOptions) -> None:
    """Folds ops, removes dead ones and applies the rewrites that each op brings."""
    labels = options.enable_patterns
    apply_rewrites(module, [*FOLDS, *(r for r in REWRITES if not labels or r.label in labels)])
