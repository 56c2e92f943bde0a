"""Ops that read a window for each element: slices, pads, reductions over windows and their gradients.

Source: openxla/xla, `HandleSlice`, `HandlePad`, `HandleReduceWindow` and `HandleSelectAndScatter` in
xla/service/spmd/spmd_partitioner.cc. Not here: what the shards read (`windowed.py`), dynamic slices
(`dynamic_slices.py`).

>>> from shardy_py.sharding import Mesh
>>> rows = Tiling.of(Mesh.of(x=4), [("x",), ()])
>>> value = HeldTensor.of((8, 8), rows, "f32")
>>> part = sliced(value, (1, 0), (8, 8), (1, 1), rows)
>>> part.shape, [(each.kind, each.held_shape) for each in part.collectives]
((7, 8), [('collective_permute', (1, 8))])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import Window
from shardy_py.xla.spmd.halo import Dimension, divided, largest, valid_data
from shardy_py.xla.spmd.movement import replicating, result_of
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windowed import windowed_input


def sliced(
    operand: HeldTensor, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int], target: Tiling
) -> HeldTensor:
    """The result of a slice: where the operand has more tiles, it is sliced before it is resharded.

    If that takes all that was read, equal slices are one tensor to XLA, as far as it is resharded.
    """
    parts = [*zip(starts, limits, strides, strict=True)]
    shape = tuple(-(-(limit - start) // stride) for start, limit, stride in parts)
    window = [
        Window(stride=stride, low=-start, high=limit - size)
        for (start, limit, stride), size in zip(parts, operand.shape, strict=True)
    ]
    tilings = [operand.tiling] if operand.tiling.tile_count > target.tile_count else []
    for tiling in (*tilings, target):
        if tiling.is_replicated:
            continue
        read = windowed_input(reshard(operand, tiling), window, tiling, reshard)
        if read is not None:
            part = result_of([read.value], shape, tiling, operand.element)
            is_all = tiling != target and part.local == read.value.local
            return reshard(replace(read.value, shape=shape, earlier=()) if is_all else part, target)
    return replicating([operand], shape, operand.element, target)


def padded(
    operand: HeldTensor, low: Sequence[int], high: Sequence[int], interior: Sequence[int], target: Tiling
) -> HeldTensor:
    """The result of padding with a scalar."""
    window = [
        Window(low=before, high=behind, base_dilation=between + 1)
        for before, behind, between in zip(low, high, interior, strict=True)
    ]
    shape = [each.padded(size) for each, size in zip(window, operand.shape, strict=True)]
    return windows_reduced([operand], window, shape, [target])[0]


def slice_of_pad(
    padding: OpRecord, taken: OpRecord, tiling: Tiling
) -> tuple[Sequence[int], Sequence[int]] | None:
    """The padding, before and behind, that a slice of a padded tensor leaves, which XLA pads by at once.

    It may be negative. tiling: of both. None: the ops stay apart.
    """
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = (padding.attributes[name] for name in names)
    starts, limits, strides = (
        taken.attributes[name] for name in ("start_indices", "limit_indices", "strides")
    )
    whole, part = padding.results[0], taken.results[0]
    if whole is None or part is None or any(interior) or any(stride != 1 for stride in strides):
        return None
    edges = [*zip(low, high, whole.shape, part.shape, tiling.dimensions, strict=True)]
    if not any(tiles > 1 and (a or b) and size != less for a, b, size, less, tiles in edges):
        return None
    before = [a - start for a, start in zip(low, starts, strict=True)]
    behind = [limit - ((size or 0) - b) for limit, size, b in zip(limits, whole.shape, high, strict=True)]
    return before, behind


def windows_reduced(
    operands: Sequence[HeldTensor],
    window: Sequence[Window],
    shape: Sequence[int],
    targets: Sequence[Tiling],
) -> list[HeldTensor]:
    """The results of a reduction over windows of each operand, with scalars as initial values."""
    if any(target.is_replicated for target in targets):
        pairs = zip(operands, targets, strict=True)
        return [replicating([operand], shape, operand.element, target) for operand, target in pairs]
    results: list[HeldTensor] = []
    for operand, target in zip(operands, targets, strict=True):
        read = windowed_input(operand, window, target, reshard)
        if read is None:
            return [
                replicating([each], shape, each.element, tiling)
                for each, tiling in zip(operands, targets, strict=True)
            ]
        results.append(result_of([read.value], shape, target, operand.element))
    return results


def selected_and_scattered(
    operand: HeldTensor, source: HeldTensor, window: Sequence[Window], target: Tiling
) -> HeldTensor:
    """The result of adding each element of `source` to the one that its window of the operand selects.

    The selection is by a comparison. Shards get the elements of all windows that overlap with theirs, and
    the elements of the source for these windows.
    """
    shape, element = operand.shape, operand.element
    whole = replicating([operand, source], shape, element, target)
    if target.is_replicated or element not in ("f32", "bf16"):
        return whole
    value, given = reshard(operand, target), reshard(source, target)
    for i, (tiles, each) in enumerate(zip(target.dimensions, window, strict=True)):
        if tiles == 1:
            continue
        wide = replace(each, size=max(each.size, each.stride))
        exchanged = _overlapping(value, given, i, tiles, wide)
        if exchanged is None:
            return whole
        value, given = exchanged
    return result_of([value, given], shape, target, element)


def _overlapping(
    value: HeldTensor, given: HeldTensor, at: int, tiles: int, window: Window
) -> tuple[HeldTensor, HeldTensor] | None:
    """The operand and the source along one dimension; None if the halos are too large."""
    size = value.tiling.local_shape(value.shape)[at]
    count = given.tiling.local_shape(given.shape)[at]
    stride, low = window.stride, window.low
    first = divided(size, low - window.size + stride, stride)
    limit = divided(size, size + low + stride - 1, stride)
    windows = largest(lambda i: limit(i) - first(i), 0, tiles)
    sources = valid_data(
        Dimension(tiles, given.local[at], given.shape[at]),
        lambda i: count * i - first(i),
        lambda i: limit(i) - count * (i + 1),
        padding=0,
        needed=windows,
    )
    needed = (windows - 1) * stride + window.size
    elements = valid_data(
        Dimension(tiles, value.local[at], value.shape[at]),
        lambda i: size * i + low - first(i) * stride,
        lambda i: limit(i) * stride - (size * (i + 1) + stride + low - window.size),
        padding=low,
        needed=needed,
    )
    if sources is None or elements is None:
        return None
    return (
        value.permuted(elements, at, size=needed),
        given.permuted(sources, at, size=windows),
    )
