"""Lint rules: code, texts and the function that finds; and the minimum sizes of findings.

Not here: the rules (`rules.py`, `communication_rules.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from xdsl.ir import Operation

from shardy_py.api import Result, Value
from shardy_py.base.records import dataclass
from shardy_py.check import tensors
from shardy_py.check.finding import Finding, Level
from shardy_py.hardware.cost import CostModel
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.source import position_of
from shardy_py.report.communication import CollectiveUse, CommunicationReport, Partitioner
from shardy_py.report.verdict import SuggestedSharding, TriedChange, Verdict
from shardy_py.search.verdicts import ResultVerdicts
from shardy_py.xla.targets.stage import CompileStage


@dataclass(frozen=True, slots=True)
class Limits:
    """Minimum bytes for findings, of the global tensor or received per device; the costs of links.

    partitioner: whose collectives, as for `Result.communication`. padding_bytes: on each device. stage: the
    device whose compiler's collectives they are; None: they are as partitioned. tries: the changes that are
    tried alone; None: by the size of the program.
    """

    replicated_bytes: int = 64 << 20
    reshard_bytes: int = 1 << 20
    model: CostModel | None = None
    partitioner: Partitioner | None = None
    padding_bytes: int = 1 << 20
    stage: CompileStage | None = None
    tries: int | None = None

    def communication(self, result: Result) -> CommunicationReport:
        """Returns the collectives that are checked."""
        target = None if self.stage is None else self.stage.placement
        report = result.communication(self.model, target=target, partitioner=self.partitioner)
        if self.tries is not None and result.record is not None:
            result.kept(ResultVerdicts).ask(report, self.tries)
        return report

    def verdict(self, result: Result) -> Verdict:
        """Returns the verdict on these collectives."""
        target = None if self.stage is None else self.stage.placement
        return result.verdict(self.model, target=target, partitioner=self.partitioner, tries=self.tries)


Find = Callable[[Result, Limits], Iterator[Finding]]


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
    find: Find
    why: str
    help: str


_ROWS: list[RuleRow] = []


def rule(
    code: str, name: str, summary: str, *, why: str, help: str, level: Level = "warning"
) -> Callable[[Find], Find]:
    """Adds the decorated function to the rules."""

    def add(find: Find) -> Find:
        _ROWS.append(RuleRow(code, name, summary, level, find, why, help))
        return find

    return add


def rows() -> tuple[RuleRow, ...]:
    """All rules so far, by code."""
    return tuple(sorted(_ROWS, key=lambda row: row.code))


def finding_of(value: Value, message: str, remedy: str, *annotations: SuggestedSharding) -> Finding:
    """The finding on a value; annotations: that are its remedy."""
    # What a value is called whatever comes before it: its label, or its op, type and name in the source.
    anchor = value.label or value.name
    if not value.label and value.role == "intermediate":
        name = value.location.partition(" ")[2]
        anchor = f"{value.op_name} {attribute_text(value.entry.type)} {name}"
    return Finding(
        *("", "warning", message, remedy, value.label or value.name, value.function),
        *(position_of(value.entry.location), value.location, tensors.global_bytes(value), anchor),
        scope=name_stack(value.entry.location),
        annotations=annotations,
    )


def use_finding(use: CollectiveUse, message: str, remedy: str, change: TriedChange | None = None) -> Finding:
    """The finding on a collective; change: that the remedy names, as tried."""
    cause = use.cause
    op: Operation | None = cause.made_for
    return Finding(
        *("", "warning", message, remedy, cause.op, use.function),
        *(cause.position, cause.location, use.cost.bytes),
        scope="" if op is None else name_stack(op.location),
        kind=use.kind,
        axes=use.axis_names,
        times=use.times,
        change=change,
    )


def listed(words: Iterable[object]) -> str:
    """The words with commas between them."""
    return ", ".join(map(str, words))
