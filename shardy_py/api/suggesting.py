"""Suggests shardings: scores choices by propagation, XLA's collectives, the time of a step and memory.

Not here: which choices (`shardy_py.suggest`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from shardy_py.api.partition_spec import P
from shardy_py.api.program import Program, ValueKey
from shardy_py.api.propagate import Options, propagate
from shardy_py.api.values import Value
from shardy_py.errors import ShardyError
from shardy_py.graph.build import build_program
from shardy_py.graph.plain import tensor_type
from shardy_py.hardware import placement_of
from shardy_py.passes.propagating import rule_deriver
from shardy_py.passes.runner import run_passes
from shardy_py.progress import progress
from shardy_py.report.sizes import tensor_size
from shardy_py.session import without_collection
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import meshes_with_axes
from shardy_py.suggest import (
    Budget,
    Choice,
    Cost,
    Plan,
    Roles,
    Suggestion,
    Tensor,
    links_of,
    moves_of,
    pareto,
    roles_of,
    schemes,
    search,
)

TRIES = 200
"""Choices that are scored at most, unless another number is given."""
_NUMBER = re.compile(r"(?<=[\[_./])\d+|(?<=[a-z])\d+(?=[\].'/])")


def suggest(
    program: Program,
    meshes: Iterable[Mesh] = (),
    *,
    hardware: str = "tpu-v5p",
    memory: float | None = None,
    keep: Iterable[ValueKey] = (),
    time_limit: float = 60,
    tries: int = TRIES,
    seed: int = 0,
    show_progress: bool = True,
) -> Suggestion:
    """Returns plans for the arguments of @main: see `Program.suggest`."""
    device = placement_of(hardware).hardware
    memory_bytes = None if memory is None else int(memory * device.memory_bytes)
    name, own = _mesh_of(program)
    wanted = tuple(meshes) or (() if own is None else (own,))
    if not wanted:
        raise ShardyError.unexpected("", expected="a mesh", got="a program without one", remedy="pass a mesh")
    kept = frozenset(program.find(key).name for key in keep)
    budget, named = Budget(time_limit, tries), list[Plan]()
    with progress(tries + len(wanted), shown=show_progress) as begin:
        scorers = [_Scorer(program, name, mesh, hardware, kept, begin) for mesh in wanted]
        is_complete = False
        try:
            named = [plan for scorer in scorers for plan in scorer.schemes(budget)]
            if named:
                start = min(named, key=lambda plan: plan.cost.rank(memory_bytes))
                scorer = next(each for each in scorers if str(each.mesh) == start.mesh)
                scorer.improve(start, budget, memory_bytes, seed)
                is_complete = not budget.is_spent
        except KeyboardInterrupt:
            named = [plan for scorer in scorers for plan in scorer.named]
            if not named:
                raise
    found = [plan for scorer in scorers for plan in scorer.plans()]
    if not found:
        raise ShardyError(
            "no choice of shardings can be scored: XLA's collectives of the program cannot be planned"
        )
    by_mesh = {str(scorer.mesh): scorer for scorer in scorers}
    current = None if own is None else _cost(program, hardware)
    return Suggestion(
        pareto(found, memory_bytes),
        tuple(named),
        current,
        sum(len(scorer.costs) for scorer in scorers),
        is_complete,
        hardware,
        memory_bytes,
        lambda plan: by_mesh[plan.mesh].annotated(plan.choice),
    )


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
        raise ShardyError.unexpected("", expected="a program with one mesh", got=f"{len(found)} meshes")
    return next(iter(found.items()), ("mesh", None))


def _cost(program: Program, hardware: str) -> Cost | None:
    try:
        result = propagate(program, record=False, progress=False)
        report, memory = result.time(hardware), result.memory(placement_of(hardware).hardware.target).estimate
        sent = result.communication(partitioner="xla").total.bytes
    except ShardyError:
        return None
    overlapped, serial = report.seconds
    return Cost(overlapped, serial, memory.peak_bytes, sent)


@dataclass
class _Scorer:
    """The choices of one mesh that were scored."""

    source: Program
    mesh_name: str
    mesh: Mesh
    hardware: str
    kept: frozenset[str]
    begin: Callable[[str], None]
    costs: dict[Choice, Cost | None] = field(default_factory=dict[Choice, "Cost | None"])
    names: dict[Choice, str] = field(default_factory=dict[Choice, str])
    named: list[Plan] = field(default_factory=list[Plan])

    def __post_init__(self) -> None:
        self.base = _stripped(self.source, self.kept, self.mesh_name, self.mesh)
        self.roles = _roles(self.base)
        self.sizes = {axis.name: axis.size for axis in self.mesh.axes}
        self.fixed = frozenset(i for i, t in enumerate(self.roles.tensors) if t.name in self.kept)

    def schemes(self, budget: Budget) -> list[Plan]:
        """Scores the named schemes."""
        for name, choice in schemes(self.roles, self.mesh).items():
            if choice not in self.costs and not budget.take():
                break
            cost = self.score(choice, name)
            if cost is not None:
                self.named.append(self._plan(name, choice, cost))
        return self.named

    def improve(self, start: Plan, budget: Budget, memory_limit: int | None, seed: int) -> None:
        """Searches from a named scheme."""
        moves = moves_of(self.roles, self.mesh, self.fixed)
        search(
            *(start.choice, moves, partial(self.score, name=start.name), budget),
            roles=self.roles,
            sizes=self.sizes,
            memory_limit=memory_limit,
            seed=seed,
        )

    def score(self, choice: Choice, name: str) -> Cost | None:
        """What a choice costs; None if it is invalid."""
        if choice not in self.costs:
            self.begin(f"trying {name}")
            self.names[choice] = name
            try:
                self.costs[choice] = _cost(self.annotated(choice), self.hardware)
            except ShardyError:
                self.costs[choice] = None
        return self.costs[choice]

    @without_collection()
    def annotated(self, choice: Choice) -> Program:
        """The program with the shardings of a choice; tensors that keep theirs are not changed."""
        tensors = self.roles.tensors
        edits = {
            t.name: P(*own)
            for i, (t, own) in enumerate(zip(tensors, choice, strict=True))
            if i not in self.fixed
        }
        return self.base.annotate({f"@main:{name}": spec for name, spec in edits.items()})

    def plans(self) -> list[Plan]:
        """All that was scored."""
        return [self._plan(self.names[choice], choice, cost) for choice, cost in self.costs.items() if cost]

    def _plan(self, name: str, choice: Choice, cost: Cost) -> Plan:
        return Plan(name, choice, cost, self.roles, str(self.mesh))


def _stripped(program: Program, kept: frozenset[str], mesh_name: str, mesh: Mesh) -> Program:
    """The program on a mesh, without annotations but those that are kept."""
    edits: dict[Value, None] = {
        value: None for value in program.values if value.entry.sharding is not None and value.name not in kept
    }
    return program.edited(edits, {mesh_name: mesh})


def _roles(program: Program) -> Roles:
    copy = program.copy()
    before = Options().passes()
    until = next(i for i, call in enumerate(before) if call.row.propagates)
    run_passes(copy.module, before[:until], verify="never")
    flat = build_program(copy.module, rule_deriver())
    tensors: list[Tensor] = []
    for value in program.values:
        if value.role != "argument" or value.function != "main":
            continue
        type_ = tensor_type(value.entry.type)
        if type_ is None or value.entry.value is None or None in type_.shape:
            continue
        slot = flat.slots.get(copy.origin[value.entry.value])
        size = tensor_size(type_, None, {}, "linear").bytes.local_bytes
        shape = tuple(n for n in type_.shape if n is not None)
        path = _NUMBER.sub("*", value.label) if value.label else value.name
        tensors.append(Tensor(value.name, path, slot, shape, type_.element, size))
    return roles_of(tensors, links_of(flat.flat))
