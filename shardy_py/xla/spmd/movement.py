"""Ops that compute each tile from tiles at the same place: elementwise ops, and ops that move elements.

Operands are resharded to what the tiling of the result asks for. Ops that the partitioner does not know get
whole operands on every device and slice the result. Source: openxla/xla, `HandleElementwise`,
`HandleElementwiseWithDimsToReplicate`, `HandleBitcastConvert`, `HandleTranspose`, `HandleBroadcast`,
`HandleReverse` and `DefaultAction` in xla/service/spmd/spmd_partitioner.cc. Not here: slices and windows
(`windows.py`).

>>> from shardy_py.sharding import Mesh
>>> mesh = Mesh.of(x=4)
>>> rows, columns = Tiling.of(mesh, [("x",), ()]), Tiling.of(mesh, [(), ("x",)])
>>> sum_ = elementwise([HeldTensor.of((8, 8), tiling, "f32") for tiling in (rows, columns)], "f32", rows)
>>> [each.kind for each in sum_.collectives]
['all_to_all']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from shardy_py.ops.dimensions import Window
from shardy_py.xla.spmd.matching import along
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.spmd.windowed import windowed_input


def result_of(
    operands: Iterable[HeldTensor], shape: Sequence[int], tiling: Tiling, element: str
) -> HeldTensor:
    """The result of an op on `operands` as they are, with all that was sent for them."""
    found = HeldTensor.of(shape, tiling, element)
    for operand in operands:
        found = replace(
            found,
            collectives=(*found.collectives, *operand.collectives),
            rematerialized=(*found.rematerialized, *operand.rematerialized),
        )
    return found


def replicating(
    operands: Sequence[HeldTensor], shape: Sequence[int], element: str, target: Tiling
) -> HeldTensor:
    """The result of an op that runs whole on every device."""
    whole = Tiling.replicated(len(shape), target.device_count, target.names)
    return reshard(result_of(map(replicated, operands), shape, whole, element), target)


def elementwise(operands: Sequence[HeldTensor], element: str, target: Tiling) -> HeldTensor:
    """The result of an elementwise op: where the operands are, if all have one tiling, else at `target`."""
    shape, tiling = operands[0].shape, operands[0].tiling
    if len(operands) > 1 and all(operand.tiling == tiling for operand in operands):
        return reshard(result_of(operands, shape, tiling, element), target)
    return result_of((reshard(operand, target) for operand in operands), shape, target, element)


def bitcast(operand: HeldTensor, shape: Sequence[int], element: str, target: Tiling) -> HeldTensor:
    """The result of a cast of bits, to a tensor of `shape`.

    Elements of another size are split along a new last dimension, or joined along the last one; it is whole.
    """
    rank = len(operand.shape)
    if len(shape) == rank:
        return elementwise([operand], element, target)
    if target.is_replicated:
        return replicating([operand], shape, element, target)
    if len(shape) < rank:
        near = operand.tiling.replicated_on([rank - 1])
        after = near.without_dimensions([rank - 1])
    else:
        after = target.replicated_on([rank])
        near = after.without_dimensions([rank])
    return reshard(result_of([reshard(operand, near)], shape, after, element), target)


def transposed(operand: HeldTensor, permutation: Sequence[int], target: Tiling) -> HeldTensor:
    """The result of a transposition: dimension i of it is dimension `permutation[i]` of the operand."""
    shape = tuple(operand.shape[i] for i in permutation)
    if target.is_replicated:
        return replicating([operand], shape, operand.element, target)
    inverse = [permutation.index(i) for i in range(len(permutation))]
    return result_of([reshard(operand, target.transposed(inverse))], shape, target, operand.element)


def broadcast(
    operand: HeldTensor, dimensions: Sequence[int], shape: Sequence[int], target: Tiling
) -> HeldTensor:
    """The result of a broadcast to `shape`, in which the operand has `dimensions`, in ascending order."""
    if target.is_replicated:
        return replace(replicating([operand], shape, operand.element, target), is_splat=not operand.shape)
    added = [i for i in range(len(shape)) if i not in dimensions]
    # Without new dimensions XLA takes the operand's sharding for one by tiles.
    wanted = target.replicated_on(added).without_dimensions(added) if added else target.by(None)
    found = result_of([reshard(operand, wanted)], shape, target, operand.element)
    return replace(found, is_splat=not operand.shape)


def with_whole_dimensions(
    operands: Sequence[HeldTensor],
    whole: Sequence[int],
    shape: Sequence[int],
    target: Tiling,
    may_take: Callable[[int], bool] | None = None,
) -> HeldTensor:
    """The result of an op that needs some dimensions whole, such as a concatenation or a factorization.

    Their tiles move to the first other dimension that they divide evenly, else they are gathered.
    """
    element = operands[0].element
    if target.is_replicated:
        return replicating(operands, shape, element, target)
    near = target
    for dimension in whole:
        near = without_tiles(near, dimension, shape, may_take or (lambda i: i not in whole))
    moved = [reshard(operand, near) for operand in operands]
    return reshard(result_of(moved, shape, near, element), target)


def without_tiles(
    tiling: Tiling, dimension: int, shape: Sequence[int], may_take: Callable[[int], bool]
) -> Tiling:
    """The tiling with `dimension` whole, its tiles moved to the first dimension they divide, or replicas."""
    tiles = tiling.dimensions[dimension]
    if tiles > 1 and shape[dimension] > 1:
        for i, size in enumerate(shape):
            if i != dimension and may_take(i) and size % (tiling.dimensions[i] * tiles) == 0:
                return tiling.merged_into(dimension, i)
    return tiling.replicated_on([dimension])


def along_batch(
    operands: Sequence[HeldTensor],
    batch: Sequence[int],
    near: Tiling,
    results: Sequence[tuple[Shape, str]],
    targets: Sequence[Tiling],
) -> list[HeldTensor]:
    """The results of an op on the tiles of batch dimensions, which lead all operands and results.

    near: the tiling of those dimensions. results: the shapes and element types.
    """
    pairs = [(i, i) for i in batch]
    moved = [reshard(value, along(near, pairs, len(value.shape))) for value in operands]
    found: list[HeldTensor] = []
    for (shape, element), target in zip(results, targets, strict=True):
        found.append(reshard(result_of(moved, shape, along(near, pairs, len(shape)), element), target))
        moved = []
    return found


def reversed_along(operand: HeldTensor, dimensions: Sequence[int], target: Tiling) -> HeldTensor:
    """The result of reversing `dimensions`; uneven ones move their padding to the front."""
    shape = operand.shape
    if target.is_replicated:
        return replicating([operand], shape, operand.element, target)
    moved = reshard(operand, target.reversed_on(dimensions))
    padding = [tiles * -(-size // tiles) - size for size, tiles in zip(shape, target.dimensions, strict=True)]
    window = [Window(low=more if i in dimensions else 0) for i, more in enumerate(padding)]
    read = windowed_input(moved, window, moved.tiling, reshard)
    if read is None:
        return replicating([operand], shape, operand.element, target)
    return result_of([read.value], shape, target, operand.element)
