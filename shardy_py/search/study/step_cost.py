"""The costs of a step of a variant on hardware: time, memory, and what is received.

    costs = StepCosts(variants, placement_of("tpu-v5p"))
    costs.of(variant).serial

Equal to the reports on the program propagated from scratch. Not here: the model of time (`report/time/`), of
memory (`report/memory/`).
"""

from __future__ import annotations

from functools import cached_property
from math import inf

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement
from shardy_py.hardware.cost import Cost, CostModel
from shardy_py.mlir.typed import of_kind
from shardy_py.report.communication.as_compiled import compiled_uses
from shardy_py.report.communication.by_xla import PlannedUses
from shardy_py.report.time.graph import Priced
from shardy_py.report.time.interval import measure
from shardy_py.report.time.kernels import program_block
from shardy_py.report.time.local_work import whole_work
from shardy_py.report.time.program_work import block_work
from shardy_py.search.study.figures import CollectiveCosts
from shardy_py.search.study.variant import Variant, Variants
from shardy_py.search.study.variant_program import VariantProgram
from shardy_py.xla.buffers.chips import target_of
from shardy_py.xla.buffers.collect import donated_arguments
from shardy_py.xla.buffers.estimate import estimate_memory
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.walk import plan_program
from shardy_py.xla.targets.of_program import CompiledProgram
from shardy_py.xla.targets.stage import CompileStage


@dataclass(frozen=True, slots=True)
class StepCost:
    """A step on each device: seconds with perfect overlap and without, bytes allocated and received."""

    overlapped: float
    serial: float
    memory_bytes: int
    received_bytes: int


class StepCosts:
    """The costs of variants of one program on one hardware."""

    def __init__(
        self, variants: Variants, placement: AxisPlacement, stage: CompileStage | None = None
    ) -> None:
        """stage: the device whose compiler's program it is.

        Raises `ShardyError` if an axis of a mesh does not fit on the hardware.
        """
        self._compiler = None if stage is None else stage.compiler
        self._variants = variants
        self.hardware = placement.hardware
        meshes = [mesh for mesh in variants.meshes.values() if not mesh.is_maximal]
        self._devices = max((mesh.device_count for mesh in meshes), default=1)
        self._model = CostModel.of(placement).on(meshes)
        self._costs = CollectiveCosts(tuple(variants.meshes.values()), self._model)
        function = variants.base.function
        self._function = function
        self._donated = donated_arguments(function)
        self._program = SpmdProgram(of_kind(function.parent_op(), ModuleOp))
        self._is_chip = target_of(placement)[1] is not None
        self._ideal: float | None = None

    @cached_property
    def _priced(self) -> Priced:
        return Priced(PlannedUses(self._program, self._model), {})  # variants have no written collectives

    def of(self, variant: Variant, at_most: float = inf) -> StepCost | None:
        """Returns what a variant costs; None if its step surely takes longer than `at_most` seconds.

        Raises:
            ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
        """
        plan = plan_program(variant.block, self._variants.plans)
        sent = [(each.collective, self._costs.of(each.collective)) for each in plan.sent]
        if self._least_seconds(variant, sent) > at_most:
            return None
        program = VariantProgram(self._program, self._variants, variant, plan)
        made = None if self._compiler is None else CompiledProgram.of(program, self._compiler)
        simple = program if made is None else made.program
        block = program_block(simple, self._function, self.hardware, self._model, self._priced, made)
        time = measure(block)
        if time.serial > at_most:
            return None
        memory = estimate_memory(
            program,
            self._function,
            self._donated,
            on_host=not self._is_chip,
            target=self.hardware.target if self._is_chip else "linear",
            chip=self.hardware if self._is_chip else None,
        )
        if made is None:
            received = sum(cost.bytes * collective.times for collective, cost in sent)
        else:
            received = sum(use.total.bytes for use in compiled_uses(made, self._model, self._priced.uses))
        return StepCost(time.overlapped, time.serial, memory.total_bytes, received)

    def _least_seconds(self, variant: Variant, sent: list[tuple[PlannedCollective, Cost]]) -> float:
        """At most the time without overlap: of collectives, and of products if all devices shared them.

        An all-reduce may become a reduce-scatter, which takes half of its time; a compiler may leave others.
        """
        if self._compiler is not None:
            return self._product_seconds(variant)
        seconds = (
            cost.seconds * each.times * (0.5 if each.kind == "all_reduce" else 1.0) for each, cost in sent
        )
        return sum(seconds) + self._product_seconds(variant)

    def _product_seconds(self, variant: Variant) -> float:
        if self._ideal is None:
            work = block_work(variant.block, whole_work)
            fastest = max(self.hardware.matrix_flops.values())
            self._ideal = work.product_flops / self._devices / fastest
        return self._ideal
