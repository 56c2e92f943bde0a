"""Checking a program: rules chosen, levels set, findings of a baseline left out.

    found = check(result, Choice(ignored=("SDY006",)))
    [finding.code for finding in found]

Not here: the rules (`catalogue.py`), text and SARIF.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from shardy_py.api import Result
from shardy_py.check.catalogue import RULES
from shardy_py.check.finding import LEVELS, Finding, Level
from shardy_py.check.rules import Limits
from shardy_py.errors import ShardyError

BASELINE_VERSION = 1
_REMEDY = "write one with sdy-check --write-baseline"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rules run: `selected` (all if empty) but those `ignored`; `levels` other than the rules' own."""

    selected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    levels: Mapping[str, Level] = field(default_factory=dict[str, Level])

    def __post_init__(self) -> None:
        """Raises `ShardyError` for a code or level that there is not."""
        known = {row.code for row in RULES}
        for code in (*self.selected, *self.ignored, *self.levels):
            if code not in known:
                raise ShardyError(f"there is no rule '{code}'; there are {', '.join(sorted(known))}")
        for level in self.levels.values():
            if level not in LEVELS:
                raise ShardyError(f"expected a level among {', '.join(LEVELS)}; got: '{level}'")


def check(result: Result, choice: Choice | None = None, limits: Limits | None = None) -> tuple[Finding, ...]:
    """All findings in a propagated program, by place in the source, then by code."""
    choice, limits = choice or Choice(), limits or Limits()
    found: list[Finding] = []
    for row in RULES:
        if row.code in choice.ignored or (choice.selected and row.code not in choice.selected):
            continue
        level = choice.levels.get(row.code, row.level)
        found.extend(replace(finding, level=level) for finding in row.find(result, limits))
    return tuple(sorted(dict.fromkeys(found), key=_order))


def without_baseline(findings: Iterable[Finding], baseline: str) -> tuple[Finding, ...]:
    """The findings that a baseline does not list, each as often as it is listed.

    Raises `ShardyError` for a text that is no baseline.
    """
    known = _read_baseline(baseline)
    left: list[Finding] = []
    for finding in findings:
        if known.get(finding.fingerprint, 0) > 0:
            known[finding.fingerprint] -= 1
        else:
            left.append(finding)
    return tuple(left)


def baseline_text(findings: Iterable[Finding]) -> str:
    """A baseline that lists these findings."""
    entries = [{"code": f.code, "fingerprint": f.fingerprint, "message": f.message} for f in findings]
    return json.dumps({"version": BASELINE_VERSION, "findings": entries}, indent=2) + "\n"


def _read_baseline(text: str) -> dict[str, int]:
    try:
        data: Any = json.loads(text)
        entries = cast("list[dict[str, str]]", data["findings"])
        prints = [entry["fingerprint"] for entry in entries]
        version = data["version"]
    except (ValueError, RecursionError) as error:
        raise ShardyError(f"not a baseline, but no JSON: {error}; {_REMEDY}") from None
    except (KeyError, TypeError):
        fact = 'not a baseline: expected {"version": 1, "findings": [{"fingerprint": ...}]}'
        raise ShardyError(f"{fact}; {_REMEDY}") from None
    if version != BASELINE_VERSION:
        raise ShardyError(f"expected a baseline of version {BASELINE_VERSION}, got: {version!r}")
    return {print_: prints.count(print_) for print_ in dict.fromkeys(prints)}


def _order(finding: Finding) -> tuple[str, int, int, str, str]:
    place = finding.position
    if place is None:
        return "", 0, 0, finding.code, finding.subject
    return place.file, place.line, place.column, finding.code, finding.subject
