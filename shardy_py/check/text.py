"""Findings as text and as JSON.

Not here: SARIF (`sarif.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardy_py.check.finding import LEVELS, Finding

SCHEMA = 1


def findings_text(findings: Sequence[Finding]) -> str:
    """One finding after the other as compilers print them, then how many there are."""
    if not findings:
        return "no findings"
    lines: list[str] = []
    for finding in findings:
        place = f"{finding.position}: " if finding.position else ""
        where = f"@{finding.function}, {finding.subject}" if finding.function else finding.subject
        lines.append(f"{place}{finding.level}: {where}: {finding.message} [{finding.code}]")
        lines.append(f"    {finding.remedy}")
    counts = [(level, sum(finding.level == level for finding in findings)) for level in reversed(LEVELS)]
    told = ", ".join(f"{count} {level}{'s' if count > 1 else ''}" for level, count in counts if count)
    return "\n".join([*lines, told])


def findings_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """All findings for tools; docs/check.md describes the schema."""
    return {"schema": SCHEMA, "findings": [finding.to_json() for finding in findings]}
