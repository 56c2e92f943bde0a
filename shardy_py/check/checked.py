"""Programs that were checked, each with its findings; the linter's reports on several of them.

One program is reported as in `texts.py`, which knows the form of a finding. Not here: how programs are
checked (`checking.py`), SARIF (`sarif.py`), JUnit (`junit.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from shardy_py.base.counting import counted
from shardy_py.base.errors import Diagnostic
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release
from shardy_py.base.rows import csv_text
from shardy_py.base.terminal import painted, without_controls
from shardy_py.check.expectations import Met
from shardy_py.check.grouping import grouped
from shardy_py.check.shown import COLUMNS, Findings
from shardy_py.check.texts import (
    SCHEMA,
    fault_command,
    findings_github,
    findings_json,
    findings_text,
    met_text,
    total_text,
)
from shardy_py.report.verdict import Verdict
from shardy_py.xla.targets.stage import CompileStage


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """The findings in a program, or why it could not be checked.

    program: its file. met: the communication that was expected. release: that is followed; None if it could
    not be read. codes: of the rules that were run.
    stage: the device whose compiler's collectives were checked. verdict: None if it is not wanted.
    faults: why the program could not be checked; () if it was.
    """

    program: str
    findings: Findings = field(default_factory=Findings)
    met: tuple[Met, ...] = ()
    release: Release | None = None
    codes: tuple[str, ...] = ()
    stage: CompileStage | None = None
    verdict: Verdict | None = None
    faults: tuple[Diagnostic, ...] = ()


def checked_text(programs: Sequence[CheckedProgram], *, color: bool = False) -> str:
    """Returns the findings of each program below its name, and their number in all.

    Expected communication that no program has is a note at the end.
    """
    parts = [_program_text(program, color=color) for program in programs]
    met = {each.expectation for program in programs for each in program.met if each.count}
    unmet = dict.fromkeys(
        Met(each.expectation, 0, 0)
        for program in programs
        for each in program.met
        if each.expectation not in met
    )
    groups = [group for program in programs for group in grouped(program.findings)]
    total = f"{counted(len(programs), 'program')}: {total_text(groups)}"
    if invalid := sum(bool(program.faults) for program in programs):
        total += f"; {invalid} could not be checked"
    return "\n".join((*parts, *map(met_text, unmet), painted(total, "strong" if color else "")))


def _program_text(program: CheckedProgram, *, color: bool) -> str:
    name = painted(without_controls(program.program, lines=False), "strong" if color else "")
    if program.faults:
        return f"{name}: could not be checked\n"
    met = [each for each in program.met if each.count]
    text = findings_text(program.findings, met, program.stage, program.verdict, color=color)
    return f"{name}:\n{text}\n"


def checked_json(programs: Sequence[CheckedProgram]) -> JsonObject:
    """Returns the findings of each program, in the form of one, with its name and its faults."""
    return {"schema": SCHEMA, "programs": [*map(_program_json, programs)]}


def _program_json(program: CheckedProgram) -> JsonObject:
    fields = findings_json(
        program.findings,
        program.met,
        release=program.release,
        stage=program.stage,
        verdict=program.verdict,
    )
    faults: list[JsonObject] = [
        {
            "message": fault.message,
            **{key: getattr(fault.where, key, None) for key in ("file", "line", "column")},
        }
        for fault in program.faults
    ]
    return {"program": program.program, **fields, "faults": faults}


def checked_csv(programs: Sequence[CheckedProgram]) -> str:
    """Returns a row for each finding, of which the first column is the program."""
    rows = ({"program": each.program, **row} for each in programs for row in each.findings.to_rows())
    return csv_text(rows, ("program", *COLUMNS))


def checked_github(programs: Sequence[CheckedProgram]) -> str:
    """Returns findings as workflow commands; those without a position are shown at their program."""
    return "".join(
        findings_github(program.findings, program.program)
        + "".join(fault_command(fault, program.program) for fault in program.faults)
        for program in programs
    )
