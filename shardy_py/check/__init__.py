"""Lint for sharded programs: unintended memory use and implicit communication.

Start at `rules.py` and `communication_rules.py`; `checking.py` runs the rules, `texts.py`, `checked.py`,
`sarif.py` and `junit.py` show what they find, `settings.py` reads the settings of a project.
"""

from shardy_py.check.baselines import Baseline, baseline_text, program_name, without_baseline
from shardy_py.check.checked import (
    CheckedProgram,
    checked_csv,
    checked_github,
    checked_json,
    checked_text,
)
from shardy_py.check.checking import Choice, check, findings_in, without_meant
from shardy_py.check.expectations import Expectation, Met
from shardy_py.check.finding import LEVELS, Finding, Level
from shardy_py.check.grouping import FindingGroup, grouped
from shardy_py.check.junit import checked_junit
from shardy_py.check.rule import Limits, RuleRow
from shardy_py.check.rules import RULES
from shardy_py.check.sarif import checked_sarif, findings_sarif
from shardy_py.check.settings import CheckSettings, SettingsFinder
from shardy_py.check.shown import Findings
from shardy_py.check.texts import findings_github, findings_json, findings_text

__all__ = [
    "LEVELS",
    "RULES",
    "Baseline",
    "CheckSettings",
    "CheckedProgram",
    "Choice",
    "Expectation",
    "Finding",
    "FindingGroup",
    "Findings",
    "Level",
    "Limits",
    "Met",
    "RuleRow",
    "SettingsFinder",
    "baseline_text",
    "check",
    "checked_csv",
    "checked_github",
    "checked_json",
    "checked_junit",
    "checked_sarif",
    "checked_text",
    "findings_github",
    "findings_in",
    "findings_json",
    "findings_sarif",
    "findings_text",
    "grouped",
    "program_name",
    "without_baseline",
    "without_meant",
]
