"""Collectives as torch launches them: FSDP gathers the parameters of a module in one.

    launches(result.communication(), plan)          {'all_gather': 3, 'all_reduce': 4}

A report has one collective for each tensor. Not here: plans (`plans.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

from shardy_py.api import ShardyError
from shardy_py.frontends.torch.constraints import GROUP
from shardy_py.frontends.torch.plans import FullyShard
from shardy_py.graph.module_paths import BACKWARD, is_in

_REDUCING = ("all_reduce", "reduce_scatter")


def launches(report: Any, plan: Any = ()) -> dict[str, int]:
    """The number of collectives of each kind that torch launches for those of a communication report.

    plan: of the program. The gathers of a module of `FullyShard` count once in the forward and once in the
    backward pass, and so do the reductions of its gradients along the axes of the plan. Raises `ShardyError`
    for anything but a report.
    """
    if not hasattr(report, "sending"):
        raise ShardyError.unexpected("", expected="result.communication()", got=type(report).__name__)
    axes = frozenset(axis for part in _fully_sharded(plan) for axis in (part.axis, part.replicate) if axis)
    groups = {_group_of(_name(use)) for use in report.sending if _is_gather(_name(use))}
    kinds: dict[Hashable, str] = {}
    for number, use in enumerate(report.sending):
        kinds.setdefault(_launch(use, axes, groups) or number, use.kind)
    return dict(Counter(kinds.values()))


def _fully_sharded(plan: Any) -> Iterable[FullyShard]:
    if isinstance(plan, FullyShard):
        yield plan
    elif isinstance(plan, Sequence) and not isinstance(plan, str | Mapping):
        for part in cast("Sequence[Any]", plan):
            yield from _fully_sharded(part)


def _launch(use: Any, axes: frozenset[str], groups: Iterable[str]) -> tuple[Any, ...] | None:
    """What collectives that are launched together share; None for one on its own."""
    name = _name(use)
    if _is_gather(name):
        return use.kind, use.axes, name
    if use.kind in _REDUCING and name.endswith(BACKWARD) and axes.issuperset(use.axis_names):
        around = [path for path in groups if is_in(name, path)]
        return (use.kind, use.axes, max(around, key=len)) if around else None
    return None


def _name(use: Any) -> str:
    """The module and op in the location of the cause of a collective."""
    text = use.cause.location
    position = use.cause.position
    return text.removeprefix(str(position)).strip() if position else text


def _is_gather(name: str) -> bool:
    return name.removesuffix(BACKWARD).rpartition("/")[2] == GROUP


def _group_of(name: str) -> str:
    return name.removesuffix(BACKWARD).removesuffix(GROUP).removesuffix("/")
