"""From indexing maps to sharding rules.

`derive_rule` is the rule of a known op; `derive_from_maps` that of any op whose maps are given; `einsum_rule`
one that a user spells for a custom call.
"""

from shardy_py.rules.derive import derive_from_maps, derive_rule, unknown_warning
from shardy_py.rules.einsum import einsum_rule

__all__ = ["derive_from_maps", "derive_rule", "einsum_rule", "unknown_warning"]
