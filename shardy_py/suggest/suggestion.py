"""The answer: a few plans, the fastest first, each as code; beside the named schemes and what the user has.

Not here: finding them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shardy_py.report.tables import bytes_text, seconds_text, table, type_text
from shardy_py.study import StepCost
from shardy_py.suggest.coarse import CoarseOutcome
from shardy_py.suggest.roles import Roles
from shardy_py.suggest.schemes import Choice, Spec
from shardy_py.suggest.search import rank

_ALL_SHOWN = 40
_VALUES_SHOWN = 3


@dataclass(frozen=True)
class Plan:
    """Shardings of arguments and constraints on values inside, and what they cost.

    name: of its scheme, or of where the search began.
    """

    name: str
    choice: Choice
    cost: StepCost
    roles: Roles = field(repr=False, compare=False)
    mesh: str = ""

    @property
    def specs(self) -> Mapping[str, Spec]:
        """The axes of each dimension, by the name of the argument or value; of all that are annotated."""
        return {
            name: own
            for tensor, own in zip(self.roles.tensors, self.choice, strict=True)
            for name in ([name for name, _ in tensor.values] or [tensor.name])
            if own is not None
        }

    def code(self) -> str:
        """Returns Python: the `PartitionSpec` of each argument, by path or else in order; constraints."""
        return "\n".join((*self._arguments(), *self._constraints()))

    def _arguments(self) -> Iterable[str]:
        tensors = self.roles.tensors[: self.roles.arguments]
        if not all(tensor.path and not tensor.path.startswith("%") for tensor in tensors):
            yield "in_specs = ("
            for tensor, own in zip(tensors, self.choice, strict=False):
                yield f"    {spec_text(own)},  # {tensor.name}: {type_text(tensor.shape, tensor.element)}"
            yield ")"
            return
        rows: dict[tuple[object, ...], list[int]] = {}
        for index, tensor in enumerate(tensors):
            rows.setdefault((tensor.path, self.choice[index], tensor.shape), []).append(index)
        yield "specs = {"
        for own in rows.values():
            tensor, times = tensors[own[0]], f"{len(own)} x " if len(own) > 1 else ""
            note = f"{times}{type_text(tensor.shape, tensor.element)}"
            yield f"    {tensor.path!r}: {spec_text(self.choice[own[0]])},  # {note}"
        yield "}"

    def _constraints(self) -> Iterable[str]:
        for tensor, own in zip(self.roles.tensors, self.choice, strict=True):
            if not tensor.values or own is None:
                continue
            kind = f"{len(tensor.values)} values of {type_text(tensor.shape, tensor.element)}"
            yield f"# {kind}: x = jax.lax.with_sharding_constraint(x, {spec_text(own)})"
            yield from (f"#   {name} {place}".rstrip() for name, place in tensor.values[:_VALUES_SHOWN])
            if len(tensor.values) > _VALUES_SHOWN:
                yield f"#   ... {len(tensor.values) - _VALUES_SHOWN} more of these"


@dataclass(frozen=True)
class Suggestion:
    """Plans that no other beats in both time and memory, the fastest first.

    schemes: all named schemes that apply. current: what the program's own annotations cost, None if they are
    invalid. tried: choices that were propagated. is_complete: whether the search ended before its budget.
    hardware: what times are of. memory_limit: in bytes on a device. coarse: how well coarse models were
    solved.
    """

    plans: tuple[Plan, ...]
    schemes: tuple[Plan, ...]
    current: StepCost | None
    tried: int
    is_complete: bool
    hardware: str
    memory_limit: int | None
    coarse: tuple[CoarseOutcome, ...]
    _annotate: Callable[[Plan], Any] = field(repr=False, compare=False)
    _explain: Callable[[Suggestion], str] = field(repr=False, compare=False)

    @property
    def best(self) -> Plan:
        """The fastest plan."""
        return self.plans[0]

    @property
    def fits(self) -> bool:
        """Whether the plans are within the limit of memory."""
        return self.memory_limit is None or self.best.cost.memory_bytes <= self.memory_limit

    def program(self, plan: Plan | None = None) -> Any:
        """Returns the program annotated with a plan, by default the best one."""
        return self._annotate(self.best if plan is None else plan)

    def explain(self) -> str:
        """Returns why the best plan is better: bills side by side, and what changes from the program."""
        return self._explain(self)

    def __str__(self) -> str:
        title = f"Suggested shardings for {self.hardware}: {self.tried} choices scored by propagation"
        if not self.is_complete:
            title += "; the search ended at its limit"
        if not self.fits:
            title += "\nno choice within the limit of memory was found: plan 1 exceeds it least"
        title = "\n".join((title, *map(str, self.coarse)))
        rows = [("plan", "mesh", "no overlap", "overlap", "memory", "received")]
        named = [(f"plan {n}: from {plan.name}", plan) for n, plan in enumerate(self.plans, 1)]
        rows += [_row(name, plan.mesh, plan.cost) for name, plan in named]
        if self.current is not None:
            rows.append(_row("the program's annotations", "", self.current))
        rows += [_row(plan.name, plan.mesh, plan.cost) for plan in self.schemes]
        parts = [title, table(rows, left=(0, 1)), *self._reasons()]
        parts += [f"plan {n}:\n{_shortened(plan.code())}" for n, plan in enumerate(self.plans, 1)]
        return "\n\n".join(parts)

    def _reasons(self) -> Iterable[str]:
        lines = [f"{plan.name}: {reason}" for plan in self.schemes if (reason := self._loses(plan.cost))]
        if lines:
            yield "why the schemes lose to plan 1:\n" + "\n".join(f"  {line}" for line in lines)

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


def spec_text(own: Spec | None) -> str:
    """Returns the `PartitionSpec` of the axes of each dimension.

    >>> spec_text((("data", "model"), (), ("x",))), spec_text(((), ()))
    ("P(('data', 'model'), None, 'x')", 'P()')
    """
    parts = ["None" if not axes else repr(axes[0]) if len(axes) == 1 else repr(axes) for axes in own or ()]
    while parts and parts[-1] == "None":
        parts.pop()
    return f"P({', '.join(parts)})"


def _row(name: str, mesh: str, cost: StepCost) -> tuple[str, ...]:
    times = seconds_text(cost.serial), seconds_text(cost.overlapped)
    return name, mesh, *times, bytes_text(cost.memory_bytes), bytes_text(cost.received_bytes)


def _shortened(code: str) -> str:
    lines = code.split("\n")
    if len(lines) <= _ALL_SHOWN:
        return code
    left = len(lines) - _ALL_SHOWN + 1
    return "\n".join((*lines[: _ALL_SHOWN - 2], f"    # ... {left} more: -o writes them all", lines[-1]))
