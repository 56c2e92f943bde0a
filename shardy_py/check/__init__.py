"""Lint for sharded programs: unintended memory use and implicit communication.

Start at `rules.py`; `checking.py` runs the rules, `finding.py` and `sarif.py` show what they find.
"""

from shardy_py.check.checking import Choice, baseline_text, check, without_baseline
from shardy_py.check.finding import LEVELS, Finding, Level, findings_json, findings_text
from shardy_py.check.rules import RULES, Limits, RuleRow
from shardy_py.check.sarif import findings_sarif

__all__ = [
    "LEVELS",
    "RULES",
    "Choice",
    "Finding",
    "Level",
    "Limits",
    "RuleRow",
    "baseline_text",
    "check",
    "findings_json",
    "findings_sarif",
    "findings_text",
    "without_baseline",
]
