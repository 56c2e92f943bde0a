"""Lint for sharded programs: unintended memory use and implicit communication.

Start at `rules.py` and `communication_rules.py`; `checking.py` runs the rules, `texts.py` and `sarif.py`
show what they find.
"""

from shardy_py.check.checking import (
    Choice,
    baseline_text,
    check,
    expected_in,
    findings_in,
    without_baseline,
    without_meant,
)
from shardy_py.check.expectations import Expectation, Met
from shardy_py.check.finding import LEVELS, Finding, Level
from shardy_py.check.grouping import FindingGroup, grouped
from shardy_py.check.rule import Limits, RuleRow
from shardy_py.check.rules import RULES
from shardy_py.check.sarif import findings_sarif
from shardy_py.check.shown import Findings
from shardy_py.check.texts import findings_github, findings_json, findings_text

__all__ = [
    "LEVELS",
    "RULES",
    "Choice",
    "Expectation",
    "Finding",
    "FindingGroup",
    "Findings",
    "Level",
    "Limits",
    "Met",
    "RuleRow",
    "baseline_text",
    "check",
    "expected_in",
    "findings_github",
    "findings_in",
    "findings_json",
    "findings_sarif",
    "findings_text",
    "grouped",
    "without_baseline",
    "without_meant",
]
