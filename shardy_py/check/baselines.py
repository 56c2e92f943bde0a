"""Baselines: files that list known findings, so that only new ones are reported.

    known = Baseline.parse(text)
    left, kept = known.without((("model.mlir", findings),))

Findings are matched by fingerprint; in a baseline of several programs, by program too. Not here: files
(`cli/check.py`), fingerprints (`finding.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from shardy_py.api.arguments import shown
from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import json_text
from shardy_py.check.expectations import Expectation
from shardy_py.check.finding import Finding
from shardy_py.check.shown import Findings

BASELINE_VERSION = 1


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """A finding of a baseline; program: the only one that it is of, "" for any."""

    fingerprint: str
    code: str = ""
    message: str = ""
    program: str = ""

    def to_json(self) -> JsonObject:
        """Returns the entry of the file."""
        entry: JsonObject = {"code": self.code, "fingerprint": self.fingerprint, "message": self.message}
        return {**entry, "program": self.program} if self.program else entry


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings, and the communication that is declared as meant."""

    findings: tuple[KnownFinding, ...]
    expected: tuple[str, ...] = ()

    @staticmethod
    def of(programs: Iterable[tuple[str, Iterable[Finding]]], expected: Iterable[str] = ()) -> Baseline:
        """Returns the baseline of the findings of programs, by their names; "" for the only one."""
        known = (
            KnownFinding(finding.fingerprint, finding.code, finding.message, program)
            for program, findings in programs
            for finding in findings
        )
        return Baseline(tuple(known), tuple(expected))

    @staticmethod
    def parse(text: str) -> Baseline:
        """Returns the baseline that a file holds.

        Raises:
            ShardyError: the text is not a baseline, or an expectation is invalid.
        """
        try:
            import json  # for a baseline only

            data: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _invalid(f"invalid JSON: {error}") from None
        if not is_mapping(data) or "findings" not in data or "version" not in data:
            raise _invalid("other JSON")
        if data["version"] != BASELINE_VERSION:
            raise _invalid(f"version {shown(data['version'])}")
        entries = data["findings"]
        if not is_sequence(entries):
            raise _invalid("other JSON")
        listed: object = data.get("expected", [])
        expected = [text for text in listed if isinstance(text, str)] if is_sequence(listed) else []
        if not is_sequence(listed) or len(expected) < len(listed):
            wanted = 'a list of texts such as "all_gather:fsdp"'
            raise ShardyError.unexpected('invalid "expected"', expected=wanted, got=shown(listed))
        for each in expected:
            Expectation.parse(each)
        return Baseline(tuple(map(_known, entries)), tuple(expected))

    def without(self, programs: Sequence[tuple[str, Findings]]) -> tuple[list[Findings], Baseline]:
        """Returns the findings of each program that are not known, and the baseline without those gone.

        Findings of other programs stay in it. A name "" stands for any program.
        """
        waiting: dict[str, list[int]] = {}
        for number, known in enumerate(self.findings):
            waiting.setdefault(known.fingerprint, []).append(number)
        left = [Findings(f for f in found if not self._takes(waiting, name, f)) for name, found in programs]
        checked = {"", *(name for name, _ in programs)}
        unmet = {number for numbers in waiting.values() for number in numbers}
        kept = (
            known
            for number, known in enumerate(self.findings)
            if number not in unmet or known.program not in checked
        )
        return left, Baseline(tuple(kept), self.expected)

    def _takes(self, waiting: dict[str, list[int]], program: str, finding: Finding) -> bool:
        """Returns whether a finding is known, and takes its entry, if possible one of the program."""
        numbers = waiting.get(finding.fingerprint, [])
        programs = [self.findings[number].program for number in numbers]
        wanted = program if program in programs else "" if program else next(iter(programs), None)
        if wanted not in programs:
            return False
        del numbers[programs.index(wanted)]
        return True

    def text(self) -> str:
        """Returns the file."""
        data: JsonObject = {"version": BASELINE_VERSION, "findings": [f.to_json() for f in self.findings]}
        if self.expected:
            data["expected"] = [*self.expected]
        return json_text(data, 2) + "\n"


def program_name(program: str, baseline: str) -> str:
    """Returns the name of a program in a baseline: its path from the folder of that file."""
    try:
        path = os.path.relpath(program, os.path.dirname(baseline) or os.curdir)
    except ValueError:  # on another drive
        path = program
    return path.replace(os.sep, "/")


def without_baseline(findings: Iterable[Finding], baseline: str) -> Findings:
    """Returns the findings beyond those of a baseline.

    Raises:
        ShardyError: the text is not a baseline.
    """
    return Baseline.parse(baseline).without((("", Findings(findings)),))[0][0]


def baseline_text(findings: Iterable[Finding], expected: Iterable[str] = ()) -> str:
    """Returns a baseline of these findings, with the communication that is expected besides."""
    return Baseline.of((("", findings),), expected).text()


def _known(entry: object) -> KnownFinding:
    if not is_mapping(entry) or "fingerprint" not in entry:
        raise _invalid("other JSON")
    fields = {name: entry.get(name, "") for name in ("fingerprint", "code", "message", "program")}
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    if wrong := [name for name in fields if name not in texts]:
        raise _invalid(f"the {wrong[0]} {shown(fields[wrong[0]])}")
    return KnownFinding(**texts)


def _invalid(got: str) -> ShardyError:
    expected = f'{{"version": {BASELINE_VERSION}, "findings": [{{"fingerprint": ...}}]}}'
    remedy = "write a baseline with sdy-check --write-baseline"
    return ShardyError.unexpected("invalid baseline", expected=expected, got=got, remedy=remedy)
