"""sdy's ops while a program is built: constraints, groups, barriers, manual computations.

Not here: shardings of arguments and results (`build.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from shardy_py.api import Sharding, ShardyError
from shardy_py.api.annotate import DIRECTIONS
from shardy_py.builder.attributes import encode
from shardy_py.builder.bodies import Body, region
from shardy_py.builder.insertion import caller_location, current_trace, insert
from shardy_py.builder.tensor import Tensor, rank_of, value_of
from shardy_py.builder.types import TensorType
from shardy_py.dialects.sdy import (
    ManualComputationOp,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
)
from shardy_py.sharding import TensorSharding, local_shape


def sharding_constraint(operand: Tensor, sharding: Any) -> Tensor:
    """The tensor, sharded so; `sharding` is a `Sharding`, or a spec on the program's only mesh."""
    resolved = _resolved(sharding, rank_of(operand))
    return Tensor(_inserted(ShardingConstraintOp(operand.value, resolved.value)).results[0])


def sharding_group(operands: Sequence[Tensor], group_id: int) -> None:
    """Tensors that get one sharding."""
    number: Any = encode("i64", group_id)
    for operand in operands:
        _inserted(ShardingGroupOp(value_of(operand), number.value.data))


def propagation_barrier(operand: Tensor, direction: str = "NONE") -> Tensor:
    """The tensor; shardings pass NONE, FORWARD, BACKWARD or BOTH ways."""
    if direction not in DIRECTIONS:
        raise ShardyError(f"expected a direction among {', '.join(DIRECTIONS)}; got: {direction!r}")
    return Tensor(_inserted(PropagationBarrierOp(value_of(operand), direction)).results[0])


def manual_computation(
    body: Body,
    inputs: Sequence[Tensor],
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    manual_axes: Sequence[str],
) -> tuple[Tensor, ...]:
    """`body` on the parts that each device holds along `manual_axes`; sizes inside are local along those.

    Raises `ShardyError` when a dimension is not divisible by its manual axes, or the shardings do not fit.
    """
    if len(in_shardings) != len(inputs):
        raise ShardyError(f"expected a sharding for each of {len(inputs)} inputs, got: {len(in_shardings)}")
    ins = [_resolved(s, rank_of(tensor)) for tensor, s in zip(inputs, in_shardings, strict=True)]
    types = [_local(tensor.type, s, manual_axes) for tensor, s in zip(inputs, ins, strict=True)]
    inner = region(body, types, "sdy.return", isolated=True)
    returned = [Tensor(value).type for value in inner.block.last_op.operands] if inner.block.last_op else []
    if len(out_shardings) != len(returned):
        raise ShardyError(
            f"expected a sharding for each of {len(returned)} results, got: {len(out_shardings)}"
        )
    outs = [_resolved(s, len(type_.shape)) for type_, s in zip(returned, out_shardings, strict=True)]
    globals_ = [_global(type_, s, manual_axes) for type_, s in zip(returned, outs, strict=True)]
    op = ManualComputationOp(
        [value_of(tensor) for tensor in inputs],
        [s.value for s in ins],
        [s.value for s in outs],
        manual_axes,
        inner,
        [type_.attribute for type_ in globals_],
    )
    return tuple(map(Tensor, _inserted(op).results))


def _inserted(op: Any) -> Any:
    op.location = caller_location()
    insert(op)
    return op


def _resolved(sharding: Any, rank: int) -> Sharding:
    return current_trace().editor.resolved(sharding).for_rank(rank)


def _local(type_: TensorType, sharding: Sharding, manual_axes: Sequence[str]) -> TensorType:
    known = tuple(size or 0 for size in type_.shape)
    local = local_shape(_manual_part(sharding, manual_axes), sharding.mesh, known)
    return _resized(type_, local)


def _global(type_: TensorType, sharding: Sharding, manual_axes: Sequence[str]) -> TensorType:
    factors = [
        prod(a.size(sharding.mesh) for a in d.axes) for d in _manual_part(sharding, manual_axes).dimensions
    ]
    return _resized(type_, [(size or 0) * factor for size, factor in zip(type_.shape, factors, strict=True)])


def _resized(type_: TensorType, sizes: Sequence[int]) -> TensorType:
    """A type with other sizes; those that were not known are not."""
    shape = (None if old is None else new for old, new in zip(type_.shape, sizes, strict=True))
    return TensorType(tuple(shape), type_.element_type)


def _manual_part(sharding: Sharding, manual_axes: Sequence[str]) -> TensorSharding:
    """The sharding along the manual axes alone."""
    dimensions = tuple(
        replace(d, axes=tuple(axis for axis in d.axes if axis.name in manual_axes))
        for d in sharding.dimensions
    )
    return replace(sharding.value, dimensions=dimensions)
