"""Collectives as torch launches them: FSDP gathers the parameters of a module in one.

    launches(result.communication(), plan)          {'all_gather': 3, 'all_reduce': 4}
    launched(result.communication(), plan)          [Launch('all_gather', ('dp',), 25056), ...]

A report has one collective for each tensor. Not here: plans (`plans.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from xdsl.ir import Operation

from shardy_py.api import ShardyError
from shardy_py.base.narrowing import is_any_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.builder.tensor import static_shape
from shardy_py.frontends.torch.boundaries import INPUTS, OUTPUTS, PARTS
from shardy_py.frontends.torch.plans import FullyShard
from shardy_py.hardware.cost import DEFAULT, AxisSize
from shardy_py.hardware.tensor_bytes import tensor_size
from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.mlir.dialects.stablehlo import (
    AddOp,
    ConvertOp,
    ReshapeOp,
    ScatterOp,
    SelectOp,
    TransposeOp,
)
from shardy_py.mlir.module_paths import BACKWARD, GATHERS, is_in, outer_name
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.symbols import Symbols, module_of
from shardy_py.mlir.value_shardings import sharding_of
from shardy_py.report.communication import CollectiveUse

_REDUCING = ("all_reduce", "reduce_scatter")
_LINEAR = (AddOp, ConvertOp, ReshapeOp, TransposeOp, SelectOp, ScatterOp)
"""The ops that torch applies to the part of a sum that each device has, before it reduces it.

Selections mask what is looked up by padding, and sums are scattered into gradients of tables.
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """A collective of torch.

    axes: in the order of their names. bytes: that each device sends, in a ring.
    """

    kind: str
    axes: tuple[str, ...]
    bytes: int


def launches(report: object, plan: object = ()) -> dict[str, int]:
    """The number of collectives of each kind that torch launches for those of a communication report.

    plan: of the program. The gathers of a module of `FullyShard` count once in the forward and once in the
    backward pass, and so do the reductions of its gradients: a reduce-scatter, and for HSDP an all-reduce
    along the other axis; axes of tensor parallelism are reduced for each gradient before. Sums that are added
    before they leave a module with a style count once. Raises `ShardyError` for anything but a report.
    """
    return dict(Counter(launch.kind for launch in launched(report, plan)))


def launches_by_axes(report: object, plan: object = ()) -> dict[tuple[str, tuple[str, ...]], int]:
    """`launches` by kind and axes, in the order of their names: `{('all_gather', ('tp',)): 3}`."""
    return dict(Counter((launch.kind, launch.axes) for launch in launched(report, plan)))


def launched(report: Any, plan: object = ()) -> list[Launch]:
    """The collectives that `launches` counts, each with the bytes that a device sends.

    FSDP gathers all parameters of a module again for the backward pass, and reduces the gradient of one that
    is used several times once; sums that are added before are one tensor.
    """
    if not hasattr(report, "sending"):
        raise ShardyError.unexpected("", expected="result.communication()", got=type(report).__name__)
    sharded = tuple(_fully_sharded(plan))
    groups = {_group_of(name) for use in report.sending for name in _names_at(use) if _is_gather(name)}
    found: dict[_Together, dict[Hashable, int]] = {}
    for number, use in enumerate(report.sending):
        for part in _parts(use, number, sharded, groups):
            of_tensors = found.setdefault(part.together, {})
            of_tensors[part.tensor] = max(part.bytes, of_tensors.get(part.tensor, 0))
    sent = {together: sum(of_tensors.values()) for together, of_tensors in found.items()}
    sent |= dict(_gathers_again(sent, sharded))
    return [Launch(each.kind, tuple(sorted(each.axes)), count) for each, count in sent.items()]


@dataclass(frozen=True)
class _Together:
    """The key that collectives of a report share if they are one launch of torch."""

    kind: str
    axes: frozenset[str]
    key: Hashable


@dataclass(frozen=True)
class _Part:
    """A tensor in a launch. tensor: the same for sums that torch adds before."""

    together: _Together
    tensor: Hashable
    bytes: int


