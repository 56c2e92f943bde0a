"""The baselines of a command line of `sdy-check`: read, written, and rid of what is gone.

Programs may have different ones, by their settings. Not here: what a baseline is
(`shardy_py.check.baselines`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import without_controls
from shardy_py.cli.shell import STANDARD, WHOLE_FILE, Files, argument, log, usage_error

if TYPE_CHECKING:
    from shardy_py.check import Baseline, CheckedProgram, Expectation
    from shardy_py.cli.checked_programs import CheckJob


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baselines of programs, by file; fixes: whether findings that are gone are removed from them."""

    known: Mapping[str, Baseline]
    fixes: bool

    @staticmethod
    def read(options: argparse.Namespace, jobs: Sequence[CheckJob], files: Files) -> Baselines:
        """Returns those of the programs.

        One that settings name may be missing if one is written: it is the one to be.

        Raises:
            ShardyError: one cannot be read, or is not a baseline; or there is none to be fixed.
        """
        named = dict.fromkeys(job.settings.baseline for job in jobs)
        may_lack = options.write_baseline is not None and options.baseline is None
        known = {
            file: _read(file, options, files)
            for file in named
            if file is not None and not (may_lack and not os.path.exists(file))
        }
        if options.fix_baseline and not known:
            raise usage_error("--fix-baseline requires --baseline, or a baseline in pyproject.toml")
        return Baselines(known, options.fix_baseline)

    def declared(self, job: CheckJob) -> tuple[Expectation, ...]:
        """Returns the communication that the baseline of a program declares as meant."""
        from shardy_py.check import Expectation

        known = self.known.get(job.settings.baseline or "")
        return () if known is None else tuple(map(Expectation.parse, known.expected))

    def without_known(
        self, jobs: Sequence[CheckJob], programs: Sequence[CheckedProgram]
    ) -> tuple[list[CheckedProgram], list[tuple[str, str]]]:
        """Returns the programs with what is new, and the baselines that are to be written; logs what is gone.

        If a program could not be checked, nothing is known to be gone.
        """
        left = [*programs]
        written: list[tuple[str, str]] = []
        for file, known in self.known.items():
            numbers = [number for number, job in enumerate(jobs) if job.settings.baseline == file]
            found = [(_name(programs[number], file), programs[number].findings) for number in numbers]
            new, kept = known.without(found)
            for number, findings in zip(numbers, new, strict=True):
                left[number] = replace(programs[number], findings=findings)
            gone = len(known.findings) - len(kept.findings)
            if not gone or any(program.faults for program in programs):
                continue
            done = "removed" if self.fixes else "--fix-baseline removes them"
            log(without_controls(f"{file}: remark: known findings that are gone: {gone:,}; {done}\n"))
            written += [(file, kept.text())] if self.fixes else []
        return left, written


def new_baseline(programs: Sequence[CheckedProgram], options: argparse.Namespace, *, is_one: bool) -> str:
    """Returns the baseline of all findings, with the communication that flags say is expected."""
    from shardy_py.check import Baseline

    named = (("" if is_one else _name(each, options.write_baseline), each.findings) for each in programs)
    return Baseline.of(named, options.expect).text()


def _name(program: CheckedProgram, baseline: str) -> str:
    """The name of a program in a baseline; "" for standard input, which stands for any."""
    from shardy_py.check import program_name

    if program.program == "<stdin>":
        return ""
    return program_name(program.program, "" if baseline == STANDARD else baseline)


def _read(file: str, options: argparse.Namespace, files: Files) -> Baseline:
    from shardy_py.check import Baseline

    text = files.read_text(file).text
    if options.baseline is not None:
        with argument("--baseline"):
            return Baseline.parse(text)
    try:
        return Baseline.parse(text)
    except ShardyError as error:
        raise ShardyError(Diagnostic(f"{file}: error: {error.first.message}", WHOLE_FILE)) from None
