"""Suggests shardings: named schemes and a search, scored by propagation, time of a step and memory.

Not here: which choices (`shardy_py.search.suggest`), what they cost (`suggest_scoring.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import field, replace
from functools import partial
from itertools import islice
from math import inf
from typing import cast

from xdsl.ir import SSAValue

from shardy_py.api.annotate import ShardingLike
from shardy_py.api.arguments import expect, expect_each, expect_flag, expect_integer, expect_number
from shardy_py.api.foreign import MeshLike, as_mesh, is_mesh
from shardy_py.api.program import Program
from shardy_py.api.values import Value
from shardy_py.api.verified_module import ValueKey
from shardy_py.base.byte_sizes import byte_size
from shardy_py.base.errors import ShardyError
from shardy_py.base.progress import progress
from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.links import require_placed_axes
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of
from shardy_py.search.assignment.integer_program import has_highs
from shardy_py.search.evaluating import ready
from shardy_py.search.suggest import (
    Budget,
    Choice,
    CoarseOutcome,
    Constraint,
    Plan,
    Suggestion,
    absent_schemes,
    moves_of,
    pareto,
    rank,
    search,
)
from shardy_py.search.suggest.judged import Judged
from shardy_py.search.suggest.search import Rank, first_changes, most_seconds
from shardy_py.search.suggest_coarse import Solved, solved, solved_alike
from shardy_py.search.suggest_code import own_code, own_constraints
from shardy_py.search.suggest_compiling import judged, require_compiler
from shardy_py.search.suggest_explaining import change_text, explained
from shardy_py.search.suggest_scoring import Scorer, begin_current
from shardy_py.search.workers import PendingTask, Workers, workers_of
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import meshes_with_axes
from shardy_py.xla.gspmd.understanding import require_reportable
from shardy_py.xla.targets.stage import stage_of, stage_words

Keep = ValueKey | Iterable[ValueKey] | Mapping[ValueKey, ShardingLike]
"""A value or several whose annotations stay, or their shardings by value."""
TRIES = 400
"""Choices that are scored at most, unless another number is given."""
_MOST_TRIES = 1 << 31
"""More choices are never scored, as numbers beyond are no lengths in Python."""
INTERRUPTED = "interrupted"
_BY_XLA = 'with the collectives of XLA\'s partitioner, as other reports by partitioner="xla"'
"""Said of programs that are taken as written, whose other reports are of Shardy's reshards."""
_STARTS = 3
"""Choices from which the search begins, one after the other."""
_COARSE_MESHES = 2
"""Meshes of which the coarse model is solved: those with the best schemes."""
_SEARCHED_PART = 0.75
"""The part of the time limit after which what is shown is scored again with its constraints."""
_FAR = 1.2
"""The longest step of a start, as a multiple of the best one."""
_COARSE_PART = 0.3
"""The part of the time limit for a coarse model."""
YOURS, COARSE = "the program's annotations", "coarse model"


@dataclass(frozen=True)
class Wanted:
    """The conditions of a suggestion: hardware, memory, what is kept, and how long to search.

    hardware: as for `Result.time`. memory: the most bytes of a device that a plan may need, as `byte_size`
    reads them, "90%" of its memory for example; None: no limit. keep: values whose annotations stay, or their
    shardings by value. time_limit: in seconds. tries: choices scored at most. target: a device instead of
    `hardware`, for steps as its compiler leaves them. executor, workers: as for `Study.evaluate`.
    compile: whether that compiler itself judges the last plans, or the path of the Python that has it.
    """

    hardware: AxisPlacement | Hardware | str = "tpu-v5p"
    memory: float | str | None = None
    keep: Keep = ()
    time_limit: float = 60
    tries: int = TRIES
    seed: int = 0
    shows_progress: bool = True
    target: AxisPlacement | Hardware | str | None = None
    executor: Executor | None = None
    workers: int | None = None
    compile: bool | str = False


