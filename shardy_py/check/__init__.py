"""Lint for sharded programs: what costs memory or time without anyone having asked for it.

Start at `catalogue.py`; `checking.py` runs the rules, `text.py` and `sarif.py` show what they find.
"""

from shardy_py.check.catalogue import RULES, RuleRow
from shardy_py.check.checking import Choice, baseline_text, check, without_baseline
from shardy_py.check.finding import LEVELS, Finding, Level
from shardy_py.check.rules import Limits
from shardy_py.check.sarif import findings_sarif
from shardy_py.check.text import findings_json, findings_text

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
