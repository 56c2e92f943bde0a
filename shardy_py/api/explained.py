"""Explanations of a propagated program: the chains of reasons of a value, the annotations that conflict.

    result.explain("result 0"), result.sides(result.communication().sending[0])

Not here: tracing (`report/explain/`), what to change (`search/advice/`).
"""

from __future__ import annotations

from functools import cached_property

from shardy_py.api.arguments import expect
from shardy_py.api.forecasts import Forecasts
from shardy_py.api.propagated import Propagated
from shardy_py.api.verified_module import ValueKey
from shardy_py.base import releases
from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.explain import MOST_CHAINS, Explanations, Side, sides


@releases.following
@dataclass(frozen=True, eq=False, repr=False)
class Explained(Propagated):
    """A propagated program and why it is sharded so."""

    @cached_property
    def forecasts(self) -> Forecasts:
        """Values that reports on the result share."""
        return Forecasts(self)

    @without_collection()
    def explain(self, key: ValueKey) -> Explanations:
        """Returns why a value is sharded as it is: for each axis, the chains from the user's annotations.

        One explanation for each value of that name, source line, or op (`op=dot_general`).

        Raises:
            ShardyError: unknown value, or propagation was not recorded.
        """
        if isinstance(key, str):
            return self.forecasts.explainer.explain_named(key)
        return Explanations((self.forecasts.explainer.explain(self[key].entry),))

    @without_collection()
    def sides(self, use: CollectiveUse, *, most_chains: int = MOST_CHAINS) -> tuple[Side, ...]:
        """Returns the annotations that conflict at a collective of `communication()`: those to change.

        Each is an annotation that an axis of the op's tensors comes from. Empty for an explicit collective
        and for values without annotations.

        most_chains: annotations of an axis of a tensor, at most: those of `explain`; 1: the nearest.

        Raises:
            ShardyError: propagation was not recorded.
        """
        remedy = "result.communication().sending lists them"
        expect(use, CollectiveUse, "a collective of this result", remedy)
        made_for = None if use.cause.is_explicit else use.cause.made_for
        return sides(self.forecasts.explainer, made_for, use.axis_names, most_chains=most_chains)
