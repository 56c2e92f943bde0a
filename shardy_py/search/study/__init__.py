"""One program under many annotations: shardings, what is sent and memory, without propagating IR again.

    variants = Variants(Base.of(module, calls))                 prepared once
    variant = variants.variant(variants.base.decided(initial))  for other initial shardings
    FigureCosts(variants, model).of(variant)
    StepCosts(variants, placement).of(variant)                  time and memory on hardware

Programs are flattened to numbers once; each set of annotations costs a run of propagation through the
numbers, a plan with look-ups by equal ops, and a sweep for memory. What is computed equals the reports on the
program propagated from scratch; where that is not known, `Unsupported` says why. Not here: annotations and
values as users name them (`search/studies.py`).
"""

from shardy_py.search.study.base import Base, Decided, Unsupported
from shardy_py.search.study.figures import FigureCosts
from shardy_py.search.study.step_cost import StepCost, StepCosts
from shardy_py.search.study.variant import Variant, Variants

__all__ = ["Base", "Decided", "FigureCosts", "StepCost", "StepCosts", "Unsupported", "Variant", "Variants"]
