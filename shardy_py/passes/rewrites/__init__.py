"""The rewrites that `canonicalize` applies, one file a subject, and the loop that applies them.

Not passes. `REWRITES` is the list; a rewrite with a label runs alone when the pass is told so.
"""

from shardy_py.passes.rewrites.collectives import COLLECTIVE_REWRITES
from shardy_py.passes.rewrites.control_flow import CONTROL_FLOW_REWRITES
from shardy_py.passes.rewrites.driver import apply_rewrites
from shardy_py.passes.rewrites.manual import MANUAL_REWRITES
from shardy_py.passes.rewrites.record import Rewrite
from shardy_py.passes.rewrites.reshards import RESHARD_REWRITES

REWRITES: tuple[Rewrite, ...] = (
    *RESHARD_REWRITES,
    *COLLECTIVE_REWRITES,
    *MANUAL_REWRITES,
    *CONTROL_FLOW_REWRITES,
)

__all__ = ["REWRITES", "Rewrite", "apply_rewrites"]
