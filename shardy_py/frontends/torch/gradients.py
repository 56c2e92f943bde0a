"""The op that sums the gradient of a parameter over the batch, behind changes of its shape.

    %0 = dot_general %x, %dy          [in, out], summed over the batch
    %1 = transpose %0, dims = [1, 0]  [out, in], the gradient of a weight

A constraint at %0 makes its all-reduce a reduce-scatter; at %1 the slice would be another op's.
Not here: the constraints (`constraints.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from shardy_py.frontends.builder.tensor import static_shape
from shardy_py.mlir.dialects.stablehlo import AddOp, ConvertOp, ReshapeOp, TransposeOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.typed import integers_of

Dimensions = Mapping[str, int]
"""The dimension that each axis shards, the most major axis of a dimension first."""


def summed_values(
    gradient: SSAValue, dimensions: Dimensions, sizes: Mapping[str, int]
) -> Iterator[tuple[SSAValue, Dimensions]]:
    """The values that additions and changes of shape make the gradient of, each with its sharded dimensions.

    sizes: of the axes. The gradient itself where a change of shape has no such dimensions. Several: of a
    parameter that is used several times.
    """
    owner = gradient.owner
    back = _BACK.get(owner.name) if isinstance(owner, Operation) else None
    operands = operands_of(owner) if isinstance(owner, Operation) else ()
    found = back(owner, dimensions, sizes) if isinstance(owner, Operation) and back is not None else None
    if found is None or any(len(list(operand.uses)) > 1 for operand in operands):
        yield gradient, dimensions
        return
    for operand in operands:
        yield from summed_values(operand, found, sizes)


def divides(dimensions: Dimensions, shape: Sequence[int], sizes: Mapping[str, int]) -> bool:
    """Returns whether axes shard dimensions of a tensor evenly."""
    return all(
        size % prod(sizes[axis] for axis, d in dimensions.items() if d == number) == 0
        for number, size in enumerate(shape)
    )


def _same(op: Operation, dimensions: Dimensions, sizes: Mapping[str, int]) -> Dimensions:
    return dimensions


def _transposed(op: Operation, dimensions: Dimensions, sizes: Mapping[str, int]) -> Dimensions:
    order = integers_of(op, "permutation")
    return {axis: order[d] for axis, d in dimensions.items()}


def _reshaped(op: Operation, dimensions: Dimensions, sizes: Mapping[str, int]) -> Dimensions | None:
    """The dimensions of the operand in which each sharded dimension begins; None if shards end within one."""
    before, after = (_shape(value) for value in (operands_of(op)[0], op.results[0]))
    found: dict[str, int] = {}
    for axis, d in dimensions.items():
        starts = [i for i in range(len(before)) if prod(before[:i]) == prod(after[:d]) and before[i] > 1]
        shards = prod(sizes[other] for other, at in dimensions.items() if at == d)
        if not starts or before[starts[0]] % shards or after[d] % shards:
            return None
        found[axis] = starts[0]
    return found


def _shape(value: SSAValue) -> tuple[int, ...]:
    return static_shape(value)


_BACK: Mapping[str, Callable[[Operation, Dimensions, Mapping[str, int]], Dimensions | None]] = {
    AddOp.name: _same,
    ConvertOp.name: _same,
    TransposeOp.name: _transposed,
    ReshapeOp.name: _reshaped,
}
"""The dimensions of the operand, by op."""
