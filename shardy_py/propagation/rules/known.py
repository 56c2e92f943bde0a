"""The sharding rules that were derived before: one for all ops that share a record.

Not here: deriving them (`derive.py`).
"""

from __future__ import annotations

from shardy_py.base import releases
from shardy_py.base.session import SESSION
from shardy_py.ops import OpRecord
from shardy_py.propagation.rules.derive import derive_rule
from shardy_py.sharding import ShardingRule

_Key = tuple[int, bool, releases.Release]
_RULES: dict[_Key, tuple[OpRecord, ShardingRule | None]] = SESSION.table("derived rules")
"""With the record, as its identity is the key."""


def rule_of(record: OpRecord, *, conservative_propagation: bool = False) -> ShardingRule | None:
    """Returns what `derive_rule` does, derived once for a record and release.

    record: as `record_of` returns it, the same for equal ops.
    """
    key = (id(record), conservative_propagation, releases.current())
    known = _RULES.get(key)
    if known is None:
        rule = derive_rule(record, conservative_propagation=conservative_propagation)
        known = _RULES.setdefault(key, (record, rule))
    return known[1]
