"""Programs as the compiler of a device makes them, each function once for all reports on it.

Not here: the passes (`compiled.py`), reports (`report/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp

from shardy_py.base.records import dataclass
from shardy_py.base.session import without_collection
from shardy_py.xla.spmd.einsum_loops import EinsumLoops
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.walk import Block, ProgramPlan, plan_program

if TYPE_CHECKING:
    from shardy_py.xla.targets.combining import Issued
    from shardy_py.xla.targets.compiled import CompiledPlan, Compiler


class SimplifiedProgram(SpmdProgram):
    """A program as a compiler simplifies it before the partitioner, with the plan of that.

    loops: when its partitioner makes loops of products.
    """

    def __init__(
        self, base: SpmdProgram, simplify: Callable[[Block], Block], loops: EinsumLoops | None = None
    ) -> None:
        super().__init__(base.module, base.originals, base.is_planned, base.table, base.release)
        self.base, self.simplify, self.loops = base, simplify, loops
        self.meshes, self.values, self.entries = base.meshes, base.values, base.entries
        self.result_sharding = base.result_sharding
        self._made: dict[FuncOp, tuple[Block, ProgramPlan]] = {}

    def planned(self, function: FuncOp) -> tuple[Block, ProgramPlan]:
        """The block of a function as simplified, and what is sent for it."""
        if function not in self._made:
            block = self.base.block(function)
            simple = self.simplify(block)
            is_same = simple is block and self.loops is None
            plans = self.base.step_plans(function)
            plan = self.base.planned(function)[1] if is_same else plan_program(simple, plans, self.loops)
            self._made[function] = simple, plan
        return self._made[function]

    def block(self, function: FuncOp) -> Block:
        """The block of a function as simplified."""
        return self.planned(function)[0]


@dataclass
class CompiledProgram:
    """A planned program with what a compiler makes of it. The module must not change while it is in use.

    program: as the compiler simplifies it before the partitioner.
    """

    program: SpmdProgram
    compiler: Compiler
    _known: dict[FuncOp, CompiledPlan] = field(default_factory=dict[FuncOp, "CompiledPlan"], init=False)

    def __post_init__(self) -> None:
        if self.program.is_planned and self.compiler.simplify is not None:
            self.program = SimplifiedProgram(self.program, self.compiler.simplify, self.compiler.loops)

    @staticmethod
    def of(program: SpmdProgram, compiler: Compiler) -> CompiledProgram:
        """Returns a program with what a compiler makes of it: the same one for all reports."""
        known = program.kept.get(compiler)
        if not isinstance(known, CompiledProgram):
            known = program.kept[compiler] = CompiledProgram(program, compiler)
        return known

    def plan(self, function: FuncOp) -> CompiledPlan:
        """Returns the collectives of a function, as compiled.

        Raises:
            ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
        """
        from shardy_py.xla.targets.compiled import compiled

        if function not in self._known:
            with without_collection():  # all of it is kept
                self._known[function] = compiled(*self.program.planned(function), self.compiler)
        return self._known[function]

    def issued(self, function: FuncOp) -> Mapping[int, Issued]:
        """Returns the op that does the work of each planned collective, by the identity of the latter."""
        found: dict[int, Issued] = {}
        for each in self.plan(function).issued:
            for part in each.parts:
                for member in part.members:
                    found.setdefault(id(member.collective), each)
        return found
