"""The rewrites of `canonicalize`, one file a subject, and the loop that applies them.

Those with patterns are made for one module, of which they keep what they visited; `FOLDS` are applied with
any.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import CanonicalizeOptions
from shardy_py.passes.rewrites.communication import collective_rewrites
from shardy_py.passes.rewrites.driver import Rewrite, apply_rewrites
from shardy_py.passes.rewrites.folds import FOLDS, REGION_REWRITES, put_constants_last
from shardy_py.passes.rewrites.reshards import EQUAL, MADE, MOVED, reshard_rewrites

__all__ = ["FOLDS", "Rewrite", "apply_rewrites", "canonicalize", "put_constants_last"]


def canonicalize(module: ModuleOp, options: CanonicalizeOptions) -> None:
    """`canonicalize`: folds ops, erases dead ops and applies canonicalization patterns.

    before  %0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}]>
        %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"x"}]>
    after   %0 = sdy.reduce_scatter [{"x"}] %arg0 out_sharding=<@mesh, [{"x"}]>

    `enable-patterns` selects the rewrites with these labels. Dead ops are erased, constants merged and ops
    folded in any case.
    """
    labels = options.enable_patterns
    rewrites = (*reshard_rewrites(), *collective_rewrites(), *REGION_REWRITES)
    chosen = [r for r in rewrites if (r.label in labels if labels else r.label not in (EQUAL, MADE, MOVED))]
    apply_rewrites(module, [*FOLDS, *chosen])
