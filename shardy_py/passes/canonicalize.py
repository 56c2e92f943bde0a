"""`canonicalize`: folds ops, erases dead ops and applies canonicalization patterns.

    before  %0 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}]>
            %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"x"}]>
    after   %0 = sdy.reduce_scatter [{"x"}] %arg0 out_sharding=<@mesh, [{"x"}]>

The rewrites are in `rewrites/`; `enable-patterns` selects those with the given labels. Dead ops are erased,
constants merged and ops folded in any case.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.passes.options import CanonicalizeOptions
from shardy_py.passes.rewrites import FOLDS, REWRITES, apply_rewrites


def canonicalize(module: ModuleOp, options: CanonicalizeOptions) -> None:
    """Folds ops, erases dead ops and applies the selected rewrites."""
    labels = options.enable_patterns
    apply_rewrites(module, [*FOLDS, *(r for r in REWRITES if not labels or r.label in labels)])
