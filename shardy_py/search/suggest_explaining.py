"""Why a suggested plan is better: bills of the program, the plan and schemes side by side, and what changes.

Not here: the suggestion (`suggesting.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from shardy_py.api.program import Program
from shardy_py.api.propagating import propagate
from shardy_py.api.result import Result
from shardy_py.api.values import Value
from shardy_py.base.records import dataclass
from shardy_py.hardware import AxisPlacement
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.tables import bytes_text, seconds_text, table, type_text
from shardy_py.report.time import TimeReport
from shardy_py.search.suggest import Plan, Suggestion, spec_text
from shardy_py.search.suggest.schemes import Spec
from shardy_py.search.suggest_code import own_spec, values_of_main

_RIVALS = 3
"""The fastest named schemes that are shown."""
_LISTED = 4
"""Changes that are on the line of a plan."""
_SUB_AXIS = re.compile(r"""'"([^"']+)"(:\(\d+\)\d+)'""")
"""A sub-axis in the text of a spec, which quotes it twice."""
_NAMED = 3
"""Arguments without labels that are named together."""
_NONE = "-"


@dataclass(frozen=True, eq=False)
class _Bill:
    """One column: a propagated program."""

    name: str
    result: Result
    placement: AxisPlacement

    @cached_property
    def time(self) -> TimeReport:
        return self.result.time(self.placement, partitioner="xla")

    @cached_property
    def communication(self) -> CommunicationReport:
        return self.result.communication(partitioner="xla")


def explained(
    program: Program, annotate: Callable[[Plan], Program], placement: AxisPlacement, suggestion: Suggestion
) -> str:
    """Returns the bills and the changes as text."""
    best, seen = suggestion.best, {suggestion.best.choice}
    programs = [("yours", program)] if suggestion.current is not None else []
    programs.append(("plan 1", annotate(best)))
    for plan in sorted(suggestion.schemes, key=lambda plan: plan.cost.serial):
        if plan.choice not in seen and len(seen) <= _RIVALS:
            seen.add(plan.choice)
            programs.append((plan.name, annotate(plan)))
    bills = [_Bill(name, propagate(each, record=False, progress=False), placement) for name, each in programs]
    parts = ["bill of a step on each device:\n" + table(_rows(bills), left=(0,))]
    changes = [*changes_of(program, best)]
    if changes:
        rows = [("values", "yours", "plan 1"), *changes]
        parts.append("what changes from the program's annotations:\n" + table(rows, left=(0, 1, 2)))
    return "\n\n".join(parts)


def _rows(bills: Sequence[_Bill]) -> list[tuple[str, ...]]:
    links = dict.fromkeys(axes for bill in bills for axes in bill.time.by_axes)
    kinds = dict.fromkeys(total.key for bill in bills for total in bill.communication.by_kind)
    rows = [("", *(bill.name for bill in bills))]
    rows.append(("no overlap", *(seconds_text(bill.time.serial) for bill in bills)))
    rows.append(("  compute", *(seconds_text(bill.time.compute) for bill in bills)))
    rows.append(("  memory", *(seconds_text(bill.time.memory_bound) for bill in bills)))
    for axes in links:
        seconds = (bill.time.by_axes.get(axes, 0.0) for bill in bills)
        rows.append((f"  links of {axes}", *map(seconds_text, seconds)))
    rows.append(("perfect overlap", *(seconds_text(bill.time.overlapped) for bill in bills)))
    for kind in kinds:
        rows.append((f"{kind}", *(_sent(bill.communication, kind) for bill in bills)))
    return rows


def _sent(report: CommunicationReport, kind: str) -> str:
    found = next((total for total in report.by_kind if total.key == kind), None)
    return "-" if found is None else bytes_text(found.cost.bytes)


def change_text(program: Program, plan: Plan) -> str:
    """Returns what a plan changes in a program's annotations, on a line; "" if nothing."""
    changes = [*changes_of(program, plan)]
    listed = [
        f"{name}: {after}" if before == _NONE else f"{name}: {before} -> {after.replace(_NONE, 'none')}"
        for name, before, after in changes[:_LISTED]
    ]
    left = len(changes) - len(listed)
    return "; ".join((*listed, f"and {left} more") if left > 0 else listed)


def changes_of(program: Program, plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Returns values whose annotation a plan changes, alike ones together: each with it before and after.

    In a step of PyTorch, states with the sharding of their parameter follow it, and are left out.
    """
    found: dict[tuple[str, str, str], int] = {}
    unnamed: dict[tuple[str, str, str], list[str]] = {}
    values = values_of_main(program)
    specs = {tensor.label: own for tensor, own in zip(plan.roles.tensors, plan.choice, strict=True)}
    is_torch = plan.framework == "torch"  # reads the names of all arguments
    for tensor, own in zip(plan.roles.tensors, plan.choice, strict=True):
        if is_torch and _follows(tensor.label, own, specs):
            continue
        kind = type_text(tensor.shape, tensor.element)
        if tensor.values:
            if own != tensor.own:
                names = [name for name, _ in tensor.values]
                where = f"inside: {kind}" if tensor.is_point else f"{_listed(names)} of {kind}"
                before, after = (_NONE if each is None else spec_text(each) for each in (tensor.own, own))
                name = f"{where}{_place(tensor.written or tensor.values)}" if tensor.is_point else where
                found[name, before, after] = len(tensor.values) if tensor.is_point else 1
            continue
        before, after = _annotation(values[tensor.name]), spec_text(own)
        if before != after and tensor.path:
            key = tensor.path, before, after
            found[key] = found.get(key, 0) + 1
        elif before != after:
            unnamed.setdefault((kind, before, after), []).append(tensor.name)
    for (name, before, after), count in found.items():
        yield (f"{count} x {name}" if count > 1 else name), before, after
    for (kind, before, after), names in unnamed.items():
        yield f"{_listed(names)} of {kind}", before, after


def _follows(label: str, own: Spec | None, specs: Mapping[str, Spec | None]) -> bool:
    """True for a state with the sharding of its parameter, as of `exp_avg of up.weight`, and for counts."""
    of = label.partition(" of ")[2]
    return own == () or (of in specs and specs[of] == own)


def _place(values: Sequence[tuple[str, str]]) -> str:
    """The line of values with their locations, as the end of a phrase; "" if it is unknown, or several."""
    places = {location.partition(" ")[0] for _, location in values}
    return f" at {places.pop()}" if len(places) == 1 and "" not in places else ""


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> _listed(["%arg0", "%arg4", "%arg8", "%arg9"])
    '%arg0, %arg4 and 2 more'
    """
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more"


def _annotation(value: Value) -> str:
    """The annotation of an argument, with sub-axes as sdy writes them."""
    own = own_spec(value)
    return _NONE if own is None else _SUB_AXIS.sub(r"'\1\2'", spec_text(own))