def suggest(program: Program, meshes: MeshLike | Iterable[MeshLike], wanted: Wanted) -> Suggestion:
    """Returns plans for a program: see `Program.suggest`."""
    given = (meshes,) if is_mesh(meshes) else expect_each("meshes", meshes, object, "a mesh, or several")
    require_reportable(program.module)
    _check(wanted)
    stage = stage_of(wanted.target)
    placement = as_placement(wanted.hardware) if stage is None else stage.placement
    memory = _memory_limit(wanted.memory, placement)
    name, own = _mesh_of(program)
    tried = tuple(map(as_mesh, given)) or (() if own is None else (own,))
    if not tried:
        raise ShardyError.unexpected("", expected="a mesh", got="a program without one", remedy="pass a mesh")
    require_placed_axes(placement, tried)
    python = wanted.compile if isinstance(wanted.compile, str) else None
    compiling = require_compiler(stage, tried[0], python) if wanted.compile else None
    source, kept = _kept(program, name, own or tried[0], wanted.keep)
    with (
        progress(wanted.tries + len(tried), shown=wanted.shows_progress) as begin,
        workers_of(wanted.executor, wanted.workers) as workers,
    ):
        workers.prepare(ready)
        made = partial(Scorer, source, name, placement=placement, kept=kept, begin=begin)
        scorers = [made(mesh, stage=stage, workers=workers) for mesh in tried]
        constraints = own_constraints(source)
        if own is not None and own in tried and not source.has_explicit_axes:
            searched = scorers[tried.index(own)].own
            known = {*kept, *(name for each in searched for name, _ in each.constraint.values)}
            if any(name not in known for each in constraints for name, _ in each.values):
                scorers.append(made(own, constraints=constraints, stage=stage, workers=workers))
        searched = _Search(scorers, memory, wanted, workers)
        current = None if own is None else begin_current(program, placement, stage, workers)
        stopped = searched.run()
        by_key = {(scorer.mesh, scorer.constraints): scorer for scorer in scorers}
        try:
            for scorer in scorers:
                scorer.exact_ahead(scorer.named)
            _shown(by_key, memory)
            plans = _settled(by_key, memory)
            named = [plan for scorer in scorers for plan in scorer.settled_schemes()]
        except KeyboardInterrupt:
            stopped = INTERRUPTED
            for scorer in scorers:
                scorer.drop_inexact()
            plans = _settled(by_key, memory)
            named = [plan for scorer in scorers for plan in scorer.settled_schemes()]
        current_cost = None if current is None else current()
    if not plans:
        raise ShardyError(
            "no choice of shardings can be scored: XLA's collectives of the program cannot be planned"
        )

    def annotate(plan: Plan) -> Program:
        return by_key[plan.mesh, plan.kept].annotated(plan.choice)

    verdicts: tuple[Judged, ...] = ()
    if compiling is not None:
        plans, verdicts = judged(plans, annotate, compiling, python, memory)
    return Suggestion(
        plans,
        tuple(named),
        _absent(scorers),
        current_cost,
        None if own is None else own_code(program, own),
        sum(scorer.tried for scorer in scorers),
        stopped,
        wanted.hardware if isinstance(wanted.hardware, str) and stage is None else placement.hardware.name,
        memory,
        tuple(searched.coarse),
        annotate,
        partial(explained, program, annotate, placement),
        partial(change_text, program),
        "" if program.taken.is_compiled else _BY_XLA,
        stage_words(stage),
        verdicts,
    )


def _check(wanted: Wanted) -> None:
    expect_number("time_limit", wanted.time_limit)
    expect_integer("tries", wanted.tries, 1)
    expect_integer("seed", wanted.seed)
    expect_flag("progress", wanted.shows_progress)
    expect(wanted.compile, (bool, str), "a flag, or the path of a Python interpreter")


def _kept(program: Program, mesh_name: str, mesh: Mesh, keep: Keep) -> tuple[Program, frozenset[str]]:
    """The program with the shardings that are given, and the names of the values whose annotations stay.

    Raises `ShardyError` for unknown values, and shardings that cannot be converted.
    """
    if isinstance(keep, str | Value | int):
        values = [program.find(keep)]
    elif not isinstance(keep, Mapping):
        expect_each("keep", keep, object, "values, or shardings by value")
        values = [program.find(key) for key in keep]
    else:
        given = cast("Mapping[ValueKey, ShardingLike]", keep)
        values = [program.find(key) for key in given]
        shardings = dict(zip(values, given.values(), strict=True))
        program = program.edited(shardings, {} if program.meshes else {mesh_name: mesh})
        values = [program.counterpart(value, program.origin) for value in values]
    return program, frozenset(name for value in values for name in _names_of(program, value))