def _gathers_again(
    found: Mapping[_Together, int], plans: Sequence[FullyShard]
) -> Iterator[tuple[_Together, int]]:
    """The gathers for the backward pass of modules whose gradients are reduced, of all parameters."""
    reduced = {each.key for each in found if each.kind == "reduce_scatter"}
    for each, sent in found.items():
        name = each.key
        if each.kind != "all_gather" or not isinstance(name, str) or name.endswith(BACKWARD):
            continue
        path = _group_of(name)
        again = [plan.gathers_again(path, plans) for plan in plans if each.axes == frozenset(plan.axes)]
        if path in reduced and any(again):
            yield replace(each, key=name + BACKWARD), sent


def _fully_sharded(plan: object) -> Iterable[FullyShard]:
    if isinstance(plan, FullyShard):
        yield plan
    elif is_any_sequence(plan) and not isinstance(plan, str | Mapping):
        for part in plan:
            yield from _fully_sharded(part)


def _parts(
    use: CollectiveUse, number: int, plans: Sequence[FullyShard], groups: Iterable[str]
) -> Iterator[_Part]:
    """The collectives of torch in place of one of a report. number: of that one."""
    name, axes = _name(use), frozenset(use.axis_names)
    if _is_gather(name):
        sent = use.total.bytes
        if use.kind == "all_reduce":  # Shardy's way where one device has all rows
            sent = DEFAULT.all_gather(_along(use, axes), use.held_bytes * use.times).bytes
        yield _Part(_Together("all_gather", axes, name), number, sent)
        return
    is_backward_sum = use.kind in _REDUCING and name.endswith(BACKWARD)
    boundary = _boundary_after(use.cause.made_for) if is_backward_sum else None
    if boundary is not None and not _is_gather(outer_name(boundary)):
        yield _summed(use, boundary, id(boundary))
        return
    layout = None if name.endswith(BACKWARD) else _layout_after(use.cause.made_for)
    if layout is not None and use.kind == "reduce_scatter":
        yield _summed(use, layout, number)
        return
    place = name if boundary is None else outer_name(boundary)
    around = [path for path in groups if is_in(place, path)] if is_backward_sum else []
    data = axes.intersection(axis for plan in plans for axis in plan.every_axis)
    if not around or not data:
        yield _Part(_Together(use.kind, axes, number), None, use.total.bytes)
        return
    group, shards = max(around, key=len), data.intersection(axis for plan in plans for axis in plan.axes)
    along_shards, whole = _along(use, shards), use.held_bytes * use.times
    if boundary is not None and use.cause.made_for and _is_scattered(use.cause.made_for, boundary):
        whole = _held_at(boundary) * use.times
    parameter = None if boundary is None else _added_up(boundary)
    if parameter is not None and use.kind == "all_reduce":  # the tensors of other kinds have the padding
        whole = _padded(whole, parameter, along_shards)
    tensor = number if parameter is None else id(parameter)
    shard = whole // prod(size for _, size in along_shards)
    for kind, along, key, held in (
        ("all_reduce", axes - data, number, whole),
        ("reduce_scatter", shards, group, whole),
        ("all_reduce", data - shards, group, shard),
    ):
        if along:
            sent = getattr(DEFAULT, kind)(_along(use, along), held).bytes
            yield _Part(_Together(kind, along, key), tensor, sent)


def _summed(use: CollectiveUse, layout: ReshardOp, key: Hashable) -> _Part:
    """The reduction of a sum to the layout where it is constrained first.

    torch reduces before it slices: it has an all-reduce where that layout is whole along the axes, and the
    next one is not.
    """
    axes = frozenset(use.axis_names)
    if use.kind == "reduce_scatter" and axes.isdisjoint(_axes_at(layout)) and _is_sliced(layout, axes):
        sent = DEFAULT.all_reduce(use.axes, use.held_bytes * use.times).bytes
        return _Part(_Together("all_reduce", axes, key), None, sent)
    return _Part(_Together(use.kind, axes, key), None, use.total.bytes)


def _is_sliced(layout: ReshardOp, axes: frozenset[str]) -> bool:
    """Returns whether another layout of a style is the first constraint that shards a value along axes."""
    behind = (op for op in _behind(layout) if isinstance(op, ReshardOp))
    sharded = next((op for op in behind if not axes.isdisjoint(_axes_at(op))), None)
    return sharded is not None and _is_layout(sharded)


def _is_scattered(summed: Operation, boundary: Operation) -> bool:
    """Returns whether a sum is scattered into the gradient that is constrained at a boundary."""
    op = summed
    while op is not boundary:
        op = next(use.operation for use in op.results[0].uses)
        if isinstance(op, ScatterOp):
            return True
    return False


