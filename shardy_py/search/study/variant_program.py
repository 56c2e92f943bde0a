"""A variant as the reports read a program. Not here: variants (`variant.py`), their costs (`figures.py`)."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from shardy_py.search.study.variant import Variant, Variants
from shardy_py.sharding import TensorSharding
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.program import Block, PlannedOp
from shardy_py.xla.spmd.walk import ProgramPlan


class VariantProgram(SpmdProgram):
    """A variant as the reports read a program: its module has the ops, but not the shardings."""

    def __init__(self, base: SpmdProgram, variants: Variants, variant: Variant, plan: ProgramPlan) -> None:
        super().__init__(base.module)
        self.meshes, self.values, self.entries = base.meshes, base.values, base.entries
        self._variants, self._variant, self._own = variants, variant, plan

    def planned(self, function: FuncOp) -> tuple[Block, ProgramPlan]:
        """The block of the variant, and the plan of its collectives."""
        return self._variant.block, self._own

    def block(self, function: FuncOp) -> Block:
        """The block of the variant."""
        return self._variant.block

    def result_sharding(self, step: PlannedOp) -> TensorSharding | None:
        """The sharding of the first result of a step."""
        (value, *_) = step.results
        assert isinstance(value, int)
        return self._variants.shardings[self._variant.numbers[value]]
