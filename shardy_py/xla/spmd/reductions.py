"""Reductions: each device reduces its part, then the parts of sharded dimensions are reduced together.

One operand: an all-reduce for each dimension. Several, as for the index of a maximum: the partial results are
gathered, and reduced on every device. The result then is resharded. Source: openxla/xla, `HandleReduce` in
xla/service/spmd/spmd_partitioner.cc. Not here: reductions over windows (`windows.py`).

>>> from shardy_py.sharding import Mesh
>>> mesh = Mesh.of(x=4)
>>> value = HeldTensor.of((8, 6), Tiling.of(mesh, [("x",), ()]), "f32")
>>> (found,) = reduced([value], [0], ["f32"], [Tiling.replicated(1, 4)])
>>> [(each.kind, each.held_shape) for each in found.collectives]
[('all_reduce', (6,))]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from shardy_py.xla.spmd.grouping import group_on
from shardy_py.xla.spmd.matching import transposed
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import replicated, reshard
from shardy_py.xla.spmd.tiling import Shape, Tiling


def reduced(
    operands: Sequence[HeldTensor],
    dimensions: Sequence[int],
    elements: Sequence[str],
    targets: Sequence[Tiling],
    *,
    is_unreduced: bool = False,
) -> list[HeldTensor]:
    """The results of a reduction of all operands along `dimensions`, with scalars as initial values.

    elements: the element types of the results. targets: their tilings. is_unreduced: a single result is not
    reduced among devices.
    """
    tiling, rank = operands[0].tiling, len(operands[0].shape)
    operands = [operands[0], *(reshard(operand, tiling) for operand in operands[1:])]
    kept = [i for i in range(rank) if i not in dimensions]
    count = prod(tiling.dimensions[i] for i in dimensions)
    after = _without(tiling.replicated_on(dimensions), dimensions)
    found: list[HeldTensor] = []
    for operand, element, target in zip(operands, elements, targets, strict=True):
        result = replace(
            operand,
            shape=_kept(operand.shape, kept),
            earlier=(),
            local=_kept(operand.local, kept),
            tiling=after,
            element=element,
            chain=None,
        )
        if len(operands) == 1 and not is_unreduced:
            result = result.summed(tiling, dimensions)
        elif len(operands) > 1 and count > 1:
            result = replace(result, collectives=_gathered(operand, dimensions, kept, element).collectives)
        found.append(reshard(result, target))
    return found


def _gathered(
    operand: HeldTensor, dimensions: Sequence[int], kept: Sequence[int], element: str
) -> HeldTensor:
    """The partial results of all tiles along `dimensions`, on every device that has one of them."""
    tiling = operand.tiling
    others = [*kept, tiling.rank] if tiling.is_partial else kept
    inner = group_on(tiling, others).tiling
    local = tuple(1 if i in dimensions else size for i, size in enumerate(operand.local))
    shape = tuple(tiling.dimensions[i] if i in dimensions else size for i, size in enumerate(operand.local))
    inside = replace(operand, shape=shape, local=local, tiling=inner, element=element, chain=None, earlier=())
    return replicated(inside)


def _without(tiling: Tiling, dimensions: Sequence[int]) -> Tiling:
    """The tiling without dimensions that are whole."""
    kept = [i for i in range(tiling.rank) if i not in dimensions]
    to = {i: at for at, i in enumerate(kept)}
    found = transposed(tiling, [to.get(i) for i in range(tiling.rank)], len(kept))
    assert found is not None
    return found


def _kept(shape: Shape, kept: Sequence[int]) -> Shape:
    return tuple(shape[i] for i in kept)
