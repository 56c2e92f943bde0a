"""How to prove: seeds, shapes, arithmetic, limits."""

from __future__ import annotations

from typing import Literal

from shardy_py.base.records import dataclass
from shardy_py.run.interpret import RunLimits

MOST_STEPS = 1 << 20
"""Ops that a proof runs by default: seconds, where a loop does not end."""
_REMEDY = 'shapes="ops" (--prove-shapes=ops) proves each op alone'
Shapes = Literal["auto", "own", "small", "ops"]
"""The shapes of the programs that are run: see `ProofOptions`."""


@dataclass(frozen=True, kw_only=True)
class ProofOptions:
    """How to prove.

    floats: whether both run in floats, instead of exact arithmetic. seed: of the inputs.
    max_elements, max_steps: limits of a run, as in `Program.run`.
    shapes: "own": the program as it is; "small": with smaller sizes; "ops": each op alone, with smaller
        sizes if it is large; "auto": the first of them that is small enough to run.
    """

    seed: int = 0
    floats: bool = False
    shapes: Shapes = "auto"
    max_elements: int = RunLimits().elements
    max_steps: int = MOST_STEPS

    @property
    def limits(self) -> RunLimits:
        """The limits of a run."""
        return RunLimits(self.max_elements, self.max_steps, _REMEDY)


DEFAULT = ProofOptions()
