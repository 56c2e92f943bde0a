"""Why a tensor is sharded as it is, and why not otherwise: answers from the record of the passes.

    with recording() as record:                      from shardy_py.passes.runner
        run passes
    explainer = Explainer(record, module)
    print(explainer.explain(value))
    print(WhyNot(explainer).reasons(value, 0, "x"))

Start at `explaining.py`; `tracing.py` follows axes back, `names.py` has the names, `explanation.py` the
answers. `why_not.py` is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shardy_py.report.explain.explaining import MOST_CHAINS, Explainer
from shardy_py.report.explain.explanation import (
    Annotation,
    AxisExplanation,
    Chain,
    ChainLink,
    Explanation,
    Explanations,
    NamedPlace,
    Reason,
    Reasons,
)
from shardy_py.report.explain.names import Names
from shardy_py.report.explain.sides import Side, sides
from shardy_py.report.explain.tracing import spots_of

if TYPE_CHECKING:
    from shardy_py.report.explain.why_not import WhyNot

__all__ = [
    "MOST_CHAINS",
    "Annotation",
    "AxisExplanation",
    "Chain",
    "ChainLink",
    "Explainer",
    "Explanation",
    "Explanations",
    "NamedPlace",
    "Names",
    "Reason",
    "Reasons",
    "Side",
    "WhyNot",
    "sides",
    "spots_of",
]


def __getattr__(name: str) -> object:
    if name != "WhyNot":
        raise AttributeError(name)
    return import_module("shardy_py.report.explain.why_not").WhyNot


def __dir__() -> list[str]:
    return [*globals(), *__all__]
