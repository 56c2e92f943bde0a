"""What a variant costs: what XLA's partitioner sends, and the peak of memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from shardy_py.ops import Storage
from shardy_py.partition.cost import Cost, CostModel
from shardy_py.report.communication.device_groups import UNKNOWN_AXIS, axes_of_collective
from shardy_py.report.difference import Figures
from shardy_py.report.memory.collect import donated_arguments, is_same_array
from shardy_py.report.memory.liveness import LivenessAnalysis, MemoryComputation, MemoryStep
from shardy_py.sharding import Mesh
from shardy_py.spmd.model import Collective
from shardy_py.spmd.walk import plan_program
from shardy_py.study.variant import Variant, Variants


class FigureCosts:
    """The figures of variants of one program with one model of links."""

    def __init__(self, variants: Variants, model: CostModel) -> None:
        self._variants = variants
        self._costs = CollectiveCosts(tuple(variants.meshes.values()), model)

    def of(self, variant: Variant) -> Figures:
        """Returns the figures of a variant, as `Figures.of` the reports on the program by XLA.

        Raises:
            ShardyError: a mesh has too many devices to list them.
        """
        sent = plan_program(variant.block, self._variants.plans).sent
        counts: Counter[str] = Counter()
        total = Cost()
        for each in sent:
            collective = each.collective
            cost = self._costs.of(collective)
            counts[collective.kind] += 1
            total += Cost(cost.bytes * collective.times, cost.seconds * collective.times)
        peak = peak_bytes(self._variants, variant)
        return Figures(dict(sorted(counts.items())), total.bytes, total.seconds, peak, "xla")


class CollectiveCosts:
    """What collectives cost with a model of links, each kind of them computed once."""

    def __init__(self, meshes: tuple[Mesh, ...], model: CostModel) -> None:
        self._meshes = meshes
        self._model = model
        self._known: dict[Hashable, Cost] = {}

    def of(self, collective: Collective) -> Cost:
        """Returns the cost of one run."""
        held = collective.element_type, collective.held_shape
        key = collective.kind, collective.group_size, collective.group, held
        cost = self._known.get(key)
        if cost is None:
            is_permute = collective.kind == "collective_permute"
            found = axes_of_collective(collective.group, self._meshes, is_permute=is_permute)
            axes = found or ((UNKNOWN_AXIS, collective.group_size),)
            cost = self._known[key] = getattr(self._model, collective.kind)(axes, collective.held_bytes)
        return cost


def peak_bytes(variants: Variants, variant: Variant) -> int:
    """Returns the peak of padded bytes on each device, of linear layouts, as the memory report has it."""
    size_of = variants.padded_bytes
    sizes = [*map(size_of, variant.types, variant.numbers)]
    steps: list[MemoryStep] = []
    same: dict[int, int] = {}

    def reads_of(values: Iterable[int]) -> tuple[int, ...]:
        return tuple([same.get(value, value) for value in values]) if same else tuple(values)

    for operands, results, storage in variant.lines:
        reads = reads_of(operands) if same else operands
        if storage is Storage.NEW:
            steps.append(MemoryStep(reads, results))
        elif storage is Storage.IN_PLACE:
            steps.append(MemoryStep(reads, results, tuple(zip(reads, results, strict=False))))
        else:
            kept: list[int] = []
            for operand, result in zip(reads, results, strict=True):
                if is_same_array(*(variants.closed[variant.numbers[v]] for v in (operand, result))):
                    same[result] = operand
                else:
                    kept.append(result)
            steps.append(MemoryStep(reads, tuple(kept)))
    returned = reads_of(variant.returned)
    owned = set(variant.arguments)
    arrays: list[int] = []
    copies: list[int] = []
    for value, number in zip(returned, variant.targets, strict=True):
        size = size_of(variant.types[value], number or variant.numbers[value])
        if value not in owned and sizes[value] == size:
            arrays.append(value)
        else:
            sizes.append(size)
            arrays.append(len(sizes) - 1)
            copies.append(len(sizes) - 1)
        owned.add(value)
    steps.append(MemoryStep(returned, tuple(copies)))
    computation = MemoryComputation(variant.arguments, tuple(steps), tuple(arrays))
    donated = donated_arguments(variants.base.function)
    return LivenessAnalysis((computation,), sizes).peak_bytes(0, donated)
