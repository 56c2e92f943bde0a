"""Rules out annotations of arguments and results that cost more than they may, by a study of the program.

    study = BoundaryStudy.of(sources, report, before)
    study.costs_more(proposal, most)

A study takes a tenth of a propagation, and has the same shardings and collectives, but neither their causes
nor the work of devices: what does not cost more is propagated. Not here: studies (`study/`), tries
(`trials.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import islice

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from shardy_py.api.program import Program
from shardy_py.api.propagating import Options
from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION, without_collection
from shardy_py.hardware.cost import Cost
from shardy_py.mlir.ir import blocks_of
from shardy_py.mlir.symbols import functions_of
from shardy_py.mlir.typed import of_kind
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.communication.by_xla import PlannedUses
from shardy_py.report.communication.least import ROUNDING, least_cost
from shardy_py.search.advice import Most, Outcome, Proposal
from shardy_py.search.edited_sources import EditedProgram, Sources
from shardy_py.search.study import Unsupported, Variant
from shardy_py.search.study.figures import CollectiveCosts
from shardy_py.search.study.incremental import Incremental
from shardy_py.search.study.variant_program import VariantProgram
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.program import Block, PlannedOp
from shardy_py.xla.spmd.walk import plan_program
from shardy_py.xla.targets.of_program import CompiledProgram

Rewrite = Callable[[ModuleOp], ModuleOp]
"""Makes a simplified copy of a program, which does not depend on annotations of arguments and results."""


@dataclass(eq=False)
class BoundaryStudy:
    """A study of the source of a result with some edits, for annotations of its arguments and results.

    unchanged: the variant without any.
    """

    sources: Sources
    report: CommunicationReport
    edited: EditedProgram
    incremental: Incremental
    unchanged: Variant
    _program: SpmdProgram = field(init=False)
    _uses: PlannedUses = field(init=False)
    _costs: CollectiveCosts = field(init=False)
    _known: list[tuple[Block, Cost]] = field(default_factory=list[tuple[Block, Cost]], init=False)

    def __post_init__(self) -> None:
        """Makes what all variants share."""
        variants, model = self.incremental.variants, self.report.model
        self._program = SpmdProgram(of_kind(variants.base.function.parent_op(), ModuleOp))
        self._uses = PlannedUses(self._program, model)
        self._costs = CollectiveCosts(tuple(variants.meshes.values()), model)

    @staticmethod
    def of(
        sources: Sources, report: CommunicationReport, before: Proposal, rewrite: Rewrite | None = None
    ) -> BoundaryStudy | None:
        """Returns the study of a source with edits; None of a program that studies do not support.

        rewrite: makes the program that a compiler propagates instead; None: it is the source.
        """
        options = sources.options
        if not isinstance(options, Options):
            return None
        with SESSION.program(), without_collection():
            try:
                edited = sources.edited(before)
                if rewrite is not None:
                    edited = _rewritten(edited, rewrite)
                incremental = Incremental(edited.program, options, report.model, inside=False)
                return BoundaryStudy(sources, report, edited, incremental, incremental.variant({}))
            except (ShardyError, Unsupported):
                return None

    def costs_more(self, proposal: Proposal, most: Most, unchanged: Outcome | None) -> bool:
        """Returns whether the collectives of the program with annotations surely cost more than the most.

        unchanged: what the program costs without them, if known.

        Raises:
            ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
        """
        with SESSION.program(), without_collection():
            try:
                variant = self.incremental.variant(self.incremental.initial(self._annotations(proposal)))
            except Unsupported:
                return False
            if unchanged is not None and _are_alike(variant.block, self.unchanged.block):
                return not most.allows_sending(unchanged.bytes, unchanged.figures.seconds)
            least = self._least(variant)
        return not most.allows_sending(least.bytes, least.seconds)

    def _least(self, variant: Variant) -> Cost:
        """The least that the collectives of a variant cost, of several equal ones found once."""
        for block, least in self._known:
            if _are_alike(variant.block, block):
                return least
        least = self._find_least(variant)
        self._known.append((variant.block, least))
        return least

    def _annotations(self, proposal: Proposal) -> dict[Value, Sharding | None]:
        sources, program = self.sources, self.edited.program
        return sources.annotations(proposal, program, self.edited.entry)

    def _find_least(self, variant: Variant) -> Cost:
        variants = self.incremental.variants
        plan = plan_program(variant.block, variants.plans)
        program = VariantProgram(self._program, variants, variant, plan)
        compiler = None if self.report.stage is None else self.report.stage.compiler
        if compiler is not None:
            made = CompiledProgram(program, compiler)
            return least_cost(made, self.report.model, self._uses, has_written=False)
        costs = [(self._costs.of_sent(each, program), each.collective.times) for each in plan.sent]
        size = sum(cost.bytes * times for cost, times in costs)
        return Cost(size, sum(cost.seconds * times for cost, times in costs) * (1 - ROUNDING))


def _rewritten(edited: EditedProgram, rewrite: Rewrite) -> EditedProgram:
    """A simplified program, and the arguments of its functions that those of the source became."""
    old = edited.program
    new = Program(rewrite(old.module), old.sources.roots, old.taken)
    pairs = zip(functions_of(old.module), functions_of(new.module), strict=True)
    arguments = {
        id(given): made
        for before, after in pairs
        for given, made in zip(_arguments(before), _arguments(after), strict=True)
    }
    origin = {own: made for own, given in edited.origin.items() if (made := arguments.get(id(given)))}
    return EditedProgram(new, origin)


def _arguments(function: FuncOp) -> Sequence[BlockArgument]:
    return [argument for block in islice(blocks_of(function), 1) for argument in block.args]


def _are_alike(first: Block, second: Block) -> bool:
    """True if blocks have equal steps on the same values, and results of equal tilings."""
    ends = [(block.results, block.targets, len(block.steps)) for block in (first, second)]
    given = [[(each.name, each.tiling) for each in block.arguments] for block in (first, second)]
    if ends[0] != ends[1] or given[0] != given[1]:
        return False
    pairs = zip(first.steps, second.steps, strict=True)
    return all(one is other or _is_same(one, other) for one, other in pairs)


def _is_same(first: PlannedOp, second: PlannedOp) -> bool:
    own, other = ((each.plan_key, each.operands, each.results) for each in (first, second))
    return own == other and not first.blocks and not second.blocks
