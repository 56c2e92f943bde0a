"""Findings as text, as JSON, and as the annotations of GitHub's workflows; those of one line as one.

Source of the last: "Workflow commands for GitHub Actions", docs.github.com. Not here: SARIF (`sarif.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardy_py.base.counting import plural
from shardy_py.base.errors import Diagnostic, Position
from shardy_py.base.json_values import JsonObject
from shardy_py.base.releases import Release, current, heading
from shardy_py.base.terminal import painted
from shardy_py.check.expectations import Met
from shardy_py.check.finding import LEVELS, Finding
from shardy_py.check.grouping import FindingGroup, grouped
from shardy_py.check.rules import RULES
from shardy_py.report.tables import bytes_text
from shardy_py.report.verdict import Verdict, verdict_json
from shardy_py.xla.targets.stage import CompileStage, stage_words

SCHEMA = 2
_OTHERS = 8
"""Values of a group that JSON lists."""
_NAMES = {row.code: row.name for row in RULES}


def findings_text(
    findings: Sequence[Finding],
    met: Sequence[Met] = (),
    stage: CompileStage | None = None,
    verdict: Verdict | None = None,
    *,
    color: bool = False,
) -> str:
    """Returns the verdict, then findings as compiler diagnostics, what was expected, and their number.

    stage: the device whose compiler's collectives were checked, which the first line says.
    """
    groups = grouped(findings)
    head = [] if stage is None else [f"collectives {stage.words}"]
    head += [] if verdict is None else [_verdict_text(verdict, color=color), ""]
    total = painted(total_text(groups), "strong" if color else "")
    return "\n".join(
        [*head, *(group_text(group, color=color) for group in groups), *map(met_text, met), total]
    )


def _verdict_text(verdict: Verdict, *, color: bool) -> str:
    first, *rest = str(verdict).split("\n")
    return "\n".join((painted(first, "strong" if color else ""), *rest))


def group_text(group: FindingGroup, *, color: bool = False) -> str:
    """Returns findings of one line as one diagnostic, with how often it recurs."""
    first, *rest = group.first.text(color=color).split("\n")
    return "\n".join((first, *([f"    {repeated}"] if (repeated := repetition(group)) else []), *rest))


def repetition(group: FindingGroup) -> str:
    """How often a finding recurs on its line; "" if once."""
    if group.count == 1:
        return ""
    phases = ", ".join(f"{count} {name}" for name, count in group.phases.items())
    layers = f"in {group.layers} layers" if group.layers else ""
    size = f"{bytes_text(group.bytes)} in all" if group.bytes else ""
    where = "on this line" if group.first.position else "in layers that are alike"
    return f"x{group.count} {where}: {'; '.join(filter(None, (layers, phases, size)))}".rstrip(": ")


def met_text(met: Met) -> str:
    """Returns how often communication was found that was expected, as a line."""
    if not met.count:
        return f"note: expected {met.expectation}, but there is none"
    return f"expected: {met.count} {met.expectation}, {bytes_text(met.bytes)}"


def total_text(groups: Sequence[FindingGroup]) -> str:
    """Returns the number of findings of each level, in words."""
    if not groups:
        return "no findings"
    counts = [(level, sum(group.first.level == level for group in groups)) for level in reversed(LEVELS)]
    total = ", ".join(f"{count} {plural(count, level)}" for level, count in counts if count)
    every = sum(group.count for group in groups)
    return total if every == len(groups) else f"{total} ({every} findings)"


def findings_json(
    findings: Sequence[Finding],
    met: Sequence[Met] = (),
    *,
    release: Release | None = None,
    stage: CompileStage | None = None,
    verdict: Verdict | None = None,
) -> JsonObject:
    """Returns all findings for JSON; docs/check.md describes the schema.

    release: of the program, `result.release`; None: the current one. stage, verdict: as of `findings_text`.
    """
    expected = [{"expected": str(m.expectation), "count": m.count, "bytes": m.bytes} for m in met]
    head = {**heading(SCHEMA, release or current()), "stage": stage_words(stage)}
    head["verdict"] = None if verdict is None else verdict_json(verdict)
    return {**head, "findings": [*map(_group_json, grouped(findings))], "expected": expected}


def _group_json(group: FindingGroup) -> JsonObject:
    others = [finding.subject for finding in group.findings[1 : _OTHERS + 1]]
    more = {"count": group.count, "total_bytes": group.bytes, "phases": dict(group.phases), "others": others}
    return {**group.first.to_json(), **more}


def findings_github(findings: Sequence[Finding], program: str = "") -> str:
    """Returns findings as workflow commands, a line each, which GitHub shows at the lines of a change.

    program: the file of findings without a position; "": they have none.
    """
    return "".join(f"{line}\n" for group in grouped(findings) for line in _commands(group, program))


def fault_command(fault: Diagnostic, program: str) -> str:
    """Returns the workflow command for a program that cannot be checked."""
    place = fault.where or Position(program, 1, 1)
    fields = f"file={_escaped(place.file, is_property=True)},line={max(place.line, 1)}"
    return f"::error {fields},title=invalid program::{_escaped(fault.message)}\n"


def _commands(group: FindingGroup, program: str) -> Iterator[str]:
    first = group.first
    command = "notice" if first.level == "note" else first.level
    place = first.position or (Position(program, 1, 1) if program else None)
    fields = {"title": f"{first.code} {_NAMES.get(first.code, '')}".strip()}
    if place is not None:
        fields = {
            "file": place.file,
            "line": str(max(place.line, 1)),
            "col": str(max(place.column, 1)),
            **fields,
        }
    given = ",".join(f"{name}={_escaped(text, is_property=True)}" for name, text in fields.items())
    lines = (f"{first.subject}: {first.message}", repetition(group), first.remedy)
    yield f"::{command} {given}::{_escaped(chr(10).join(filter(None, lines)))}"


def _escaped(text: str, *, is_property: bool = False) -> str:
    """The text with the characters that end a command or a property replaced."""
    escapes = {"%": "%25", "\r": "%0D", "\n": "%0A"}
    escapes |= {":": "%3A", ",": "%2C"} if is_property else {}
    return "".join(escapes.get(character, character) for character in text)
