"""The steps of which the host makes one op that is the step itself: nearly all of a program.

Which they are follows from the record and what a device holds of the result, so it is found once for all
layers that repeat a step. Not here: the ops of other steps (`host_compute.py`, `host_steps.py`).
"""

from __future__ import annotations

from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.facet import STORED, host_row
from shardy_py.xla.buffers.host_compute import is_merged
from shardy_py.xla.buffers.host_program import HostProgram, elements, kind_of
from shardy_py.xla.spmd.program import Name, PlannedOp

_BY_OPERANDS = frozenset(
    ("top_k", "dot_general", "pad", "gather", "concatenate", "reduce", "reduce_window", "constant")
)
"""The ops for which others may stand, by what their operands are."""


@dataclass
class PlainSteps:
    """The kinds of the ops of steps, by the identities of the keys of their plans, which steps keep."""

    program: HostProgram
    known: dict[int, str | None] = field(default_factory=dict[int, "str | None"])
    firsts: dict[int, Name] = field(default_factory=dict[int, Name])
    """The values of steps without operands, for which those of equal steps stand: XLA merges them."""

    def is_known(self, step: PlannedOp) -> bool:
        """True if an equal step without operands has made the value, which others then read."""
        first = self.firsts.get(id(step.plan_key))
        if first is not None:
            self.program.alias[step.results[0]] = first
        return first is not None

    def note(self, step: PlannedOp) -> None:
        """Notes a step without operands whose op is listed."""
        if len(step.results) != 1 or step.blocks:
            return
        (made,), kind = step.results, kind_of(step)
        type_ = self.program.types.get(made)
        if type_ is not None and elements(type_) != 1 and is_merged(kind, step):
            self.firsts[id(step.plan_key)] = self.program.stored(made)

    def kind(self, step: PlannedOp) -> str | None:
        """The kind of the one op that a step becomes whatever its operands are; None if that depends on them.

        That is if nothing is sent for it.
        """
        key = id(step.plan_key)
        if key not in self.known:
            self.known[key] = self._kind(step)
        return self.known[key]

    def _kind(self, step: PlannedOp) -> str | None:
        kind = kind_of(step)
        if kind in _BY_OPERANDS or step.blocks or not step.operands or len(step.results) != 1:
            return None
        if host_row(kind).is_wide or STORED.of(step.record.name).is_product:
            return None
        made = self.program.types.get(step.results[0])
        return None if made is None or elements(made) == 1 else kind
