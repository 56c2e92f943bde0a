"""The rewrites that `canonicalize` applies, one file a subject, and the loop that applies them.

Not passes. `REWRITES` is the list of those with patterns; `FOLDS` are applied with any of them.
"""

from shardy_py.passes.rewrites.collectives import COLLECTIVE_REWRITES
from shardy_py.passes.rewrites.driver import Rewrite, apply_rewrites
from shardy_py.passes.rewrites.folds import FOLDS, put_constants_last
from shardy_py.passes.rewrites.regions import REGION_REWRITES
from shardy_py.passes.rewrites.reshards import RESHARD_REWRITES

REWRITES: tuple[Rewrite, ...] = (*RESHARD_REWRITES, *COLLECTIVE_REWRITES, *REGION_REWRITES)

__all__ = ["FOLDS", "REWRITES", "Rewrite", "apply_rewrites", "put_constants_last"]
