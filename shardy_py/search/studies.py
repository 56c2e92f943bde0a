"""One program under many annotations: what each costs, without propagating IR again.

    study = Study(program)
    study.score({"%arg0": P("data"), "%arg1": P(None, "model")}).figures.bytes
    study.changes({"%arg1": P("model", None)})

Not here: how (`search/study/`), which annotations are worth a try (`search/suggest/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from math import inf
from types import NoneType
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect, expect_flag, expect_number
from shardy_py.api.program import Edits, Program
from shardy_py.api.propagating import Options, propagate
from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION, without_collection
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.cost import DEFAULT, CostModel, cost_model
from shardy_py.report.difference import Figures
from shardy_py.search.evaluating import Evaluator
from shardy_py.search.study import StepCost, Unsupported
from shardy_py.search.study.incremental import Incremental, ShardingChange
from shardy_py.search.workers import Workers, workers_of
from shardy_py.sharding import TensorSharding
from shardy_py.xla.gspmd.understanding import require_understood
from shardy_py.xla.targets.stage import CompileStage, stage_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from shardy_py.api.result import Result


@dataclass(frozen=True, slots=True)
class Scored:
    """The costs of a program with some annotations, by XLA's partitioner.

    from_scratch: why it was propagated from scratch, which takes longer; "" if it was not.
    """

    figures: Figures
    from_scratch: str = ""


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

    def __reduce__(self) -> tuple[object, ...]:
        options = {"model": self._model, "constraints_as_shardings": self._constraints_as_shardings}
        return partial(Study, **options), (self.program, self._options)

    def __repr__(self) -> str:
        return f"<Study of {self.program!r}>"

    @without_collection()
    def score(self, edits: Edits | None = None) -> Scored:
        """Returns the figures of the program with annotations added, changed or (None) removed.

        Raises:
            ShardyError: edits that `Program.annotate` rejects, or XLA's collectives cannot be planned.
        """
        edits = {} if edits is None else edits
        _expect_edits(edits)
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
        _expect_edits(edits)
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
        exact: bool = False,
    ) -> StepCost | None:
        """Returns what a step costs on each device with annotations added, changed or (None) removed.

        Times and bytes are those of `Result.time`, of the estimate of `Result.memory` and of
        `Result.communication` by XLA. at_most: in seconds; None if a step without overlap takes longer.
        stage: the device whose compiler's program it is; None: it is as partitioned. exact: whether edits of
        values inside are constraints, whatever the study takes them for.

        Raises:
            ShardyError: as `score`; unknown hardware, or an axis that does not fit on it.
        """
        edits = {} if edits is None else edits
        _expect_edits(edits)
        expect_number("at_most", at_most)
        expect_flag("exact", exact)
        expect(stage, (CompileStage, NoneType), "the stage of a target", what="stage")
        placement = as_placement(hardware)
        if exact and self._constraints_as_shardings:
            annotated = Study(self.program.annotate(edits), self._options, model=self._model)
            return annotated.step({}, placement, at_most=at_most, stage=stage)
        with SESSION.program():
            try:
                return self._incremental.step(self._incremental.initial(edits), placement, at_most, stage)
            except Unsupported:
                result = propagate(self.program.annotate(edits), self._options, record=False, progress=False)
                found = step_cost(result, placement, stage)
                return found if found.serial <= at_most else None

    def evaluate(
        self,
        candidates: Iterable[Edits],
        hardware: AxisPlacement | Hardware | str = "tpu-v5p",
        *,
        target: AxisPlacement | Hardware | str | None = None,
        executor: Executor | None = None,
        workers: int | None = None,
    ) -> Iterator[StepCost]:
        """Returns what a step costs with each of several sets of annotations, in their order, as `step` says.

        executor: evaluates them, as those of `concurrent.futures`; each of its workers needs this package.
        workers: candidates at a time, by default as many as the executor has workers; without an executor,
        so many processes of this machine. What a worker that is lost had is evaluated here.

        Raises:
            ShardyError: as `step`, when the candidate is reached; an executor or a number that is none.
        """
        stage = stage_of(target)
        placement = as_placement(hardware) if stage is None else stage.placement
        listed = [*candidates]
        for edits in listed:
            _expect_edits(edits)
        return _costs(self, placement, stage, listed, workers_of(executor, workers))

    @without_collection()
    def changes(self, edits: Edits) -> tuple[ShardingChange, ...]:
        """Returns the values whose shardings change with these annotations, in program order.

        A value that is copied for its users occurs once for each change of a copy.

        Raises:
            ShardyError: edits that `Program.annotate` rejects, or other than of arguments and results of a
                program without calls, loops and manual computations.
        """
        _expect_edits(edits)
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
    def _incremental(self) -> Incremental:
        found = self._prepared
        if isinstance(found, Unsupported):
            raise found
        return found

    @cached_property
    def _prepared(self) -> Incremental | Unsupported:
        try:
            return Incremental(
                self.program, self._options, self._model, inside=self._constraints_as_shardings
            )
        except Unsupported as reason:
            return reason


def _expect_edits(edits: object) -> None:
    expect(edits, Mapping, 'shardings by value, as {"%arg0": P("x")}')


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


def _costs(
    study: Study, placement: AxisPlacement, stage: CompileStage | None, listed: list[Edits], workers: Workers
) -> Iterator[StepCost]:
    with workers:
        evaluator = Evaluator(study, placement, stage, workers)
        for pending in [evaluator.begin(edits) for edits in listed]:
            found = pending.result()
            if isinstance(found, ShardyError):
                raise found
            assert found is not None  # it may take as long as it takes
            yield found
