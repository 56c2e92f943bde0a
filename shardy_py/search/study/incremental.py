"""A prepared program with the slots of values of the source: annotations of users become those of slots.

Not here: programs and annotations that are not prepared so (`search/studies.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from shardy_py.api.annotate import Editor
from shardy_py.api.partition_spec import P
from shardy_py.api.program import Edits, Program
from shardy_py.api.propagating import Options
from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement
from shardy_py.hardware.cost import CostModel
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.dialects.sdy.verify_sharding import check_priorities_and_axes
from shardy_py.mlir.movements import Copies, recorded
from shardy_py.mlir.symbols import function_name
from shardy_py.passes.export.removal import without_size_one_axes
from shardy_py.report.difference import Figures
from shardy_py.search.study.base import Base, Unsupported
from shardy_py.search.study.figures import FigureCosts
from shardy_py.search.study.step_cost import StepCost, StepCosts
from shardy_py.search.study.variant import Variant, Variants
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.targets.stage import CompileStage


@dataclass(frozen=True, slots=True)
class ShardingChange:
    """A value of the program whose sharding other annotations change; None: it has none."""

    value: Value
    before: Sharding | None
    after: Sharding | None

    def __str__(self) -> str:
        return f"{self.value}: {self.before or 'none'} -> {self.after or 'none'}"


class Incremental:
    """A prepared program, with the slots of values of the source."""

    def __init__(self, program: Program, options: Options, model: CostModel, *, inside: bool) -> None:
        self.program = program
        self._inside = inside
        copy = program.copy()
        self._editor = Editor(copy.module)
        self._has_unit_axes = any(axis.size == 1 for mesh in copy.meshes.values() for axis in mesh.axes)
        self._copy = copy
        with recorded() as events:
            base = Base.of(copy.module, options.passes())
        self.variants = Variants(base)
        _ = self.variants.skeleton
        self._specs: dict[tuple[object, P], TensorSharding] = {}
        self._shardings: dict[int, Sharding] = {}
        self._step_costs: dict[str, StepCosts] = {}
        self._figure_costs = FigureCosts(self.variants, model)
        self._last: tuple[Mapping[int, TensorSharding | None], Variant] | None = None
        self._slots = base.program.slots
        self._counterparts = _counterparts(events, self._slots.of)

    def initial(self, edits: Edits) -> dict[int, TensorSharding | None]:
        """The initial shardings, by slot, of edited values."""
        found: dict[int, TensorSharding | None] = {}
        for key, annotation in edits.items():
            value = self.program.find(key)
            slot = self._slot(value)
            found[slot] = None if annotation is None else self._known(value, annotation)
        return found

    def _slot(self, value: Value) -> int:
        entry, base = value.entry, self.variants.base
        if value.role == "intermediate" and not self._inside:
            raise Unsupported("a value inside is annotated")
        if entry.value is None:
            return self._slots.function_results[id(base.function)][entry.index]
        copy = self._copy.origin[entry.value]
        if any(isinstance(use.operation, ShardingConstraintOp) for use in copy.uses):
            raise Unsupported("an argument with a sharding constraint is annotated")
        slot = self._slots.get(copy)
        if not slot:
            raise Unsupported("an annotated value is replaced before propagation")
        return slot

    def _known(self, value: Value, annotation: object) -> TensorSharding:
        if not isinstance(annotation, P):
            return self._resolved(value, annotation)
        key = value.shape, annotation
        if key not in self._specs:
            self._specs[key] = self._resolved(value, annotation)
        return self._specs[key]

    def _resolved(self, value: Value, annotation: object) -> TensorSharding:
        rank = None if value.shape is None else len(value.shape)
        if rank is None:
            raise Unsupported("an annotated value is not a tensor")
        try:
            sharding = self._editor.resolved(annotation, value.shape).for_rank(rank).value
            known = self.variants.meshes
            if sharding.mesh not in known:
                raise Unsupported("a mesh is added")
            mesh = known[str(sharding.mesh)]
            check_priorities_and_axes(sharding, mesh)
        except (ShardyError, Fault) as error:
            raise Unsupported("annotations are invalid") from error  # propagation from scratch says why
        return without_size_one_axes(sharding, mesh) if self._has_unit_axes else sharding

    def figures(self, initial: Mapping[int, TensorSharding | None]) -> Figures:
        """The cost of the program with these initial shardings."""
        return self._figure_costs.of(self.variant(initial))

    def step(
        self,
        initial: Mapping[int, TensorSharding | None],
        placement: AxisPlacement,
        at_most: float,
        stage: CompileStage | None = None,
    ) -> StepCost | None:
        """The cost of a step with these initial shardings."""
        key = f"{placement}, {stage is not None}"
        if key not in self._step_costs:
            self._step_costs[key] = StepCosts(self.variants, placement, stage)
        return self._step_costs[key].of(self.variant(initial), at_most)

    def variant(self, initial: Mapping[int, TensorSharding | None]) -> Variant:
        """The program with these initial shardings; the last is kept, as figures and changes need it."""
        if not initial:
            return self._unchanged
        if self._last is None or self._last[0] != initial:
            self._last = initial, self._made(initial)
        return self._last[1]

    @cached_property
    def _unchanged(self) -> Variant:
        return self._made({})

    def _made(self, initial: Mapping[int, TensorSharding | None]) -> Variant:
        return self.variants.variant(self.variants.base.decided(initial))

    @cached_property
    def _followed(self) -> list[tuple[Value, Sequence[int]]]:
        """The values of the program with the slots that they become."""
        return [(value, self._slots_of(value)) for value in self.program.values]

    def changes(self, initial: Mapping[int, TensorSharding | None]) -> Iterator[ShardingChange]:
        """The values whose closed shardings differ from those without edits."""
        before, after = self._unchanged.numbers, self.variant(initial).numbers
        for value, slots in self._followed:
            seen: set[tuple[int, int]] = set()
            for slot in slots:
                sides = old, new = before[slot], after[slot]
                if old != new and sides not in seen:
                    seen.add(sides)
                    yield ShardingChange(value, self._sharding(old), self._sharding(new))

    def _slots_of(self, value: Value) -> Sequence[int]:
        if value.entry.value is None and value.function != function_name(self.variants.base.function):
            return ()  # the result of a private function, which is inlined or dead
        if value.entry.value is None:
            return (self._slots.function_results[id(self.variants.base.function)][value.entry.index],)
        return self._counterparts.get(id(self._copy.origin[value.entry.value]), ())

    def _sharding(self, number: int) -> Sharding | None:
        value = self.variants.shardings[number]
        if value is None:
            return None
        if number not in self._shardings:
            self._shardings[number] = Sharding(mesh_of(value, self.variants.meshes), value)
        return self._shardings[number]


def _counterparts(events: Sequence[object], slots: Mapping[int, int]) -> dict[int, list[int]]:
    """By the identity of a value, the slots of those that passes replaced it by or copied it to."""
    found = {value: [slot] for value, slot in slots.items() if slot}
    for event in reversed(events):
        for old, new in event.values.items() if isinstance(event, Copies) else ():
            if old is not new and id(new) in found:
                found.setdefault(id(old), []).extend(found[id(new)])
    return found
