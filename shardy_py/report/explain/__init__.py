"""Why a tensor is sharded as it is, and why not otherwise: answers from the record of the passes.

    with recording() as record:                      from shardy_py.passes.recording
        run passes
    print(explanation_text(explain(record, module, value)))

Start at `explaining.py`; `tracing.py` follows axes back, `names.py` gives names, `explanation.py` and
`text.py` are what comes out.
"""

from shardy_py.report.explain.explaining import Explainer, explain, explain_named
from shardy_py.report.explain.explanation import (
    Annotation,
    AxisExplanation,
    Chain,
    Explanation,
    Link,
    Place,
)
from shardy_py.report.explain.reasons import Reason, Reasons
from shardy_py.report.explain.sides import Side, sides
from shardy_py.report.explain.text import explanation_text
from shardy_py.report.explain.why_not import WhyNot, why_not, why_not_named

__all__ = [
    "Annotation",
    "AxisExplanation",
    "Chain",
    "Explainer",
    "Explanation",
    "Link",
    "Place",
    "Reason",
    "Reasons",
    "Side",
    "WhyNot",
    "explain",
    "explain_named",
    "explanation_text",
    "sides",
    "why_not",
    "why_not_named",
]
