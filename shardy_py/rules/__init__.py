"""From indexing maps to sharding rules.

`derive_rule` is the rule of a known op; `derive_from_maps` that of any op whose maps are given. Rules that
users write on ops are attributes of the program, and no business of this folder.
"""

from shardy_py.rules.derive import derive_from_maps, derive_rule, unknown_warning
from shardy_py.rules.policy import POLICIES, Policy

__all__ = ["POLICIES", "Policy", "derive_from_maps", "derive_rule", "unknown_warning"]
