"""The answer: a few plans, the fastest first, each as code; beside the named schemes and what the user has.

Not here: finding them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import unified_diff
from typing import Any, Literal, get_args

from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.mlir.module_paths import is_parameter
from shardy_py.report.tables import bytes_text, seconds_text, table, type_text
from shardy_py.search.advice.torch_layers import TorchModel
from shardy_py.search.study import StepCost
from shardy_py.search.suggest.coarse import CoarseOutcome
from shardy_py.search.suggest.code import Code, Constraint, Row
from shardy_py.search.suggest.frameworks import flax_lines
from shardy_py.search.suggest.judged import Judged, judged_text
from shardy_py.search.suggest.roles import Roles
from shardy_py.search.suggest.schemes import Choice, Spec
from shardy_py.search.suggest.search import rank
from shardy_py.search.suggest.suggestion_json import suggestion_json
from shardy_py.search.suggest.torch_code import TorchInput, torch_lines
from shardy_py.sharding import Mesh
from shardy_py.xla.targets.stage import AS_PARTITIONED

Framework = Literal["jax", "flax", "torch"]
"""The framework that the code of a plan is for."""
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)
_ALL_SHOWN = 40
_LAST_SHOWN = 3


@dataclass(frozen=True)
class Plan:
    """Shardings of arguments and results, constraints on values inside, and what they cost.

    name: of its scheme, or of where the search began. kept, removed: the program's own constraints.
    torch_model: that of PyTorch in the program.
    """

    name: str
    choice: Choice
    cost: StepCost
    mesh: Mesh
    roles: Roles = field(repr=False, compare=False)
    kept: tuple[Constraint, ...] = field(default=(), repr=False)
    removed: tuple[Constraint, ...] = field(default=(), repr=False)
    torch_model: Callable[[], TorchModel] = field(default=TorchModel, repr=False, compare=False)

    @property
    def specs(self) -> Mapping[str, Spec]:
        """The axes of each dimension, by the name of the argument, result or value; of all annotated ones."""
        own = {
            name: own
            for tensor, own in zip(self.roles.tensors, self.choice, strict=True)
            for name in ([name for name, _ in tensor.values] or [tensor.name])
            if own is not None
        }
        given = ((each.name, each.of) for each in self.roles.returned if each.of is not None)
        results = ((name, self.choice[of]) for name, of in given)
        return own | {name: spec for name, spec in results if spec is not None}

    @property
    def framework(self) -> Framework:
        """Returns "torch" if an argument has the name of the weight of a module, else "jax"."""
        arguments = self.roles.tensors[: self.roles.arguments]
        weights = (each.label for each in arguments if each.label.endswith("weight"))
        return "torch" if any(map(is_parameter, weights)) else "jax"

    def code(self, framework: Framework | None = None) -> str:
        """Returns Python: the mesh, a `PartitionSpec` for each argument and result, constraints.

        framework: "jax"; "flax": rules by path; "torch": `parallelize_module` and `fully_shard`; None: that
        of the program. The code for JAX defines `mesh`, `in_specs`, `out_specs` if results are annotated, and
        a function that makes shardings of them; comments say how it is called, and which constraints to add
        and remove, and where.

        Raises:
            ShardyError: an unknown framework, or names of arguments that are not those of a module.
        """
        code, framework = self._code(), framework or self.framework
        if framework == "flax":
            return "\n".join(flax_lines(code))
        if framework == "torch":
            return self._torch_text(code, self.choice)
        if framework != "jax":
            raise ShardyError.unknown("framework", framework, FRAMEWORKS)
        return code.text()

    def code_of(self, own: Code) -> str:
        """Returns annotations of the program that the plan is for, as code for its framework."""
        if self.framework == "jax":
            return own.text()
        return self._torch_text(own, [row.spec for row in own.arguments])

    def _torch_text(self, code: Code, specs: Sequence[Spec | None]) -> str:
        inputs = [*self._inputs(specs)]
        return "\n".join(torch_lines(code, inputs, self.torch_model(), self._experts()))

    def _inputs(self, specs: Sequence[Spec | None]) -> Iterator[TorchInput]:
        roles = self.roles
        for number, tensor in enumerate(roles.tensors[: roles.arguments]):
            if roles.batch is not None and roles.is_data(number):
                batch = roles.classes[number].index(roles.batch)
                yield TorchInput(tensor.label or tensor.name, batch, specs[number] or ())

    def _experts(self) -> frozenset[str]:
        """The arguments whose first dimension is that of experts."""
        own = zip(self.roles.tensors[: self.roles.arguments], self.roles.classes, strict=False)
        return frozenset(tensor.label for tensor, classes in own if {*classes[:1]} & self.roles.experts)

    def _code(self) -> Code:
        roles, tensors = self.roles, self.roles.tensors
        first = zip(tensors[: roles.arguments], self.choice, strict=False)
        points = [each for each in zip(tensors, self.choice, strict=True) if each[0].is_point]
        own = [
            (Constraint(type_text(t.shape, t.element), t.own, t.written), spec)
            for t, spec in points
            if t.own is not None
        ]
        return Code(
            self.mesh,
            tuple(
                Row(t.name, t.path, t.label, type_text(t.shape, t.element), own, t.is_donated)
                for t, own in first
            ),
            tuple(
                Row(r.name, r.path, r.label, type_text(r.shape, r.element), own)
                for r in roles.returned
                for own in (None if r.of is None else self.choice[r.of],)
            ),
            tuple(
                Constraint(type_text(t.shape, t.element), spec, t.values)
                for t, spec in points
                if t.own is None and spec is not None
            ),
            (*self.kept, *(each for each, spec in own if spec == each.spec)),
            (*self.removed, *(each for each, spec in own if spec is None)),
            tuple((each, spec) for each, spec in own if spec not in (None, each.spec)),
        )


@dataclass(frozen=True)
class Suggestion:
    """Plans that no other beats in both time and memory, the fastest first.

    schemes: all named schemes that apply. absent: why the others do not, by name. current: what the program's
    own annotations cost, None if they are invalid; own: as code. tried: choices that were propagated.
    stopped: why the search ended early, "" if it did not. hardware: what times are of. memory_limit: in
    bytes on a device. coarse: how well coarse models were solved. note: on what the figures are of. stage: of
    the programs, as a phrase. verdicts: of the compiler on each plan, if it was asked.
    """

    plans: tuple[Plan, ...]
    schemes: tuple[Plan, ...]
    absent: Mapping[str, str]
    current: StepCost | None
    own: Code | None
    tried: int
    stopped: str
    hardware: str
    memory_limit: int | None
    coarse: tuple[CoarseOutcome, ...]
    _annotate: Callable[[Plan], object] = field(repr=False, compare=False)
    _explain: Callable[[Suggestion], str] = field(repr=False, compare=False)
    _changes: Callable[[Plan], str] = field(repr=False, compare=False)
    note: str = ""
    stage: str = AS_PARTITIONED
    verdicts: tuple[Judged, ...] = ()

    @property
    def best(self) -> Plan:
        """The fastest plan."""
        return self.plans[0]

    @property
    def fits(self) -> bool:
        """True if the plans are within the limit of memory: as compiled, if they were."""
        if self.verdicts:
            return not self.verdicts[0].excess
        return self.memory_limit is None or self.best.cost.memory_bytes <= self.memory_limit

    def program(self, plan: Plan | None = None) -> Any:
        """Returns the program annotated with a plan, by default the best one."""
        return self._annotate(self.best if plan is None else plan)

    def diff(self, plan: Plan | None = None) -> str:
        """Returns a unified diff of code, from the program's annotations to a plan, by default the best one.

        It is empty if nothing changes, or the program has no mesh.
        """
        plan = self.best if plan is None else plan
        if self.own is None:
            return ""
        name = f"plan {self.plans.index(plan) + 1}" if plan in self.plans else plan.name
        before, after = (text.split("\n") for text in (plan.code_of(self.own), plan.code()))
        return "\n".join(unified_diff(before, after, "the program's annotations", name, lineterm=""))

    @property
    def is_complete(self) -> bool:
        """True if the search ended before its limits and was not interrupted."""
        return not self.stopped

    def changes(self, plan: Plan | None = None) -> str:
        """Returns what a plan, by default the best one, changes in the program's annotations, on a line.

        It is empty if nothing changes.
        """
        return self._changes(self.best if plan is None else plan)

    def _first_line(self) -> str:
        """The changes to make to what the program has, and what they save."""
        changes, new, old = self.changes(), seconds_text(self.best.cost.serial), self.current
        if old is None:
            return f"Annotate {changes or 'nothing'}: a step takes {new}"
        if not changes or (self.best.cost.serial, self.best.cost.memory_bytes) == (
            old.serial,
            old.memory_bytes,
        ):
            return f"Nothing to change: no plan that was found beats the program's annotations ({new} a step)"
        than = f"instead of {seconds_text(old.serial)}"
        memory = f"memory {bytes_text(old.memory_bytes)} -> {bytes_text(self.best.cost.memory_bytes)}"
        return f"Change {changes}\na step takes {new} {than}; {memory}"

    def explain(self) -> str:
        """Returns why the best plan is better: bills side by side, and what changes from the program."""
        return self._explain(self)

    def to_json(self) -> JsonObject:
        """Returns the suggestion for JSON; docs/schemas/suggest.json describes it."""
        return suggestion_json(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, framework: Framework | None = None) -> str:
        """Returns the plans as text, with code for a framework, by default that of the program."""
        title = f"Suggested shardings for {self.hardware}, {self.stage}: {self.tried} candidates evaluated"
        if not self.is_complete:
            title += f"; {self.stopped}"
        if not self.fits:
            title += "\nno choice within the limit of memory was found: plan 1 exceeds it least"
        solved = (
            str(each) for each in self.coarse if each.is_optimal
        )  # others are starts of the search only
        title = "\n".join((self._first_line(), title, *filter(None, (self.note,)), *solved))
        rows = [("plan", "mesh", "no overlap", "overlap", "memory", "received")]
        named = [(f"plan {n}: from {plan.name}", plan) for n, plan in enumerate(self.plans, 1)]
        rows += [_row(name, plan.mesh, plan.cost) for name, plan in named]
        if self.current is not None:
            rows.append(_row("the program's annotations", "", self.current))
        rows += [_row(plan.name, plan.mesh, plan.cost) for plan in self.schemes]
        parts = [title, table(rows, left=(0, 1)), *self._reasons()]
        if self.verdicts:
            parts.insert(2, judged_text([plan.cost for plan in self.plans], self.verdicts))
        parts += [
            f"{f'plan {n}: {self.changes(plan)}'.rstrip(': ')}:\n{_shortened(plan.code(framework))}"
            for n, plan in enumerate(self.plans, 1)
        ]
        if self.current is not None and (difference := self.diff()):
            parts.append(f"from the program's annotations to plan 1:\n{_shortened(difference)}")
        return "\n\n".join(parts)

    def _reasons(self) -> Iterable[str]:
        lines = [f"{plan.name}: {reason}" for plan in self.schemes if (reason := self._loses(plan.cost))]
        if lines:
            yield "why the schemes lose to plan 1:\n" + "\n".join(f"  {line}" for line in lines)
        if self.absent:
            rows = (f"  {name}: {reason}" for name, reason in self.absent.items())
            yield "schemes that do not apply:\n" + "\n".join(rows)

    def _loses(self, cost: StepCost) -> str:
        best, reasons = self.best.cost, list[str]()
        if self.memory_limit is not None and cost.memory_bytes > self.memory_limit:
            reasons.append(
                f"needs {bytes_text(cost.memory_bytes)}, the limit is {bytes_text(self.memory_limit)}"
            )
        if cost.serial > best.serial:
            reasons.append(f"{cost.serial / best.serial:.2f} times as long")
            if cost.received_bytes > best.received_bytes:
                reasons.append(f"receives {bytes_text(cost.received_bytes - best.received_bytes)} more")
        return "; ".join(reasons)


def pareto(plans: Iterable[Plan], memory_limit: int | None, most: int = 4) -> tuple[Plan, ...]:
    """Returns the plans that no other beats in both time and memory, the fastest first.

    If none is within the limit of memory: the one that exceeds it least.
    """
    ordered = sorted(plans, key=lambda plan: rank(plan.cost, memory_limit))
    fitting = [plan for plan in ordered if rank(plan.cost, memory_limit)[0] == 0]
    found: list[Plan] = []
    for plan in fitting or ordered[:1]:
        if not found or plan.cost.memory_bytes < found[-1].cost.memory_bytes:
            found.append(plan)
    return tuple(found if len(found) <= most else (*found[: most - 1], found[-1]))


def _row(name: str, mesh: object, cost: StepCost) -> tuple[str, ...]:
    times = seconds_text(cost.serial), seconds_text(cost.overlapped)
    return name, str(mesh), *times, bytes_text(cost.memory_bytes), bytes_text(cost.received_bytes)


def _shortened(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= _ALL_SHOWN:
        return text
    left = len(lines) - _ALL_SHOWN + 1
    first, last = lines[: _ALL_SHOWN - 1 - _LAST_SHOWN], lines[-_LAST_SHOWN:]
    return "\n".join((*first, f"    ... {left} more lines, which --output-dir writes", *last))
