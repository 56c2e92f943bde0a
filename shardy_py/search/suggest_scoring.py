"""The costs of sharding choices on one mesh: by a study of the program; from scratch for what is shown.

A study takes a constraint on a value inside for the sharding of the value itself, so plans with constraints
are scored again by propagating them. Not here: which choices (`shardy_py.search.suggest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import islice
from math import inf, prod

from shardy_py.api.partition_spec import P
from shardy_py.api.program import Program
from shardy_py.api.propagating import propagate
from shardy_py.api.result import Result
from shardy_py.api.values import Value
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION, without_collection
from shardy_py.hardware import AxisPlacement
from shardy_py.hardware.links import axis_links
from shardy_py.mlir.symbols import Symbols
from shardy_py.search.advice.torch_layers import TorchModel, model_of
from shardy_py.search.advice.torch_scores import scores_of
from shardy_py.search.evaluating import Evaluated, Evaluator
from shardy_py.search.studies import Study
from shardy_py.search.study import StepCost
from shardy_py.search.suggest import (
    AnnotatedTensor,
    Budget,
    Choice,
    CoarseModel,
    Constraint,
    Plan,
    Prices,
    Roles,
    Spec,
    Variables,
    coarse_model,
    divides,
    divides_all,
    schemes,
)
from shardy_py.search.suggest_code import (
    OwnConstraint,
    is_manual,
    own_spec,
    own_variables,
    removed_constraints,
    values_of_main,
)
from shardy_py.search.suggest_variables import variables_of
from shardy_py.search.workers import PendingTask, Workers, workers_of
from shardy_py.sharding import Mesh
from shardy_py.xla.targets.stage import CompileStage

_AHEAD = 2
"""The choices that are begun before their results are asked for, by worker."""
_Begun = tuple[Choice, float, bool]
"""A choice, the most seconds that its step may take, and whether its constraints are those of a program."""


@dataclass(eq=False)
class Scorer:
    """The choices of one mesh that were scored.

    kept: values whose annotation stays. begin: is called with the name of each choice. constraints: the
    program's own ones inside, if they stay too. stage: the device whose compiler's steps they are.
    workers: that score choices.
    """

    source: Program
    mesh_name: str
    mesh: Mesh
    placement: AxisPlacement
    kept: frozenset[str]
    begin: Callable[[str], None]
    constraints: tuple[Constraint, ...] = ()
    costs: dict[Choice, StepCost] = field(default_factory=dict[Choice, StepCost])
    names: dict[Choice, str] = field(default_factory=dict[Choice, str])
    named: list[Plan] = field(default_factory=list[Plan])
    tried: int = 0
    stage: CompileStage | None = None
    workers: Workers = field(default_factory=workers_of)
    _begun: dict[_Begun, PendingTask[Evaluated]] = field(
        default_factory=dict[_Begun, "PendingTask[Evaluated]"]
    )

    @cached_property
    def base(self) -> Program:
        """The program on the mesh, without annotations but those that are kept."""
        values = self.source.values
        edits: dict[Value, None] = {
            v: None
            for v in values
            if v.entry.sharding is not None and v.name not in self.kept and not self._stays(v)
            if not is_manual(v)
        }
        return self.source.edited(edits, {self.mesh_name: self.mesh})

    def _stays(self, value: Value) -> bool:
        return bool(self.constraints) and value.role == "intermediate"

    @cached_property
    def own(self) -> tuple[OwnConstraint, ...]:
        """The program's constraints that are variables, on its own mesh."""
        is_own = self.source.meshes.get(self.mesh_name) == self.mesh and not self.constraints
        return own_variables(self.source, self.base, self.mesh, self.kept) if is_own else ()

    @cached_property
    def _removed(self) -> tuple[Constraint, ...]:
        own = {name for each in self.own for name, _ in each.constraint.values}
        return () if self.constraints else removed_constraints(self.source, {*self.kept, *own})

    @cached_property
    def variables(self) -> Variables:
        """The arguments and points, and the ops that link them."""
        base, source = self.base, self.source
        kept = (v for v in source.values if v.name in self.kept and v.role == "intermediate")
        names = {base.counterpart(v, base.origin).name for v in kept}
        return variables_of(base, names, self.own)

    @property
    def roles(self) -> Roles:
        """The roles of arguments and points."""
        return self.variables.roles

    def coarse(self, memory: int | None) -> CoarseModel:
        """The coarse model of the program; memory: the most bytes on a device."""
        hardware = self.placement.hardware
        links = {each.axis: each.link.bytes_per_second for each in axis_links(self.placement, [self.mesh])}
        tensors = self.roles.tensors[: self.roles.arguments]
        elements = sum(prod(tensor.shape) for tensor in tensors)
        size = sum(tensor.bytes for tensor in tensors) / max(1, elements)
        prices = Prices(links, hardware.memory_bytes_per_second, hardware.peak_flops, size)
        fixed = {i: self._own_spec(self.roles.tensors[i]) or () for i in self.fixed}
        return coarse_model(self.variables, self.mesh, prices, fixed, memory)

    @cached_property
    def fixed(self) -> frozenset[int]:
        """The arguments that keep their annotations."""
        return frozenset(i for i, t in enumerate(self.roles.tensors) if t.name in self.kept and not t.values)

    @cached_property
    def _evaluator(self) -> Evaluator:
        study = Study(self.base, constraints_as_shardings=True)
        return Evaluator(study, self.placement, self.stage, self.workers)

    def is_valid(self, choice: Choice) -> bool:
        """Returns whether axes divide the dimensions, and none is used twice."""
        return divides(choice, self.roles, self.mesh.sizes)

    def add_schemes(self, budget: Budget) -> list[Plan]:
        """Scores the named schemes; returns those that can be scored."""
        own = {i: self._own_spec(self.roles.tensors[i]) for i in self.fixed}
        named = {
            name: tuple(own.get(i, spec) for i, spec in enumerate(made))
            for name, made in schemes(self.roles, self.mesh).items()
        }
        for number, (name, choice) in enumerate(named.items()):
            self.ahead(islice(named.values(), number, max(0, budget.tries) + number))
            if choice not in self.names and not budget.take():
                break
            if self.score(choice, name=name) is not None:
                self.named.append(self.plan(choice, name))
        return self.named

    def settled_schemes(self) -> list[Plan]:
        """The named schemes with their exact costs."""
        self.exact_ahead(self.named)
        return [plan for plan in map(self.settled, self.named) if plan is not None]

    def score(self, choice: Choice, at_most: float = inf, *, name: str) -> StepCost | None:
        """The cost of a choice; None if it is invalid, or a step takes longer than `at_most` seconds."""
        if choice in self.costs:
            return self.costs[choice]
        if choice in self.names:
            return None
        self.begin(f"trying {name}")
        self.names[choice], self.tried = name, self.tried + 1
        cost = self._evaluated(choice, at_most, exact=False)
        if cost is not None:
            self.costs[choice] = cost
        return cost

    def ahead(
        self,
        choices: Iterable[Choice],
        at_most: float = inf,
        helps: Callable[[StepCost], bool] = lambda _: False,
    ) -> None:
        """Lets workers begin the first choices that will be scored; drops others that they have not begun.

        helps: whether a choice with a cost is the last one of these that is scored.
        """
        if self.workers.are_none:
            return
        new = (choice for choice in choices if choice not in self.names)
        wanted = dict.fromkeys((each, at_most, False) for each in islice(new, _AHEAD * self.workers.count))
        for key in [key for key in self._begun if key not in wanted and not key[2]]:
            if self._begun[key].drop():  # what a worker has begun may be asked for later
                del self._begun[key]
        before = list[PendingTask[Evaluated]]()
        for key in wanted:
            before.append(self._begin(*key, partial(_has_ended, tuple(before), helps)))

    def exact_ahead(self, plans: Iterable[Plan]) -> None:
        """Lets workers begin the exact costs of plans of this mesh."""
        if not self.workers.are_none:
            for plan in plans:
                if plan.choice in self.costs and not self._is_exact(plan.choice):
                    self._begin(plan.choice, inf, True)

    def _begin(
        self, choice: Choice, at_most: float, exact: bool, is_needless: Callable[[], bool] = lambda: False
    ) -> PendingTask[Evaluated]:
        key = choice, at_most, exact
        if key not in self._begun:
            edits = self._edits(choice)
            self._begun[key] = self._evaluator.begin(edits, at_most, exact=exact, is_needless=is_needless)
        return self._begun[key]

    def _evaluated(self, choice: Choice, at_most: float, *, exact: bool) -> StepCost | None:
        found = self._begin(choice, at_most, exact).result()
        del self._begun[choice, at_most, exact]
        return None if isinstance(found, ShardyError) else found

    def exact(self, choice: Choice) -> StepCost | None:
        """The cost of a choice that was scored, with its constraints; None if it cannot be scored."""
        if choice in self.costs and not self._is_exact(choice):
            cost = self._evaluated(choice, inf, exact=True)
            self._exact.add(choice)
            if cost is None:
                del self.costs[choice]
            else:
                self.costs[choice] = cost
        return self.costs.get(choice)

    def drop_inexact(self) -> None:
        """Forgets the choices whose costs are not exact."""
        self.costs = {choice: cost for choice, cost in self.costs.items() if self._is_exact(choice)}
        self.named = [plan for plan in self.named if plan.choice in self.costs]

    def _is_exact(self, choice: Choice) -> bool:
        return choice in self._exact or not self._has_constraints(choice)

    @cached_property
    def _exact(self) -> set[Choice]:
        return set()

    def _has_constraints(self, choice: Choice) -> bool:
        return any(t.is_point and own is not None for t, own in zip(self.roles.tensors, choice, strict=True))

    @without_collection()
    def annotated(self, choice: Choice) -> Program:
        """The program with the shardings of a choice; tensors that keep theirs are not changed."""
        return self.base.annotate(self._edits(choice))

    @cached_property
    def _values(self) -> dict[str, Value]:
        return values_of_main(self.base)

    @cached_property
    def _source_values(self) -> dict[str, Value]:
        return values_of_main(self.source)

    def _edits(self, choice: Choice) -> dict[Value, P]:
        edits: dict[Value, P] = {}
        for index, (tensor, own) in enumerate(zip(self.roles.tensors, choice, strict=True)):
            if own is not None and index not in self.fixed and not tensor.is_result:
                names = [name for name, _ in tensor.values] or [tensor.name]
                annotation = _annotation(own)
                edits |= {self._values[name]: annotation for name in names}
        for result in self.roles.returned:
            own = None if result.of is None or result.of in self.fixed else choice[result.of]
            if own is not None and result.name not in self.kept:
                edits[self._values[result.name]] = _annotation(own)
        return edits

    def plans(self) -> list[Plan]:
        """All choices whose costs are known."""
        return [self.plan(choice, self.names[choice]) for choice in self.costs]

    def plan(self, choice: Choice, name: str) -> Plan:
        """A choice with its cost."""
        own = self.constraints, self._removed
        return Plan(name, choice, self.costs[choice], self.mesh, self.roles, *own, self.torch_model)

    def torch_model(self) -> TorchModel:
        """Returns the model of PyTorch."""
        return self._torch_model

    @cached_property
    def _torch_model(self) -> TorchModel:
        function = Symbols(self.base.module).main()
        model = model_of(function)
        return replace(model, scores=scores_of(function, model.layers))

    def settled(self, plan: Plan) -> Plan | None:
        """A plan with its exact cost."""
        cost = self.exact(plan.choice)
        return None if cost is None else replace(plan, cost=cost)

    def own_choice(self) -> Choice | None:
        """The program's own annotations as a choice; None if another mesh or sub-axes occur.

        Arguments without one get the sharding that propagation gives them.
        """
        choice = tuple(t.own if t.is_point else self._propagated_spec(t) for t in self.roles.tensors)
        used = {axis for own in choice for axes in own or () for axis in axes}
        return choice if used <= self.mesh.sizes.keys() and self.is_valid(choice) else None

    def _propagated_spec(self, tensor: AnnotatedTensor) -> Spec | None:
        own = self._own_spec(tensor)
        if own is None or self._source_values[tensor.name].entry.sharding is not None or self._result is None:
            return own
        found = own_spec(self._result[tensor.name]) or own
        is_whole = self.mesh.sizes.keys() >= {axis for axes in found for axis in axes}
        return found if is_whole and divides_all(found, tensor.shape, self.mesh.sizes) else own

    @cached_property
    def _result(self) -> Result | None:
        """The program as it is, propagated; None on other meshes, or if it cannot be."""
        if self.source.meshes.get(self.mesh_name) != self.mesh:
            return None
        try:
            return propagate(self.source, record=False, progress=False)
        except ShardyError:
            return None

    def _own_spec(self, tensor: AnnotatedTensor) -> Spec | None:
        """The axes of an argument or result in the source; sub-axes have names that no mesh has."""
        found = own_spec(self._source_values[tensor.name])
        return ((),) * len(tensor.shape) if found is None and not tensor.is_result else found


def begin_current(
    program: Program, placement: AxisPlacement, stage: CompileStage | None, workers: Workers
) -> Callable[[], StepCost | None]:
    """Lets a worker begin the cost of a program as it is; returns a function that waits for it."""
    try:
        pending = Evaluator(Study(program), placement, stage, workers).begin({})
    except ShardyError:
        return lambda: None

    def current() -> StepCost | None:
        found = pending.result()
        return found if isinstance(found, StepCost) else None

    return current


def _has_ended(before: Sequence[PendingTask[Evaluated]], helps: Callable[[StepCost], bool]) -> bool:
    """True if a task before has found a cost after which the others are not asked for."""
    return any(isinstance(each.found, StepCost) and helps(each.found) for each in before)


@SESSION.cache(4096)
def _annotation(own: Spec) -> P:
    """The annotation of a spec: choices have few, on many values."""
    return P(*own)
