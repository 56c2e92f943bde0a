"""From indexing maps to sharding rules.

`derive_rule` returns the rule of an op with a row, `rule_of` the same once for equal ops, `derive_from_maps`
that of any op with maps, `einsum_rule` that of a user's notation for a custom call, `ragged_dot_rule` that of
XLA for `chlo.ragged_dot`.
"""

from shardy_py.propagation.rules.derive import derive_from_maps, derive_rule, pointwise_rule, unknown_warning
from shardy_py.propagation.rules.einsum import einsum_rule
from shardy_py.propagation.rules.known import rule_of
from shardy_py.propagation.rules.ragged_dot import ragged_dot_rule

__all__ = [
    "derive_from_maps",
    "derive_rule",
    "einsum_rule",
    "pointwise_rule",
    "ragged_dot_rule",
    "rule_of",
    "unknown_warning",
]
