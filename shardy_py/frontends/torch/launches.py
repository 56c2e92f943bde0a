"""Collectives as torch launches them: FSDP gathers the parameters of a module in one.

    launches(result.communication(), plan)          {'all_gather': 3, 'all_reduce': 4}

A report has one collective for each tensor. Not here: plans (`plans.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.ir import Operation

from shardy_py.api import ShardyError
from shardy_py.base.narrowing import is_any_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.boundaries import INPUTS, PARTS
from shardy_py.frontends.torch.constraints import GROUP
from shardy_py.frontends.torch.plans import FullyShard
from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.mlir.dialects.stablehlo import AddOp, ConvertOp, ReshapeOp, TransposeOp
from shardy_py.mlir.module_paths import BACKWARD, is_in, outer_name
from shardy_py.report.communication import CollectiveUse

_REDUCING = ("all_reduce", "reduce_scatter")
_LINEAR = (AddOp, ConvertOp, ReshapeOp, TransposeOp)
"""The ops that torch applies to the part of a sum that each device has, before it reduces it."""


def launches(report: object, plan: object = ()) -> dict[str, int]:
    """The number of collectives of each kind that torch launches for those of a communication report.

    plan: of the program. The gathers of a module of `FullyShard` count once in the forward and once in the
    backward pass, and so do the reductions of its gradients: a reduce-scatter, and for HSDP an all-reduce
    along the other axis; axes of tensor parallelism are reduced for each gradient before. Sums that are added
    before they leave a module with a style count once. Raises `ShardyError` for anything but a report.
    """
    counts: Counter[str] = Counter()
    for (kind, _), count in launches_by_axes(report, plan).items():
        counts[kind] += count
    return dict(counts)


def launches_by_axes(report: Any, plan: Any = ()) -> dict[tuple[str, tuple[str, ...]], int]:
    """`launches` by kind and axes, in the order of their names: `{('all_gather', ('tp',)): 3}`."""
    if not hasattr(report, "sending"):
        raise ShardyError.unexpected("", expected="result.communication()", got=type(report).__name__)
    sharded = tuple(_fully_sharded(plan))
    groups = {_group_of(_name(use)) for use in report.sending if _is_gather(_name(use))}
    found: dict[_Launch, None] = {}
    for number, use in enumerate(report.sending):
        found.update(dict.fromkeys(_launches(use, number, sharded, groups)))
    found.update(dict.fromkeys(_gathers_again([*found], sharded)))
    return dict(Counter((launch.kind, tuple(sorted(launch.axes))) for launch in found))


def _gathers_again(found: Sequence[_Launch], plans: Sequence[FullyShard]) -> Iterator[_Launch]:
    """The gathers for the backward pass of modules whose gradients are reduced, needed or not."""
    reduced = {launch.together for launch in found if launch.kind == "reduce_scatter"}
    for launch in found:
        name = launch.together
        if launch.kind != "all_gather" or not isinstance(name, str) or name.endswith(BACKWARD):
            continue
        path = _group_of(name)
        again = [plan.gathers_again(path) for plan in plans if launch.axes == frozenset(plan.axes)]
        if path in reduced and any(again):
            yield _Launch("all_gather", launch.axes, name + BACKWARD)


@dataclass(frozen=True)
class _Launch:
    """A collective of torch. together: what those that are one launch share."""

    kind: str
    axes: frozenset[str]
    together: Hashable


def _fully_sharded(plan: object) -> Iterable[FullyShard]:
    if isinstance(plan, FullyShard):
        yield plan
    elif is_any_sequence(plan) and not isinstance(plan, str | Mapping):
        for part in plan:
            yield from _fully_sharded(part)


def _launches(
    use: CollectiveUse, number: int, plans: Sequence[FullyShard], groups: Iterable[str]
) -> Iterator[_Launch]:
    """The collectives of torch in place of one of a report. number: of that one."""
    name, axes = _name(use), frozenset(use.axis_names)
    if _is_gather(name):
        yield _Launch(use.kind, axes, name)
        return
    is_backward_sum = use.kind in _REDUCING and name.endswith(BACKWARD)
    boundary = _boundary_after(use.cause.made_for) if is_backward_sum else None
    if boundary is not None and not _is_gather(outer_name(boundary)):
        yield _Launch(use.kind, axes, id(boundary))
        return
    place = name if boundary is None else outer_name(boundary)
    around = [path for path in groups if is_in(place, path)] if is_backward_sum else []
    data = axes.intersection(axis for plan in plans for axis in plan.every_axis)
    if not around or not data:
        yield _Launch(use.kind, axes, number)
        return
    group, shards = max(around, key=len), data.intersection(axis for plan in plans for axis in plan.axes)
    for kind, along, together in (
        ("all_reduce", axes - data, number),
        ("reduce_scatter", shards, group),
        ("all_reduce", data - shards, group),
    ):
        if along:
            yield _Launch(kind, along, together)


def _boundary_after(op: Operation | None) -> Operation | None:
    """The constraint at the boundary of a module or parameter that the result of an op is added up for."""
    while op is not None and len(op.results) == 1:
        users = [use.operation for use in op.results[0].uses]
        if len(users) != 1:
            return None
        op = users[0]
        what = outer_name(op).removesuffix(BACKWARD).rpartition("/")[2]
        if isinstance(op, ReshardOp) and what in (INPUTS, GROUP):
            return op
        if not isinstance(op, _LINEAR) and what != PARTS:
            return None
    return None


def _name(use: CollectiveUse) -> str:
    """The module and op in the location of the cause of a collective."""
    text = use.cause.location
    position = use.cause.position
    return text.removeprefix(str(position)).strip() if position else text


def _is_gather(name: str) -> bool:
    return name.removesuffix(BACKWARD).rpartition("/")[2] == GROUP


def _group_of(name: str) -> str:
    return name.removesuffix(BACKWARD).removesuffix(GROUP).removesuffix("/")
