"""The answer: a few plans, the fastest first, each as code; beside the named schemes and what the user has.

Not here: finding them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardy_py.report.tables import bytes_text, seconds_text, table, type_text
from shardy_py.suggest.roles import Roles
from shardy_py.suggest.schemes import Axes, Choice
from shardy_py.suggest.search import Cost

_ALL_SHOWN = 40


@dataclass(frozen=True)
class Plan:
    """Shardings of all arguments, and what they cost. name: of its scheme, or of where the search began."""

    name: str
    choice: Choice
    cost: Cost
    roles: Roles = field(repr=False, compare=False)
    mesh: str = ""

    @property
    def specs(self) -> Mapping[str, tuple[Axes, ...]]:
        """The axes of each dimension, by the name of the argument."""
        return {t.name: own for t, own in zip(self.roles.tensors, self.choice, strict=True)}

    def code(self) -> str:
        """Returns Python that lists the `PartitionSpec` of each argument, by path or else in order."""
        paths = [tensor.path for tensor in self.roles.tensors]
        rows: dict[str, list[int]] = {}
        for index, path in enumerate(paths):
            rows.setdefault(f"{path} {self.choice[index]} {self.roles.tensors[index].shape}", []).append(
                index
            )
        if all(path and not path.startswith("%") for path in paths):
            lines = [
                f"    {paths[own[0]]!r}: {spec_text(self.choice[own[0]])},{self._note(own)}"
                for own in rows.values()
            ]
            return "\n".join(("specs = {", *lines, "}"))
        listed = (
            f"    {spec_text(own)},  # {t.name}: {type_text(t.shape, t.element)}"
            for t, own in zip(self.roles.tensors, self.choice, strict=True)
        )
        return "\n".join(("in_specs = (", *listed, ")"))

    def _note(self, own: Sequence[int]) -> str:
        tensor = self.roles.tensors[own[0]]
        times = f"{len(own)} x " if len(own) > 1 else ""
        return f"  # {times}{type_text(tensor.shape, tensor.element)}"


@dataclass(frozen=True)
class Suggestion:
    """Plans that no other beats in both time and memory, the fastest first.

    schemes: all named schemes that apply. current: what the program's own annotations cost, None if they are
    invalid. tried: choices scored. is_complete: whether the search ended before its budget.
    hardware: what times are of. memory_limit: in bytes on a device.
    """

    plans: tuple[Plan, ...]
    schemes: tuple[Plan, ...]
    current: Cost | None
    tried: int
    is_complete: bool
    hardware: str
    memory_limit: int | None
    _annotate: Callable[[Plan], Any] = field(repr=False, compare=False)

    @property
    def best(self) -> Plan:
        """The fastest plan."""
        return self.plans[0]

    def program(self, plan: Plan | None = None) -> Any:
        """Returns the program annotated with a plan, by default the best one."""
        return self._annotate(self.best if plan is None else plan)

    def __str__(self) -> str:
        title = f"Suggested shardings for {self.hardware}: {self.tried} choices scored by propagation"
        if not self.is_complete:
            title += "; the search ended at its limit"
        rows = [("plan", "mesh", "no overlap", "overlap", "peak memory", "received")]
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

    def _loses(self, cost: Cost) -> str:
        best, reasons = self.best.cost, list[str]()
        if self.memory_limit is not None and cost.peak_bytes > self.memory_limit:
            reasons.append(
                f"needs {bytes_text(cost.peak_bytes)}, the limit is {bytes_text(self.memory_limit)}"
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
    ordered = sorted(plans, key=lambda plan: plan.cost.rank(memory_limit))
    fitting = [plan for plan in ordered if plan.cost.rank(memory_limit)[0] == 0]
    found: list[Plan] = []
    for plan in fitting or ordered[:1]:
        if not found or plan.cost.peak_bytes < found[-1].cost.peak_bytes:
            found.append(plan)
    return tuple(found if len(found) <= most else (*found[: most - 1], found[-1]))


def spec_text(own: tuple[Axes, ...]) -> str:
    """Returns the `PartitionSpec` of the axes of each dimension.

    >>> spec_text((("data", "model"), (), ("x",))), spec_text(((), ()))
    ("P(('data', 'model'), None, 'x')", 'P()')
    """
    parts = ["None" if not axes else repr(axes[0]) if len(axes) == 1 else repr(axes) for axes in own]
    while parts and parts[-1] == "None":
        parts.pop()
    return f"P({', '.join(parts)})"


def _row(name: str, mesh: str, cost: Cost) -> tuple[str, ...]:
    times = seconds_text(cost.serial), seconds_text(cost.overlapped)
    return name, mesh, *times, bytes_text(cost.peak_bytes), bytes_text(cost.received_bytes)


def _shortened(code: str) -> str:
    lines = code.split("\n")
    if len(lines) <= _ALL_SHOWN:
        return code
    left = len(lines) - _ALL_SHOWN + 1
    return "\n".join((*lines[: _ALL_SHOWN - 2], f"    # ... {left} more: -o writes them all", lines[-1]))
