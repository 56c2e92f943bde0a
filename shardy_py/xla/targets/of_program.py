"""Programs as the compiler of a device makes them, each function once for all reports on it.

Not here: the passes (`compiled.py`), reports (`report/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp

from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.compiled import CompiledPlan, Compiler, compiled


@dataclass
class CompiledProgram:
    """A planned program with what a compiler makes of it. The module must not change while it is in use."""

    program: SpmdProgram
    compiler: Compiler
    _known: dict[FuncOp, CompiledPlan] = field(default_factory=dict[FuncOp, CompiledPlan], init=False)

    def plan(self, function: FuncOp) -> CompiledPlan:
        """Returns the collectives of a function, as compiled.

        Raises:
            ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
        """
        if function not in self._known:
            self._known[function] = compiled(*self.program.planned(function), self.compiler)
        return self._known[function]

    def issued(self, function: FuncOp) -> Mapping[int, Issued]:
        """Returns the op that does the work of each planned collective, by the identity of the latter."""
        found: dict[int, Issued] = {}
        for each in self.plan(function).issued:
            for part in each.parts:
                found |= {id(member.collective): each for member in part.members}
        return found
