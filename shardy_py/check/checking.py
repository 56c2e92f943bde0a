"""Checks a program: selected rules, levels, expected communication.

    found = check(result, Choice(ignored=("SDY006",)))
    [finding.code for finding in found]

Not here: the rules (`rules.py`), baselines (`baselines.py`), text, JSON and SARIF.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from shardy_py.api import Result
from shardy_py.api.arguments import expect
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.check.expectations import Expectation, Met, without_expected
from shardy_py.check.finding import LEVELS, Finding, Level
from shardy_py.check.rules import RULES, Limits
from shardy_py.check.shown import Findings


@dataclass(frozen=True, slots=True)
class Choice:
    """The rules to run: `selected` (all if empty) without `ignored`; `levels` replace the defaults."""

    selected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    levels: Mapping[str, Level] = field(default_factory=dict[str, Level])

    def __post_init__(self) -> None:
        """Raises `ShardyError` for an unknown code or level."""
        codes = [row.code for row in RULES]
        for code in (*self.selected, *self.ignored, *self.levels):
            if code not in codes:
                raise ShardyError.unknown("rule", code, codes)
        for level in self.levels.values():
            if level not in LEVELS:
                raise ShardyError.unknown("level", level, LEVELS)

    @property
    def codes(self) -> tuple[str, ...]:
        """The rules that run."""
        chosen = (row.code for row in RULES if not self.selected or row.code in self.selected)
        return tuple(code for code in chosen if code not in self.ignored)


def check(
    result: Result,
    choice: Choice | None = None,
    limits: Limits | None = None,
    *,
    expected: Iterable[str | Expectation] = (),
) -> Findings:
    """Returns all findings in a propagated program, by place in the source, then by code.

    expected: expected communication, such as `all_gather:fsdp`: findings on it are left out.

    Raises:
        ShardyError: an expectation is invalid, or names an unknown axis.
    """
    return without_meant(result, findings_in(result, choice, limits), expected)[0]


@without_collection()
def findings_in(result: Result, choice: Choice | None = None, limits: Limits | None = None) -> Findings:
    """Returns all findings, also on expected communication."""
    expect(result, Result, "the Result of propagate(program)")
    choice, limits = choice or Choice(), limits or Limits()
    findings = [
        replace(finding, code=row.code, level=choice.levels.get(row.code, row.level))
        for row in RULES
        if row.code in choice.codes
        for finding in row.find(result, limits)
    ]
    return Findings(sorted(dict.fromkeys(findings), key=_order))


def without_meant(
    result: Result, findings: Findings, expected: Iterable[str | Expectation], *, is_strict: bool = True
) -> tuple[Findings, tuple[Met, ...]]:
    """Returns the findings that no expectation covers, and what each covers.

    is_strict: whether it is an error that one names an axis that the program lacks: not for those that are
        stated for several programs.

    Raises:
        ShardyError: an expectation is invalid, or names an unknown axis.
    """
    meant = [Expectation.parse(each) if isinstance(each, str) else each for each in expected]
    axes = [axis.name for mesh in result.program.meshes.values() for axis in mesh.axes]
    left, met = without_expected(findings, meant, axes if is_strict else None)
    return Findings(left), met


def _order(finding: Finding) -> tuple[str, int, int, str, str]:
    place = finding.position
    if place is None:
        return "", 0, 0, finding.code, finding.subject
    return place.file, place.line, place.column, finding.code, finding.subject
