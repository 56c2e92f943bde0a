"""Findings as JUnit's XML, which CI servers show as tests: a suite a program, a test a rule that was run.

So a test has the same name in each build, and fails if its rule finds something that counts. Source: the
schema of Jenkins' xUnit plugin, jenkinsci/xunit-plugin, which GitLab and others read too. Not here: text and
JSON (`checked.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from shardy_py.check.checked import CheckedProgram
from shardy_py.check.finding import Finding, Level
from shardy_py.check.grouping import grouped
from shardy_py.check.rules import RULES
from shardy_py.check.texts import group_text

_NAMES = {row.code: row.name for row in RULES}
_INVALID = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that XML cannot have; compiled when a document is written."""
# The standard library's escapes import its HTTP client.
_IN_TEXT = {ord(each): f"&{name};" for each, name in (("&", "amp"), ("<", "lt"), (">", "gt"))}
_IN_VALUE = _IN_TEXT | {ord('"'): "&quot;"} | {ord(each): f"&#{ord(each)};" for each in "\t\n\r"}


Fails = Callable[[Level], bool]
"""Returns whether a finding of a level makes the check of a program fail."""


def checked_junit(programs: Sequence[CheckedProgram], fails: Sequence[Fails]) -> str:
    """Returns the document; fails: of each program."""
    suites = [_suite(program, each) for program, each in zip(programs, fails, strict=True)]
    counts = [sum(numbers) for numbers in zip(*(count for _, count in suites), strict=True)] or [0, 0, 0]
    head = f'<testsuites name="sdy-check"{_counts(counts)}>'
    return "\n".join(
        ('<?xml version="1.0" encoding="UTF-8"?>', head, *(t for t, _ in suites), "</testsuites>\n")
    )


def _suite(program: CheckedProgram, fails: Fails) -> tuple[str, tuple[int, int, int]]:
    """The suite of a program; its numbers of tests, failures and errors."""
    if program.faults:
        text = "\n".join(map(str, program.faults))
        inner = _element("error", _text(text), message=program.faults[0].message, type="invalid program")
        tests = [_test(program.program, "program", inner)]
        counts = (1, 0, 1)
    else:
        tests: list[str] = []
        failures = 0
        for code in program.codes:
            found = [finding for finding in program.findings if finding.code == code]
            is_failed = any(fails(finding.level) for finding in found)
            tests.append(
                _test(program.program, f"{code} {_NAMES[code]}", _outcome(found, is_failed=is_failed))
            )
            failures += is_failed
        counts = len(tests), failures, 0
    body = "\n".join(("", *tests, "  "))
    suite = f"  <testsuite name={_quoted(program.program)}{_counts(counts)}>{body}</testsuite>"
    return suite, counts


def _outcome(findings: Sequence[Finding], *, is_failed: bool) -> str:
    if not findings:
        return ""
    groups = grouped(findings)
    text = _text("\n".join(map(group_text, groups)))
    if not is_failed:
        return f"<system-out>{text}</system-out>"
    more = f" (and {len(groups) - 1} more)" if len(groups) > 1 else ""
    first = findings[0]
    place = f"{first.position}: " if first.position else ""
    return _element("failure", text, message=f"{place}{first.message}{more}", type=first.level)


def _test(program: str, name: str, inner: str) -> str:
    return f"    {_element('testcase', inner, classname=program, name=name, file=program)}"


def _element(tag: str, inner: str, **attributes: str) -> str:
    given = "".join(f" {name}={_quoted(value)}" for name, value in attributes.items())
    return f"<{tag}{given}>{inner}</{tag}>" if inner else f"<{tag}{given}/>"


def _counts(counts: Sequence[int]) -> str:
    names = ("tests", "failures", "errors")
    return "".join(f' {name}="{count}"' for name, count in zip(names, counts, strict=True))


def _text(text: str) -> str:
    return re.sub(_INVALID, "?", text).translate(_IN_TEXT)


def _quoted(text: str) -> str:
    return f'"{re.sub(_INVALID, "?", text).translate(_IN_VALUE)}"'