def _names_of(program: Program, value: Value) -> Iterator[str]:
    """The names of a value, of the constraints that have its annotation, or of the value they constrain."""
    yield value.name
    ssa, op = value.entry.value, value.entry.op
    if ssa is None or value.role != "intermediate":
        return
    others: list[SSAValue] = [
        use.operation.results[0] for use in ssa.uses if isinstance(use.operation, ShardingConstraintOp)
    ]
    if isinstance(op, ShardingConstraintOp):
        others.append(op.input)
    entries = (program.values.table.by_value[id(other)] for other in others)
    yield from (entry.name for entry in entries if entry.role == "intermediate")


def _memory_limit(given: float | str | None, placement: AxisPlacement) -> int | None:
    if given is None:
        return None
    memory = placement.hardware.memory_bytes
    try:
        return byte_size(given, whole=memory, whole_name="the memory of a device", least=1)
    except ShardyError as error:
        raise ShardyError(replace(error.first, what="invalid memory")) from None


@dataclass
class _Search:
    scorers: list[Scorer]
    memory: int | None
    wanted: Wanted
    workers: Workers
    coarse: list[CoarseOutcome] = field(default_factory=list[CoarseOutcome])
    _begun: dict[Scorer, PendingTask[Solved]] = field(default_factory=dict[Scorer, "PendingTask[Solved]"])

    def run(self) -> str:
        """Scores schemes and searches; returns why the search stopped early, "" if it did not."""
        self.budget = Budget(_SEARCHED_PART * self.wanted.time_limit, min(self.wanted.tries, _MOST_TRIES))
        held: Rank | None = None
        try:
            for scorer, plan in self._starts():
                best = scorer.plan(self._improved(scorer, plan), plan.name)
                if held is None or self._rank((scorer, best)) < held:
                    held = self._rank((scorer, best))
                    scorer.exact_ahead((best,))
        except KeyboardInterrupt:
            if not any(scorer.costs for scorer in self.scorers):
                raise
            return INTERRUPTED
        return f"search stopped at {self.budget.spent}" if self.budget.spent else ""

    def _starts(self) -> Iterator[tuple[Scorer, Plan]]:
        """The best schemes, solutions of coarse models, and the program's own annotations; the best first."""
        found: list[tuple[Scorer, Plan]] = []
        if self.workers.count > 1 and len(self.scorers) <= _COARSE_MESHES:
            self._begun = {scorer: self._begin_coarse(scorer) for scorer in self.scorers}
        for scorer in self.scorers:
            if not scorer.constraints:  # the schemes are without them
                found += [(scorer, plan) for plan in scorer.add_schemes(self.budget)]
            own = scorer.own_choice()
            is_new = own is not None and own not in scorer.names and self.budget.take()
            if own is not None and is_new and scorer.score(own, name=YOURS) is not None:
                exact = scorer.exact(own)  # no plan may be slower than what the user has
                found += [] if exact is None else [(scorer, scorer.plan(own, YOURS))]
        found.sort(key=self._rank)
        for scorer in dict.fromkeys(scorer for scorer, _ in found[:_COARSE_MESHES]):
            found += self._coarse(scorer, found[0])
        found.sort(key=self._rank)
        return iter(found[:_STARTS])

    def _rank(self, item: tuple[Scorer, Plan]) -> Rank:
        return rank(item[1].cost, self.memory)

    def _coarse(self, scorer: Scorer, first: tuple[Scorer, Plan]) -> Iterator[tuple[Scorer, Plan]]:
        """The solutions of the coarse model on a mesh that are not far from the best choice so far.

        While one worker solves it, others begin what is scored next if no solution is better.
        """
        best = first[1].cost
        at_most = _FAR * best.serial if self.memory is None else inf
        pending = self._begun.pop(scorer, None) or self._begin_coarse(scorer)
        scorer.exact_ahead(scorer.named)
        if self.workers.count > 1 and self.budget.tries > 0:
            self._ahead_from(*first)
        outcome, choices = pending.result()
        self.coarse.append(outcome)
        for number, choice in enumerate(choices):
            following = filter(scorer.is_valid, islice(choices, number, None))
            scorer.ahead(islice(following, max(0, self.budget.tries)), at_most)
            is_new = scorer.is_valid(choice) and choice not in scorer.names and self.budget.take()
            if is_new and scorer.score(choice, at_most, name=COARSE) is not None:
                yield scorer, scorer.plan(choice, COARSE)

    def _ahead_from(self, scorer: Scorer, start: Plan) -> None:
        """Lets workers begin the first changes of a start."""
        moves = moves_of(scorer.roles, scorer.mesh, scorer.fixed)
        changes = first_changes(start.choice, moves, scorer.is_valid, self.wanted.seed)
        most = most_seconds(start.cost, self.memory)
        scorer.ahead(islice(changes, self.budget.tries), most)

    def _begin_coarse(self, scorer: Scorer) -> PendingTask[Solved]:
        """The solution of the coarse model on a mesh, which a worker begins if there are any."""
        seconds = min(_COARSE_PART * self.wanted.time_limit, self.budget.left)
        given = scorer.coarse(self.memory), seconds, self.wanted.seed
        here = partial(solved, *given)
        if self.workers.are_none:
            return PendingTask(here)
        return self.workers.begin(here, solved_alike, *given, has_highs())

    def _improved(self, scorer: Scorer, start: Plan) -> Choice:
        return search(
            *(start.choice, start.cost, moves_of(scorer.roles, scorer.mesh, scorer.fixed)),
            partial(scorer.score, name=start.name),
            self.budget,
            is_valid=scorer.is_valid,
            memory_limit=self.memory,
            seed=self.wanted.seed,
            ahead=scorer.ahead,
        )


