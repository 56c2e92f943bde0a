"""The verdict on a program: what costs most, where it comes from, what to change, and what that saves.

Start at `model.py`, the values; `causes.py` groups collectives, `effects.py` finds those that a change
removes, `repeats.py` knows layers and passes of a model, `text.py` and `json.py` print. Not here: trying
changes (`shardy_py.search.verdicts`).
"""

from shardy_py.report.verdict.causes import CostGroup, cost_groups
from shardy_py.report.verdict.effects import (
    CollectiveEffect,
    CollectivePlace,
    bytes_by_place,
    effects_between,
)
from shardy_py.report.verdict.json import change_json, verdict_json
from shardy_py.report.verdict.model import CostCause, SourceFix, SuggestedSharding, TriedChange, Verdict
from shardy_py.report.verdict.repeats import family_name, layer_count, phase, phases
from shardy_py.report.verdict.text import verdict_text

__all__ = [
    "CollectiveEffect",
    "CollectivePlace",
    "CostCause",
    "CostGroup",
    "SourceFix",
    "SuggestedSharding",
    "TriedChange",
    "Verdict",
    "bytes_by_place",
    "change_json",
    "cost_groups",
    "effects_between",
    "family_name",
    "layer_count",
    "phase",
    "phases",
    "verdict_json",
    "verdict_text",
]
