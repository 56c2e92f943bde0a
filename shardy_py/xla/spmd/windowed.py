"""Operands of windows: the elements that the windows of each shard read, fetched from its neighbours.

The windows along a sharded dimension are dealt out to the shards evenly; a shard then needs elements before
and behind its own. Pads and slices are windows of one element. Source: openxla/xla,
`PartitionedHlo::ReshardAsWindowedInput` in xla/service/spmd/spmd_partitioner.cc. Not here: the exchange
(`halo.py`), the ops with windows (`windows.py`).

>>> from shardy_py.sharding import Mesh
>>> value = HeldTensor.of((8, 6), Tiling.of(Mesh.of(x=4), [("x",), ()]), "f32")
>>> window = (Window(size=3, low=1, high=1), Window())
>>> read = windowed_input(value, window, value.tiling, lambda value, tiling: value)
>>> read.value.local, [each.held_shape for each in read.value.collectives]
((4, 6), [(1, 6), (1, 6)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.ops.dimensions import Window
from shardy_py.xla.spmd.halo import Dimension, Offset, divided, largest, valid_data
from shardy_py.xla.spmd.partitioned import HeldTensor, with_size
from shardy_py.xla.spmd.tiling import Shape, Tiling

Reshard = Callable[[HeldTensor, Tiling], HeldTensor]


@dataclass(frozen=True, slots=True)
class WindowedOperand:
    """An operand with all elements that its windows read, and the windows over it on each device."""

    value: HeldTensor
    window: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class _Reads:
    """The elements that the shards along one dimension read.

    shards: the number of those that take part. shard: the size of their own part that matters. total:
    of all their parts. padding: the elements in front of the first. starts, limits: by shard, on the padded
    dimension. size: the most that a shard reads. window: over that.
    """

    shards: int
    shard: int
    total: int
    padding: int
    starts: Offset
    limits: Offset
    size: int
    window: Window


def windowed_input(
    value: HeldTensor, window: Sequence[Window], target: Tiling, reshard: Reshard
) -> WindowedOperand | None:
    """The operand for windows whose results are sharded as `target`; None: windows XLA does not shard.

    reshard: how the operand is resharded if its tiling is another.
    """
    if target.is_replicated:
        return None
    target = target.by(None)  # the partitioner forgets its axes
    plans: list[_Reads | None] = []
    for size, local, tiles, dimension in zip(
        value.shape, value.local, target.dimensions, window, strict=True
    ):
        is_apart = tiles == 1 or dimension.is_trivial
        found = None if is_apart else _reads(size, local, tiles, dimension)
        if found is None and not is_apart:
            return None
        plans.append(found)
    apart = target.replicated_on(i for i, dimension in enumerate(window) if not dimension.is_trivial)
    windows = tuple(w if plan is None else plan.window for w, plan in zip(window, plans, strict=True))
    local = tuple(
        plan.size if plan else -(-size // tiles)
        for size, tiles, plan in zip(value.shape, target.dimensions, plans, strict=True)
    )
    sliced = WindowedOperand(replace(value, local=local, tiling=target, earlier=()), windows)
    if value.tiling.is_replicated or (target != value.tiling and apart == value.tiling):
        return sliced
    if target != value.tiling:
        return windowed_input(reshard(value, target), window, target, reshard)
    if prod(target.dimensions[i] if plan is None else plan.shards for i, plan in enumerate(plans)) == 1:
        return WindowedOperand(value, windows)
    exchanged = _exchanged(value.during(target, tuple(window)), plans)
    if exchanged is not None:
        return WindowedOperand(replace(exchanged, call=value.call), windows)
    return windowed_input(reshard(value, apart), window, target, reshard)


def _exchanged(value: HeldTensor, plans: Sequence[_Reads | None]) -> HeldTensor | None:
    """The value with the halos along all dimensions, one after another; None if one is too large."""
    local: Shape = value.local
    for dimension, plan in enumerate(plans):
        if plan is not None and plan.shards > 1:
            local = with_size(local, dimension, plan.shard)
    value = replace(value, local=local, earlier=())
    for dimension, plan in enumerate(plans):
        if plan is None or plan.shards == 1:
            continue
        size = -(-plan.total // plan.shards)
        sent = valid_data(
            Dimension(plan.shards, size, plan.total),
            _difference(divided(size, plan.padding), plan.starts),
            _difference(plan.limits, divided(size, size + plan.padding)),
            padding=plan.padding,
            needed=plan.size,
        )
        if sent is None:
            return None
        value = value.permuted(sent, dimension, size=plan.size)
    return value


def _difference(left: Offset, right: Offset) -> Offset:
    return lambda i: left(i) - right(i)


def _reads(size: int, local: int, tiles: int, window: Window) -> _Reads | None:
    """The elements that the shards read; None: not supported, or nothing.

    Shards behind the last window, and those between the last window and the first element that is read, are
    left out.
    """
    if not local:
        return None
    full, count = window.padded(size), window.count(size)
    per_shard = -(-count // tiles)
    shards, shard, total = tiles, local, size
    is_dense = window.dilation == 1 and window.base_dilation == 1
    if count < tiles and is_dense:
        useful = -(-(size + window.high) // local)
        if useful < tiles:
            shards = max(useful, count)
            if shards == 1:
                kept = replace(window, high=size + window.high - local)
                return _Reads(1, local, local, 0, divided(0, 0), divided(0, local), size, kept)
            total = shard * shards
            if not (total > size and window.high > 0) and window.high < 0 and full - window.low < shard:
                shard = full - window.low
                total = shard * shards
    padding = _truncated(window.low, window.base_dilation)
    low = window.low - padding * window.base_dilation
    if count < shards and is_dense and (middle := _truncated(-padding, shard) - count) > 0:
        shards -= middle
        padding += middle * shard
        if -padding > shard * (shards - 1):
            skip = -padding - shard * (shards - 1)
            shard -= skip
            padding += skip * shards
            if full < shard:
                padding += (shard - full) * (shards - 1)
                shard = full
        total = shard * shards
    if full < window.dilated_size:
        return None
    step, dilation = window.stride * per_shard, window.base_dilation
    if window.stride != 1 and step % dilation:
        return None
    span = window.stride * (per_shard - 1) + window.dilated_size
    starts = divided(step, dilation - 1 - low, dilation)
    limits = divided(step, span + dilation - 1 - low, dilation)
    needed = largest(_difference(limits, starts), 0, shards)
    inside = _inside(window, starts, low, shards, needed, per_shard, span)
    return _Reads(shards, shard, total, padding, starts, limits, needed, inside)


def _inside(
    window: Window, starts: Offset, low: int, shards: int, needed: int, per_shard: int, span: int
) -> Window:
    """The window over the elements of a shard: padding that is left for dilated elements."""
    if window.base_dilation == 1:
        return replace(window, low=low, high=0)
    dilation = window.base_dilation
    firsts = [starts(i) * dilation + low - window.stride * per_shard * i for i in range(shards)]
    high = max(0, *(span - (first + (needed - 1) * dilation + 1) for first in firsts))
    return replace(window, low=max(firsts) if window.stride == 1 else low, high=high)


def _truncated(value: int, divisor: int) -> int:
    """The quotient rounded towards zero."""
    return value // divisor if value >= 0 else -(-value // divisor)
