"""sdy's ops: constraints, groups, barriers, manual computations.

Not here: shardings of arguments and results (`build.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from shardy_py.api import Sharding, ShardyError
from shardy_py.api.annotate import DIRECTIONS
from shardy_py.frontends.builder.bodies import Body, region
from shardy_py.frontends.builder.insertion import caller_location, current_trace, insert
from shardy_py.frontends.builder.tensor import Tensor, rank_of, value_of
from shardy_py.frontends.builder.types import RankedTensorType
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.kinds import I64
from shardy_py.mlir.ir import set_location
from shardy_py.mlir.typed import of_kind


def sharding_constraint(operand: Tensor, sharding: object) -> Tensor:
    """The tensor, constrained; `sharding` is a `Sharding`, or a spec on the program's only mesh."""
    resolved = _resolved("the tensor", sharding, rank_of(operand))
    return Tensor(_inserted(sdy.ShardingConstraintOp(operand.value, resolved.value)).results[0])


def sharding_group(operands: Sequence[Tensor], group_id: int) -> None:
    """Adds tensors to a group that gets one sharding."""
    number = of_kind(I64.encode(group_id), IntegerAttr).value.data
    for operand in operands:
        _inserted(sdy.ShardingGroupOp(value_of(operand), number))


def propagation_barrier(operand: Tensor, direction: str = "NONE") -> Tensor:
    """The tensor; shardings propagate across in direction NONE, FORWARD, BACKWARD or BOTH."""
    if direction not in DIRECTIONS:
        raise ShardyError.unknown("direction", str(direction), DIRECTIONS)
    return Tensor(_inserted(sdy.PropagationBarrierOp(value_of(operand), direction)).results[0])


def manual_computation(
    body: Body,
    inputs: Sequence[Tensor],
    in_shardings: Sequence[object],
    out_shardings: Sequence[object],
    manual_axes: Sequence[str],
) -> tuple[Tensor, ...]:
    """`body` on the parts that each device holds along `manual_axes`; sizes inside are local along those.

    Raises `ShardyError` when a dimension is not divisible by its manual axes, or the shardings do not fit.
    """
    manual_axes = (manual_axes,) if isinstance(manual_axes, str) else tuple(manual_axes)
    if len(in_shardings) != len(inputs):
        raise ShardyError.unexpected(
            "", expected=f"a sharding for each of {len(inputs)} inputs", got=f"{len(in_shardings)}"
        )
    ins = [
        _resolved(f"input {number}", sharding, rank_of(tensor))
        for number, (tensor, sharding) in enumerate(zip(inputs, in_shardings, strict=True))
    ]
    types = [
        _local(number, tensor.type, sharding, manual_axes)
        for number, (tensor, sharding) in enumerate(zip(inputs, ins, strict=True))
    ]
    inner = region(body, types, sdy.ReturnOp.name, isolated=True)
    returned = [Tensor(value).type for value in inner.block.last_op.operands] if inner.block.last_op else []
    if len(out_shardings) != len(returned):
        raise ShardyError.unexpected(
            "", expected=f"a sharding for each of {len(returned)} results", got=f"{len(out_shardings)}"
        )
    outs = [
        _resolved(f"result {number}", sharding, len(type_.shape))
        for number, (type_, sharding) in enumerate(zip(returned, out_shardings, strict=True))
    ]
    globals_ = [_resized(type_, _parts(s, manual_axes)) for type_, s in zip(returned, outs, strict=True)]
    op = sdy.ManualComputationOp(
        [value_of(tensor) for tensor in inputs],
        [s.value for s in ins],
        [s.value for s in outs],
        manual_axes,
        inner,
        [type_.attribute for type_ in globals_],
    )
    return tuple(map(Tensor, _inserted(op).results))


Op = TypeVar("Op", bound=Operation)


def _inserted(op: Op) -> Op:
    set_location(op, caller_location())
    insert(op)
    return op


def _resolved(what: str, sharding: object, rank: int) -> Sharding:
    try:
        return current_trace().editor.resolved(sharding).for_rank(rank)
    except ShardyError as error:
        raise ShardyError(f"sharding of {what}: {error.diagnostics[0].message}") from None


def _local(
    number: int, type_: RankedTensorType, sharding: Sharding, manual_axes: Sequence[str]
) -> RankedTensorType:
    parts = _parts(sharding, manual_axes)
    for dimension, (size, count) in enumerate(zip(type_.shape, parts, strict=True)):
        if size is not None and size % count:
            raise ShardyError(
                f"dimension {dimension} of input {number}, a {type_.text}, is not divisible by {count}, "
                f"the size of its manual axes among {', '.join(manual_axes)}; pad it or shard it differently"
            )
    return _resized(type_, [Fraction(1, count) for count in parts])


def _resized(type_: RankedTensorType, factors: Sequence[int | Fraction]) -> RankedTensorType:
    shape = (None if size is None else int(size * n) for size, n in zip(type_.shape, factors, strict=True))
    return RankedTensorType(tuple(shape), type_.element_type)


def _parts(sharding: Sharding, manual_axes: Sequence[str]) -> list[int]:
    """The number of parts of each dimension along the manual axes."""
    return [
        prod(axis.size(sharding.mesh) for axis in dimension.axes if axis.name in manual_axes)
        for dimension in sharding.dimensions
    ]
