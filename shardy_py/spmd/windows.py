"""Ops that read a window for each element of the result: slices, pads, reductions over windows.

Source: openxla/xla, `HandleSlice`, `HandlePad` and `HandleReduceWindow` in
xla/service/spmd/spmd_partitioner.cc. Not here: what the shards read (`windowed.py`), dynamic slices
(`dynamic_slices.py`).

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=4), [("x",), ()])
>>> value = Partitioned.of((8, 8), rows, "f32")
>>> part = sliced(value, (1, 0), (8, 8), (1, 1), rows)
>>> part.shape, [(each.kind, each.held_shape) for each in part.collectives]
((7, 8), [('collective_permute', (1, 8))])
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.spmd.movement import replicating, result_of
from shardy_py.spmd.partitioned import Partitioned
from shardy_py.spmd.reshard import reshard
from shardy_py.spmd.tiling import Tiling
from shardy_py.spmd.windowed import WindowDimension, windowed_input


def sliced(
    operand: Partitioned, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int], target: Tiling
) -> Partitioned:
    """The result of a slice: where the operand has more tiles, it is sliced before it is resharded."""
    parts = [*zip(starts, limits, strides, strict=True)]
    shape = tuple(-(-(limit - start) // stride) for start, limit, stride in parts)
    window = [
        WindowDimension(stride=stride, low=-start, high=limit - size)
        for (start, limit, stride), size in zip(parts, operand.shape, strict=True)
    ]
    tilings = [operand.tiling] if operand.tiling.tile_count > target.tile_count else []
    for tiling in (*tilings, target):
        if tiling.is_replicated:
            continue
        read = windowed_input(reshard(operand, tiling), window, tiling, reshard)
        if read is not None:
            return reshard(result_of([read.value], shape, tiling, operand.element), target)
    return replicating([operand], shape, operand.element, target)


def padded(
    operand: Partitioned, low: Sequence[int], high: Sequence[int], interior: Sequence[int], target: Tiling
) -> Partitioned:
    """The result of padding with a scalar."""
    window = [
        WindowDimension(low=before, high=behind, base_dilation=between + 1)
        for before, behind, between in zip(low, high, interior, strict=True)
    ]
    shape = [each.padded(size) for each, size in zip(window, operand.shape, strict=True)]
    return windows_reduced([operand], window, shape, [target])[0]


def windows_reduced(
    operands: Sequence[Partitioned],
    window: Sequence[WindowDimension],
    shape: Sequence[int],
    targets: Sequence[Tiling],
) -> list[Partitioned]:
    """The results of a reduction over windows of each operand, with scalars as initial values."""
    if any(target.is_replicated for target in targets):
        pairs = zip(operands, targets, strict=True)
        return [replicating([operand], shape, operand.element, target) for operand, target in pairs]
    results: list[Partitioned] = []
    for operand, target in zip(operands, targets, strict=True):
        read = windowed_input(operand, window, target, reshard)
        if read is None:
            return [
                replicating([each], shape, each.element, tiling)
                for each, tiling in zip(operands, targets, strict=True)
            ]
        results.append(result_of([read.value], shape, target, operand.element))
    return results
