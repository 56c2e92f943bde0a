"""One program under many annotations: what each costs, without propagating IR again.

    study = Study(program)
    study.score({"%arg0": P("data"), "%arg1": P(None, "model")}).figures.bytes
    study.changes({"%arg1": P("model", None)})

Not here: how (`search/study/`), which annotations are worth a try (`search/suggest/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from shardy_py.api.annotate import Editor
from shardy_py.api.arguments import expect
from shardy_py.api.partition_spec import P
from shardy_py.api.program import Edits, Program
from shardy_py.api.propagate import Options, propagate
from shardy_py.api.result import Result
from shardy_py.api.sharding import Sharding
from shardy_py.api.values import Value
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.session import SESSION, without_collection
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.cost import DEFAULT, CostModel, cost_model
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.dialects.sdy.verify_sharding import check_priorities_and_axes
from shardy_py.mlir.movements import Copies, recorded
from shardy_py.mlir.symbols import function_name
from shardy_py.passes.export.removal import without_size_one_axes
from shardy_py.report.difference import Figures
from shardy_py.search.study import Base, FigureCosts, StepCost, StepCosts, Unsupported, Variant, Variants
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.xla.gspmd.understanding import require_understood
from shardy_py.xla.targets.stage import CompileStage


@dataclass(frozen=True, slots=True)
class Scored:
    """The costs of a program with some annotations, by XLA's partitioner.

    from_scratch: why it was propagated from scratch, which takes longer; "" if it was not.
    """

    figures: Figures
    from_scratch: str = ""


@dataclass(frozen=True, slots=True)
class ShardingChange:
    """A value of the program whose sharding other annotations change; None: it has none."""

    value: Value
    before: Sharding | None
    after: Sharding | None

    def __str__(self) -> str:
        return f"{self.value}: {self.before or 'none'} -> {self.after or 'none'}"


@releases.following
class Study:
    """A program whose annotations are varied.

    Shardings and figures are those of `propagate(program.annotate(edits))`. Edits of arguments and results of
    programs without calls, loops and manual computations take a small part of its time; for others the
    program is propagated from scratch. The program must not change meanwhile.

    model: the costs of links, or the text of a cost model. constraints_as_shardings: whether edits of values
    inside, which are constraints, are taken for the shardings of these values before propagation: that is
    fast, but not always equal.
    """

    def __init__(
        self,
        program: Program,
        options: Options | None = None,
        *,
        model: CostModel | str = DEFAULT,
        constraints_as_shardings: bool = False,
    ) -> None:
        """Raises `ShardyError` for an argument of another type, and for shardings other than sdy's."""
        expect(program, Program, "a Program", "Program.parse reads text")
        require_understood(program.module)
        options = Options() if options is None else options
        expect(options, Options, "Options such as Options(conservative_propagation=True)")
        expect(model, (str, CostModel), "a CostModel, or the text of one")
        self.program = program
        self._options = options
        self._constraints_as_shardings = constraints_as_shardings
        self._model = cost_model(model) if isinstance(model, str) else model
        self._scored: dict[tuple[tuple[int, TensorSharding | None], ...], Scored] = {}

    @property
    def release(self) -> releases.Release:
        """The release of JAX whose Shardy and XLA it follows."""
        return self.program.release

    def __repr__(self) -> str:
        return f"<Study of {self.program!r}>"

    @without_collection()
    def score(self, edits: Edits | None = None) -> Scored:
        """Returns the figures of the program with annotations added, changed or (None) removed.

        Raises:
            ShardyError: edits that `Program.annotate` rejects, or XLA's collectives cannot be planned.
        """
        edits = {} if edits is None else edits
        expect(edits, Mapping, 'shardings by value, as {"%arg0": P("x")}')
        with SESSION.program():
            try:
                prepared = self._incremental
                initial = prepared.initial(edits)
                key = tuple(sorted(initial.items(), key=lambda item: item[0]))
                if key not in self._scored:
                    self._scored[key] = Scored(prepared.figures(initial))
                return self._scored[key]
            except Unsupported as reason:
                return Scored(self._from_scratch(edits), str(reason))

    @without_collection()
    def is_incremental(self, edits: Edits) -> bool:
        """Returns whether these edits are scored without propagating the program from scratch."""
        expect(edits, Mapping, 'shardings by value, as {"%arg0": P("x")}')
        with SESSION.program():
            try:
                prepared = self._incremental
                prepared.variant({})
                prepared.variant(prepared.initial(edits))
            except Unsupported:
                return False
            return True

    @without_collection()
    def step(
        self,
        edits: Edits | None = None,
        hardware: AxisPlacement | Hardware | str = "tpu-v5p",
        *,
        at_most: float = inf,
        stage: CompileStage | None = None,
    ) -> StepCost | None:
        """Returns what a step costs on each device with annotations added, changed or (None) removed.

        Times and bytes are those of `Result.time`, of the estimate of `Result.memory` and of
        `Result.communication` by XLA. at_most: in seconds; None if a step without overlap takes longer.
        stage: the device whose compiler's program it is; None: it is as partitioned.

        Raises:
            ShardyError: as `score`; unknown hardware, or an axis that does not fit on it.
        """
        edits = {} if edits is None else edits
        placement = as_placement(hardware)
        with SESSION.program():
            try:
                return self._incremental.step(self._incremental.initial(edits), placement, at_most, stage)
            except Unsupported:
                result = propagate(self.program.annotate(edits), self._options, record=False, progress=False)
                found = step_cost(result, placement, stage)
                return found if found.serial <= at_most else None

    @without_collection()
    def changes(self, edits: Edits) -> tuple[ShardingChange, ...]:
        """Returns the values whose shardings change with these annotations, in program order.

        A value that is copied for its users occurs once for each change of a copy.

        Raises:
            ShardyError: edits that `Program.annotate` rejects, or other than of arguments and results of a
                program without calls, loops and manual computations.
        """
        with SESSION.program():
            try:
                prepared = self._incremental
                return tuple(prepared.changes(prepared.initial(edits)))
            except Unsupported as reason:
                what = f"changes without propagating from scratch: {reason}"
                raise ShardyError.unsupported(what, remedy="use result.what_if(edits).changes") from None

    def _from_scratch(self, edits: Edits) -> Figures:
        result = propagate(self.program.annotate(edits), self._options, progress=False)
        memory = result.memory(partitioner="xla")
        return Figures.of(result.communication(self._model, partitioner="xla"), memory)

    @property
    def _incremental(self) -> _Incremental:
        found = self._prepared
        if isinstance(found, Unsupported):
            raise found
        return found

    @cached_property
    def _prepared(self) -> _Incremental | Unsupported:
        try:
            return _Incremental(
                self.program, self._options, self._model, inside=self._constraints_as_shardings
            )
        except Unsupported as reason:
            return reason


