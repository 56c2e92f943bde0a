"""One propagation as messages describe it: named tensors and ops, rules, annotations behind shardings.

    view = PropagationView(explainer, propagation)
    str(view.place(slot)), str(view.op(step))        '%arg0 (x)', '%3 = stablehlo.add'

Not here: the messages (`refusals.py`, `crossings.py`).
"""

from __future__ import annotations

from shardy_py.propagation.aggressive import aggressive
from shardy_py.propagation.basic import StepOptions
from shardy_py.propagation.flat import Direction
from shardy_py.propagation.graph.run_record import Propagation
from shardy_py.propagation.journal import FUNCTION_RESULT
from shardy_py.propagation.step import Step
from shardy_py.report.explain.explaining import Explainer, factor_words
from shardy_py.report.explain.explanation import Annotation, NamedPlace
from shardy_py.report.explain.neighbourhood import Crossing
from shardy_py.report.explain.states import InSlot
from shardy_py.report.explain.tracing import spots_of
from shardy_py.sharding import AxisRef, ShardingRule


class PropagationView:
    """The slots and steps of one propagation, which is an event of the explainer's record."""

    def __init__(self, explainer: Explainer, propagation: Propagation) -> None:
        self.names = explainer.names
        self.propagation = propagation
        self.journal = propagation.journal
        self._tracer = explainer.tracer
        self._event = next(i for i, p in explainer.tracer.propagations if p is propagation)

    def place(self, slot: int) -> NamedPlace:
        """Returns the tensor of a slot."""
        return self.names.place(spots_of(self.propagation, slot)[-1])

    def origin(self, slot: int) -> Annotation | None:
        """Returns the annotation behind the first sharding of a slot."""
        if self.journal.first_sharding(slot) is None:
            return None
        root = self._tracer.origin(self._event, slot)
        return None if root is None else self.names.annotation(root)

    def annotation(self, slot: int, dimension: int, axis: AxisRef) -> Annotation | None:
        """Returns the annotation that an axis of a slot comes from."""
        state = InSlot(self._event, slot, len(self.journal.entries), dimension, axis)
        path = next(self._tracer.paths_from(state), None)
        return None if path is None else self.names.annotation(path.root)

    def slots_of(self, step: int) -> tuple[int, ...]:
        """Returns the slots of the tensors of a step: operands, then results."""
        return self.propagation.arrivals.slots_of(step)

    def rule(self, step: int) -> ShardingRule | None:
        """Returns the sharding rule of a step."""
        return self.propagation.arrivals.rule_of(step)

    def op(self, step: int) -> NamedPlace:
        """Returns the op of a step; the result of the function where a returned value is matched with it."""
        if step <= FUNCTION_RESULT:
            return self.place(self.slots_of(step)[1])
        return self.names.op(self.propagation.program.step_ops[step])

    def step(self, number: int) -> Step | None:
        """Returns the computation of a step in the last round; None if no axis propagates there."""
        if number <= FUNCTION_RESULT:
            rule = self.rule(number)
            assert rule is not None
            both = (Direction.BOTH,) * len(rule.factors)
            return Step(rule, aggressive, StepOptions(rule.factor_sizes, both))
        table = self.journal.stages[-1].tables[self.journal.kinds[number]] if self.journal.stages else None
        return None if table is None else table.step

    def factor(self, at: Crossing) -> str:
        """Returns a crossing in words, along its factor."""
        rule = self.rule(at.step)
        assert rule is not None
        return factor_words(rule, at.factor, (at.source, at.source_dimension), (at.position, at.dimension))
