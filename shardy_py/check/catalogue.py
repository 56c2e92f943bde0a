"""The lint rules: one row a rule. Codes are stable and never reused.

Not here: finding violations (`rules.py`), levels and baselines (`checking.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shardy_py.api import Result
from shardy_py.check import rules
from shardy_py.check.finding import Finding, Level
from shardy_py.check.rules import Limits


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule.

    name: for tools. summary: the finding in a phrase. level: the default.
    find: returns the findings, whose code and level are set afterwards.
    why: the reason why it matters. help: the remedy.
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
        rules.find_replicated,
        "Every device holds the whole tensor.",
        "Shard it as the finding suggests, or close its dimensions if it is intended.",
    ),
    RuleRow(
        "SDY002",
        "non-divisible-dimension",
        "Shards are padded",
        "warning",
        rules.find_padded,
        "Each device allocates and computes ⌈n / p⌉ elements; the last shards are padded.",
        "Make the size a multiple of the number of shards, or use fewer devices.",
    ),
    RuleRow(
        "SDY003",
        "implicit-reshard",
        "Implicit communication",
        "warning",
        rules.find_implicit_reshards,
        "Two annotations conflict, and the partitioner inserts communication.",
        "Make the annotations agree, or write the reshard as a constraint if it is intended.",
    ),
    RuleRow(
        "SDY004",
        "unused-mesh-axis",
        "A mesh axis is unused",
        "warning",
        rules.find_unused_axes,
        "Devices along an unused axis do the same work.",
        "Shard something along it, or remove it from the mesh.",
    ),
    RuleRow(
        "SDY005",
        "no-sharding-rule",
        "A custom call has no sharding rule",
        "warning",
        rules.find_calls_without_rule,
        "Without a rule, shardings do not propagate through the op; operands and results are decided "
        "separately and may need reshards.",
        "Add a sharding rule.",
    ),
    RuleRow(
        "SDY006",
        "open-boundary",
        "An argument or result is open",
        "note",
        rules.find_open_boundaries,
        "The layout of the argument or result depends on the whole program and may change with it.",
        "Close the dimensions, or add a sharding.",
    ),
    RuleRow(
        "SDY007",
        "slow-reduction",
        "A reduction uses slow links",
        "warning",
        rules.find_slow_reductions,
        "A reduction over slow links is expensive: unlike a gather, it moves the whole tensor.",
        "Shard the contracted dimension along another axis.",
    ),
)
