"""Checks a program: selected rules, levels, baselines.

    found = check(result, Choice(ignored=("SDY006",)))
    [finding.code for finding in found]

Not here: the rules (`rules.py`), text, JSON and SARIF.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from shardy_py.api import Result
from shardy_py.api.arguments import expect, shown
from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.session import without_collection
from shardy_py.base.terminal import json_text
from shardy_py.check.expectations import Expectation, Met, without_expected
from shardy_py.check.finding import LEVELS, Finding, Level
from shardy_py.check.rules import RULES, Limits
from shardy_py.check.shown import Findings

BASELINE_VERSION = 1


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
        if row.code not in choice.ignored and row.code in (choice.selected or (row.code,))
        for finding in row.find(result, limits)
    ]
    return Findings(sorted(dict.fromkeys(findings), key=_order))


def without_meant(
    result: Result, findings: Findings, expected: Iterable[str | Expectation]
) -> tuple[Findings, tuple[Met, ...]]:
    """Returns the findings that no expectation covers, and what each covers.

    Raises:
        ShardyError: an expectation is invalid, or names an unknown axis.
    """
    meant = [Expectation.parse(each) if isinstance(each, str) else each for each in expected]
    axes = (axis.name for mesh in result.program.meshes.values() for axis in mesh.axes)
    left, met = without_expected(findings, meant, axes)
    return Findings(left), met


def without_baseline(findings: Iterable[Finding], baseline: str) -> Findings:
    """Returns the findings beyond those of a baseline.

    Raises:
        ShardyError: the text is not a baseline.
    """
    allowed = Counter(_fingerprints(baseline))
    left: list[Finding] = []
    for finding in findings:
        allowed[finding.fingerprint] -= 1
        if allowed[finding.fingerprint] < 0:
            left.append(finding)
    return Findings(left)


def expected_in(baseline: str) -> tuple[Expectation, ...]:
    """Returns the communication that a baseline declares as meant: its list "expected".

    Raises:
        ShardyError: the text is not a baseline, or an expectation is invalid.
    """
    _fingerprints(baseline)
    listed: Any = json.loads(baseline).get("expected", [])
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in cast("list[Any]", listed)):
        expected = 'a list of texts such as "all_gather:fsdp"'
        raise ShardyError.unexpected('invalid "expected"', expected=expected, got=shown(cast("Any", listed)))
    return tuple(Expectation.parse(text) for text in cast("list[str]", listed))


def baseline_text(findings: Iterable[Finding], expected: Iterable[str] = ()) -> str:
    """Returns a baseline of these findings, with the communication that is expected besides."""
    entries = [{"code": f.code, "fingerprint": f.fingerprint, "message": f.message} for f in findings]
    data: JsonObject = {"version": BASELINE_VERSION, "findings": entries}
    if listed := [*expected]:
        data["expected"] = listed
    return json_text(data, 2) + "\n"


def _fingerprints(text: str) -> list[str]:
    expected = f'{{"version": {BASELINE_VERSION}, "findings": [{{"fingerprint": ...}}]}}'
    try:
        data: Any = json.loads(text)
        prints = [entry["fingerprint"] for entry in cast("list[dict[str, Any]]", data["findings"])]
        got = "" if data["version"] == BASELINE_VERSION else f"version {shown(data['version'])}"
        others = [each for each in prints if not isinstance(each, str)]
        if others and not got:
            got = f"the fingerprint {shown(others[0])}"
    except (ValueError, RecursionError) as error:
        prints, got = [], f"invalid JSON: {error}"
    except (KeyError, TypeError):
        prints, got = [], "other JSON"
    if got:
        remedy = "write a baseline with sdy-check --write-baseline"
        raise ShardyError.unexpected("invalid baseline", expected=expected, got=got, remedy=remedy)
    return prints


def _order(finding: Finding) -> tuple[str, int, int, str, str]:
    place = finding.position
    if place is None:
        return "", 0, 0, finding.code, finding.subject
    return place.file, place.line, place.column, finding.code, finding.subject
