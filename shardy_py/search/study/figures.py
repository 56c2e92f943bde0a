"""The cost of a variant: what XLA's partitioner sends, and the memory that XLA allocates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from xdsl.dialects.builtin import ModuleOp

from shardy_py.hardware.cost import AxisSize, Cost, CostModel
from shardy_py.mlir.typed import of_kind
from shardy_py.report.communication.scattered import cost_of, is_scattered
from shardy_py.report.difference import Figures
from shardy_py.search.study.variant import Variant, Variants
from shardy_py.search.study.variant_program import VariantProgram
from shardy_py.sharding import Mesh
from shardy_py.xla.buffers.collect import donated_arguments
from shardy_py.xla.buffers.estimate import estimate_memory
from shardy_py.xla.spmd.device_groups import UNKNOWN_AXIS, axes_of_collective
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.walk import Sent, plan_program


class FigureCosts:
    """The figures of variants of one program with one model of links."""

    def __init__(self, variants: Variants, model: CostModel) -> None:
        self._variants = variants
        meshes = tuple(variants.meshes.values())
        self._costs = CollectiveCosts(meshes, model.on(meshes))
        self._function = variants.base.function
        self._donated = donated_arguments(self._function)
        self._program = SpmdProgram(of_kind(self._function.parent_op(), ModuleOp))

    def of(self, variant: Variant) -> Figures:
        """Returns the figures of a variant, as `Figures.of` the reports on the program by XLA.

        Raises:
            ShardyError: a mesh has too many devices to list them.
        """
        plan = plan_program(variant.block, self._variants.plans)
        program = VariantProgram(self._program, self._variants, variant, plan)
        counts: Counter[str] = Counter()
        received, seconds = 0, 0.0
        for each in plan.sent:
            collective = each.collective
            cost = self._costs.of_sent(each, program)
            counts[collective.kind] += 1
            received += cost.bytes * collective.times
            seconds += cost.seconds * collective.times

        def memory() -> int:
            return estimate_memory(program, self._function, self._donated).total_bytes

        return Figures(dict(sorted(counts.items())), received, seconds, memory, "xla")


class CollectiveCosts:
    """The costs of collectives with a model of links, each kind of them computed once."""

    def __init__(self, meshes: tuple[Mesh, ...], model: CostModel) -> None:
        self._meshes = meshes
        self._model = model
        self._known: dict[Hashable, Cost] = {}
        self._sums: dict[Hashable, tuple[Cost, object]] = {}
        """By the identities of facts, which are kept with them, the costs of all-reduces."""

    def of(self, collective: PlannedCollective, *, scattered: bool = False) -> Cost:
        """Returns the cost of one run; scattered: of a sum of which each device keeps its part only."""
        held = collective.element_type, collective.held_shape
        key = collective.kind, collective.group_size, collective.group, held, scattered
        cost = self._known.get(key)
        if cost is None:
            axes = self._axes(collective)
            cost = self._known[key] = cost_of(self._model, collective, axes, scattered=scattered)
        return cost

    def of_sent(self, sent: Sent, program: SpmdProgram) -> Cost:
        """Returns the cost of one run of a collective of a program."""
        collective, step = sent.collective, sent.step
        if collective.kind != "all_reduce" or step is None or not step.results:
            return self.of(collective)
        sharding, group = program.result_sharding(step), collective.group
        held = collective.held_shape, collective.element_type
        key = step.plan_key, id(sharding), id(group), collective.group_size, *held
        known = self._sums.get(key)
        if known is None:
            scattered = is_scattered(sent, self._axes(collective), sharding)
            known = self._sums[key] = self.of(collective, scattered=scattered), (step, sharding, group)
        return known[0]

    def _axes(self, collective: PlannedCollective) -> tuple[AxisSize, ...]:
        is_permute = collective.kind == "collective_permute"
        found = axes_of_collective(collective.group, self._meshes, is_permute=is_permute)
        return found or ((UNKNOWN_AXIS, collective.group_size),)
