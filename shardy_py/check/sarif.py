"""Findings as SARIF, which code hosts show next to source lines.

Source: "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS Standard, 2020. Not here:
text and the package's own JSON (`finding.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py import __version__
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.base.json_values import JsonObject
from shardy_py.base.releases import KEY, Release, current
from shardy_py.base.sarif import file_uri, physical_location, sarif_log
from shardy_py.check.checked import CheckedProgram
from shardy_py.check.finding import Finding
from shardy_py.check.grouping import FindingGroup, grouped
from shardy_py.check.rule import RuleRow
from shardy_py.check.rules import RULES
from shardy_py.check.shown import Findings
from shardy_py.report.verdict import TriedChange, Verdict, change_json, verdict_json


def findings_sarif(
    findings: Sequence[Finding],
    program: str = "",
    *,
    release: Release | None = None,
    verdict: Verdict | None = None,
    help_uri: str = "",
) -> JsonObject:
    """Returns a SARIF log of one run, with the release of JAX among its properties.

    program: the file for findings without a position, because code hosts reject results without one.
    release: of the program, `result.release`; None: the current one. verdict: a property of the run.
    help_uri: where the rules are described; "" if nowhere.
    """
    only = CheckedProgram(program, Findings(findings), release=release or current(), verdict=verdict)
    return _log([only], _properties(only), help_uri)


def checked_sarif(programs: Sequence[CheckedProgram], *, help_uri: str = "") -> JsonObject:
    """Returns a SARIF log of one run on several programs; each is one of its properties, with its verdict.

    Programs that could not be checked are notifications of the run, which was not successful then.
    """
    properties = [{"program": program.program, **_properties(program)} for program in programs]
    return _log(programs, {"programs": properties}, help_uri)


def _log(programs: Sequence[CheckedProgram], properties: JsonObject, help_uri: str) -> JsonObject:
    numbers = {row.code: number for number, row in enumerate(RULES)}
    driver = {"name": "sdy-check", "version": __version__, "rules": [_rule(row, help_uri) for row in RULES]}
    results = [
        _result(group, numbers[group.first.code], program.program)
        for program in programs
        for group in grouped(program.findings)
    ]
    faults = [_notification(fault, each.program) for each in programs for fault in each.faults]
    run: JsonObject = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    if faults:
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": faults}]
    run["properties"] = properties
    return sarif_log(run)


def _properties(program: CheckedProgram) -> JsonObject:
    release: JsonObject = {} if program.release is None else {KEY: program.release.name}
    return release | ({} if program.verdict is None else {"verdict": verdict_json(program.verdict)})


def _notification(fault: Diagnostic, program: str) -> JsonObject:
    place = fault.where or Position(program, 1, 1)
    location = {"physicalLocation": physical_location(place)}
    return {"level": "error", "message": {"text": fault.message}, "locations": [location]}


def _rule(row: RuleRow, help_uri: str) -> JsonObject:
    texts = ("shortDescription", row.summary), ("fullDescription", row.why), ("help", row.help)
    level = {"defaultConfiguration": {"level": row.level}}
    link = {"helpUri": help_uri} if help_uri else {}
    return {"id": row.code, "name": row.name, **{key: {"text": text} for key, text in texts}, **link, **level}


def _fixes(change: TriedChange) -> list[JsonObject]:
    """The replacements of a change in the source, as one fix; none if it has none."""
    changes: dict[str, list[JsonObject]] = {}
    for fix in change.fixes:
        region = {
            "startLine": fix.start.line,
            "startColumn": fix.start.column + 1,
            "endLine": fix.end.line,
            "endColumn": fix.end.column + 1,
        }
        replacement: JsonObject = {"deletedRegion": region, "insertedContent": {"text": fix.new}}
        changes.setdefault(fix.start.file, []).append(replacement)
    files = [
        {"artifactLocation": {"uri": file_uri(file)}, "replacements": each} for file, each in changes.items()
    ]
    return [{"description": {"text": change.saving}, "artifactChanges": files}] if files else []


def _result(group: FindingGroup, number: int, program: str) -> JsonObject:
    finding = group.first
    place = finding.position or (Position(program, 1, 1) if program else None)
    location: JsonObject = {} if place is None else {"physicalLocation": physical_location(place)}
    if finding.function:
        name = f"{finding.function}:{finding.subject}"
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": finding.level,
        "message": {"text": f"{finding.subject}: {finding.message}. {finding.remedy}"},
        "locations": [location] if location else [],
        **({"occurrenceCount": group.count} if group.count > 1 else {}),
        "partialFingerprints": {"sdyCheck/v1": finding.fingerprint},
        **_savings(finding.change),
    }


def _savings(change: TriedChange | None) -> JsonObject:
    if change is None:
        return {}
    fixes = _fixes(change)
    return {**({"fixes": fixes} if fixes else {}), "properties": {"savings": change_json(change)}}