class _Incremental:
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
            raise Unsupported("a value that is no tensor is annotated")
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
        value = self.variants.closed[number]
        if value is None:
            return None
        if number not in self._shardings:
            self._shardings[number] = Sharding(mesh_of(value, self.variants.meshes), value)
        return self._shardings[number]


def step_cost(result: Result, placement: AxisPlacement, stage: CompileStage | None = None) -> StepCost:
    """Returns what a step of a propagated program costs, from its reports.

    stage: the device whose compiler's program it is.

    Raises:
        ShardyError: an axis does not fit on the hardware, dynamic shapes, or too many devices.
    """
    target = None if stage is None else stage.placement
    time = result.time(placement, target=target, partitioner="xla")
    memory = result.memory(placement, partitioner="xla").estimate
    received = result.communication(target=target, partitioner="xla").total.bytes
    return StepCost(time.overlapped, time.serial, memory.total_bytes, received)


def _counterparts(events: Sequence[object], slots: Mapping[int, int]) -> dict[int, list[int]]:
    """By the identity of a value, the slots of those that passes replaced it by or copied it to."""
    found = {value: [slot] for value, slot in slots.items() if slot}
    for event in reversed(events):
        for old, new in event.values.items() if isinstance(event, Copies) else ():
            if old is not new and id(new) in found:
                found.setdefault(id(old), []).extend(found[id(new)])
    return found
