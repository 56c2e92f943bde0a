"""Advice: annotations to change where a program communicates, each tried before it is given.

Start at `proposals.py`, the table of what is proposed: each row is a function of `kinds/` from a question
(`question.py`) on a program (`program.py`) to edits. `adviser.py` tries them; `sites.py` finds expressions to
constrain, `variants.py` other shardings, `rewrites.py` ops in place of others, `outcome.py` what a program
costs, `remedy.py` the words, `placement.py` remedies for tensors that are not sharded.
"""

from shardy_py.search.advice.adviser import MOST_VALUES, SHOWN, Adviser
from shardy_py.search.advice.fixes import annotations_of, fixes_of, suggested
from shardy_py.search.advice.outcome import GroupKey, Most, Outcome, group_key, kept_bytes_of, work_of
from shardy_py.search.advice.pasting import spec_text
from shardy_py.search.advice.placement import (
    MOST_TRIES,
    NO_PLACEMENTS,
    Holding,
    Placement,
    PlacementRemedies,
    placements,
)
from shardy_py.search.advice.program import AdvisedProgram
from shardy_py.search.advice.proposals import key_of, placing
from shardy_py.search.advice.remedy import (
    NO_ADVICE,
    Advice,
    Edit,
    Effect,
    Language,
    Proposal,
    Remedy,
    code_of_edits,
    is_expressible,
    words_of,
)
from shardy_py.search.advice.replacing import SuggestedRewrite
from shardy_py.search.advice.sites import ExpressionSite, Sites, is_backward

__all__ = [
    "MOST_TRIES",
    "MOST_VALUES",
    "NO_ADVICE",
    "NO_PLACEMENTS",
    "SHOWN",
    "Advice",
    "AdvisedProgram",
    "Adviser",
    "Edit",
    "Effect",
    "ExpressionSite",
    "GroupKey",
    "Holding",
    "Language",
    "Most",
    "Outcome",
    "Placement",
    "PlacementRemedies",
    "Proposal",
    "Remedy",
    "Sites",
    "SuggestedRewrite",
    "annotations_of",
    "code_of_edits",
    "fixes_of",
    "group_key",
    "is_backward",
    "is_expressible",
    "kept_bytes_of",
    "key_of",
    "placements",
    "placing",
    "spec_text",
    "suggested",
    "words_of",
    "work_of",
]