_Scorers = Mapping[tuple[Mesh, tuple[Constraint, ...]], Scorer]


def _settled(scorers: _Scorers, memory: int | None) -> tuple[Plan, ...]:
    """The plans to show; those with constraints are scored again, which may change which are shown."""
    while True:
        plans = _shown(scorers, memory)
        if all(plan == scorers[plan.mesh, plan.kept].settled(plan) for plan in plans):
            return plans


def _shown(scorers: _Scorers, memory: int | None) -> tuple[Plan, ...]:
    """The plans to show by what is known; workers begin their exact costs."""
    plans = pareto([plan for scorer in scorers.values() for plan in scorer.plans()], memory)
    for plan in plans:
        scorers[plan.mesh, plan.kept].exact_ahead((plan,))
    return plans


def _absent(scorers: Sequence[Scorer]) -> dict[str, str]:
    """Why named schemes do not apply on any of the meshes."""
    found = [absent_schemes(scorer.roles, scorer.mesh) for scorer in scorers]
    return {name: why for name, why in found[0].items() if all(name in each for each in found)}


def factorizations(devices: int) -> tuple[Mesh, ...]:
    """Returns the meshes of data and model axes with that many devices.

    >>> [str(mesh) for mesh in factorizations(4)]
    ['<["data"=4, "model"=1]>', '<["data"=2, "model"=2]>', '<["data"=1, "model"=4]>']
    """
    sizes = [n for n in range(1, devices + 1) if devices % n == 0]
    return tuple(Mesh.of({"data": devices // n, "model": n}) for n in sizes)


def _mesh_of(program: Program) -> tuple[str, Mesh | None]:
    found = meshes_with_axes(program.meshes)
    if len(found) > 1:
        listed = ", ".join(f"@{name}" for name in found)
        second = Symbols(program.module).get([*found][1])
        raise ShardyError.unexpected(
            "",
            expected="a program with one mesh",
            got=f"{len(found)} meshes ({listed})",
            remedy="write the shardings along axes of one of them",
            where=None if second is None else position_of(second.location),
        )
    return next(iter(found.items()), ("mesh", None))
