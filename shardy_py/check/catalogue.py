"""The lint rules: one row a rule.

| code | finds |
|---|---|
| SDY001 | large tensors that ended up replicated though nobody asked for it |
| SDY002 | dimensions that their axes do not divide, so that shards are padded |
| SDY003 | reshards that nobody wrote |
| SDY004 | axes of a mesh that shard nothing |
| SDY005 | custom calls without a sharding rule |
| SDY006 | arguments and results whose dimensions are left open |
| SDY007 | reductions over axes with slow links |

Codes keep their meaning for good. Not here: how they find it (`rules.py`), levels and baselines
(`checking.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shardy_py.api import Result
from shardy_py.check.finding import Finding, Level
from shardy_py.check.rules import (
    Limits,
    find_calls_without_rule,
    find_implicit_reshards,
    find_open_boundaries,
    find_padded,
    find_replicated,
    find_slow_reductions,
    find_unused_axes,
)


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule.

    code: keeps its meaning for good. name: for tools. summary: what it says, in a phrase.
    level: unless another is chosen. why: it matters. help: what to do.
    """

    code: str
    name: str
    summary: str
    level: Level
    find: Callable[[Result, Limits], Iterator[Finding]]
    why: str
    help: str


RULES: tuple[RuleRow, ...] = (
    RuleRow(
        "SDY001",
        "replicated-tensor",
        "A large tensor is replicated",
        "warning",
        find_replicated,
        "A large tensor that every device holds whole takes its bytes everywhere.",
        "Shard it where the finding says, or close its dimensions to say that it is meant.",
    ),
    RuleRow(
        "SDY002",
        "non-divisible-dimension",
        "Shards are padded",
        "warning",
        find_padded,
        "Devices allocate and compute ⌈n / p⌉ elements a part, the last parts are padding.",
        "Make the size a multiple of the parts, or use fewer devices.",
    ),
    RuleRow(
        "SDY003",
        "implicit-reshard",
        "A reshard that nobody wrote",
        "warning",
        find_implicit_reshards,
        "Two shardings meet, and the partitioner moves data that nobody asked to have moved.",
        "Let the two agree, or write the reshard as a constraint, which says that it is meant.",
    ),
    RuleRow(
        "SDY004",
        "unused-mesh-axis",
        "An axis shards nothing",
        "warning",
        find_unused_axes,
        "Devices along an axis that shards nothing do the same work.",
        "Shard something over it, or leave it out of the mesh.",
    ),
    RuleRow(
        "SDY005",
        "no-sharding-rule",
        "A custom call has no rule",
        "warning",
        find_calls_without_rule,
        "Without a rule nothing passes through: both sides are decided apart, and meet in reshards.",
        "Give it a sharding rule.",
    ),
    RuleRow(
        "SDY006",
        "open-boundary",
        "An argument or result is left open",
        "note",
        find_open_boundaries,
        "How an argument or result is laid out then depends on all of the program, and may change with it.",
        "Close the dimensions, or give it a sharding.",
    ),
    RuleRow(
        "SDY007",
        "slow-reduction",
        "A reduction over slow links",
        "warning",
        find_slow_reductions,
        "Reductions over slow links take long: more so than gathers, they move all of a tensor.",
        "Sum over a dimension that another axis cuts.",
    ),
)
"""All rules."""