def _held_at(boundary: ReshardOp) -> int:
    """The bytes of a gradient on a device where it is constrained."""
    gradient = boundary.results[0]
    type_, meshes = tensor_type(gradient.type), Symbols(module_of(boundary)).meshes()
    assert type_ is not None
    return tensor_size(type_, sharding_of(gradient), meshes, "linear").bytes.local_bytes


def _axes_at(boundary: ReshardOp) -> frozenset[str]:
    """The axes along which a value is sharded where it is constrained."""
    sharding = sharding_of(boundary.results[0])
    dimensions = sharding.dimensions if sharding is not None else ()
    return frozenset(axis.name for dimension in dimensions for axis in dimension.axes)


def _padded(whole: int, gradient: Operation, shards: Iterable[AxisSize]) -> int:
    """The bytes of a gradient whose shards are all as large as the first, as FSDP pads them."""
    rows, count = (*static_shape(gradient.results[0]), 1)[0], prod(size for _, size in shards)
    return whole // rows * (-(-rows // count) * count) if rows else whole


def _along(use: CollectiveUse, axes: Iterable[str]) -> tuple[AxisSize, ...]:
    """The axes of a collective that have these names, with sizes."""
    pairs = zip(use.axis_names, use.axes, strict=True)
    return tuple(axis for name, axis in pairs if name in axes)


def _added_up(boundary: Operation) -> Operation:
    """The op that makes the gradient of a parameter of the sums behind a constraint of its group."""
    op = boundary
    while len(op.results) == 1 and len(users := [use.operation for use in op.results[0].uses]) == 1:
        if not isinstance(users[0], (*_LINEAR, ReshardOp)):
            break
        op = users[0]
    return op


def _boundary_after(op: Operation | None) -> ReshardOp | None:
    """The constraint at the boundary of a module or parameter that the result of an op is added up for.

    A sum along axes of the data stays one of parts where the output of a module is constrained, up to the
    constraint of a parameter.
    """
    is_in_module = False
    while op is not None and len(op.results) == 1:
        users = [use.operation for use in op.results[0].uses]
        if len(users) != 1:
            return None
        op = users[0]
        what = outer_name(op).removesuffix(BACKWARD).rpartition("/")[2]
        if isinstance(op, ReshardOp) and what in (INPUTS, GATHERS):
            return None if is_in_module and what == INPUTS else op
        is_in_module |= isinstance(op, ReshardOp) and what == OUTPUTS
        if not isinstance(op, _LINEAR) and what not in (PARTS, OUTPUTS):
            return None
    return None


def _layout_after(op: Operation | None) -> ReshardOp | None:
    """The first constraint of a style that a sum of the forward pass reaches."""
    return next((op for op in _behind(op) if isinstance(op, ReshardOp) and _is_layout(op)), None)


def _is_layout(op: ReshardOp) -> bool:
    """Returns whether a constraint is that of a style."""
    return outer_name(op).removesuffix(BACKWARD).rpartition("/")[2] in (INPUTS, OUTPUTS, PARTS)


def _behind(op: Operation | None) -> Iterator[Operation]:
    """The constraints and linear ops behind an op, each the only user of the one before."""
    while op is not None and len(op.results) == 1:
        users = [use.operation for use in op.results[0].uses]
        op = users[0] if len(users) == 1 and isinstance(users[0], (*_LINEAR, ReshardOp)) else None
        if op is not None:
            yield op


def _names_at(use: CollectiveUse) -> Iterator[str]:
    """The name of a collective, and that of the constraint that it is added up for.

    Weights that are on one device each are not gathered, but their gradients are reduced together.
    """
    yield _name(use)
    if (boundary := _boundary_after(use.cause.made_for)) is not None:
        yield outer_name(boundary)


def _name(use: CollectiveUse) -> str:
    """The module and op in the location of the cause of a collective."""
    text = use.cause.location
    position = use.cause.position
    return text.removeprefix(str(position)).strip() if position else text


def _is_gather(name: str) -> bool:
    return name.removesuffix(BACKWARD).rpartition("/")[2] == GATHERS


def _group_of(name: str) -> str:
    return name.removesuffix(BACKWARD).removesuffix(GATHERS).removesuffix("/")
