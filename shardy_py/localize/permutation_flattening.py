"""Reshapes between uneven parts of other sizes: elements move between neighbours of the flattened dimensions.

    tensor<7x4> [{"x"}, {}] -> tensor<4x7> [{"x"}, {}] on 2 devices: parts of 16 elements, and of 14
    pad      tensor<8x4>       parts are whole
    reshape  tensor<32>        part t has elements 16 t to 16 t + 15
    slice    tensor<28>        part t has elements 14 t to 14 t + 13: an exchange, as of any slice
    reshape  tensor<4x7>

For groups of dimensions whose first ones are sharded, alike on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from xdsl.ir import Operation

from shardy_py.localize.arithmetic.windows import WindowReads, window_exchange
from shardy_py.localize.permutation_windows import (
    NOT_SHARDED,
    Description,
    pad_windows,
    slice_windows,
)
from shardy_py.localize.resolution import Resolution, padded_high
from shardy_py.localize.window_exchange import Windowed, exchange_windows
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, shape_of
from shardy_py.mlir.typed import op_of
from shardy_py.ops.dimensions import Window
from shardy_py.reshard.reshape_groups import ReshapeGroup
from shardy_py.sharding import DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size

Shaped = tuple[tuple[int, ...], TensorSharding]


def flattened_reshape(
    op: Operation,
    value: Value,
    sides: tuple[Shaped, Shaped],
    groups: Sequence[ReshapeGroup],
    moved: Sequence[ReshapeGroup],
    mesh: Mesh,
    state: Resolution,
) -> bool:
    """Reshapes `value` in steps of which one exchanges; returns False if a group of `moved` has another form.

    op: it is replaced by the result. sides: the shapes and shardings of value and result. The parts of the
    other groups are local.
    """
    (source, given), (target, wanted) = sides
    if not moved or given.mesh != wanted.mesh or any(not _is_flat(group, sides) for group in moved):
        return False
    even, flat, resized, unflat = list(source), list[int](), list[int](), list(target)
    dimensions: list[DimensionSharding] = []
    for group in groups:
        first, last = group.source
        if group not in moved:
            flat += source[first:last]
            resized += source[first:last]
            dimensions += given.dimensions[first:last]
            continue
        into = group.target[0]
        parts = total_size(given.dimensions[first].axes, mesh)
        even[first] = -(-source[first] // parts) * parts
        unflat[into] = -(-target[into] // parts) * parts
        sizes = prod(even[first:last]), prod(unflat[slice(*group.target)])
        read = WindowReads(parts, *sizes, Window(1, high=sizes[1] - sizes[0]))
        if not window_exchange(read).is_worthwhile:
            return False
        flat.append(sizes[0])
        resized.append(sizes[1])
        dimensions.append(given.dimensions[first])
    between = replace(given, dimensions=tuple(dimensions))
    value = padded_high(StablehloBuilder(op, given), value, even, None)
    value = StablehloBuilder(op, between).reshape(value, flat)
    moves: list[tuple[Value, Callable[[Operation, Resolution], Description]]] = []
    larger = [max(pair) for pair in zip(flat, resized, strict=True)]
    if larger != flat:
        value = padded_high(StablehloBuilder(op, between), value, larger, None)
        moves.append((value, pad_windows))
    if larger != resized:
        value = StablehloBuilder(op, between).slice(value, [0] * len(resized), resized)
        moves.append((value, slice_windows))
    build = StablehloBuilder(op, wanted)
    value = build.reshape(value, unflat)
    if shape_of(value) != target:
        value = build.slice(value, [0] * len(target), target)
    replace_by_values(op, (value,))
    for made, describe in moves:
        move = op_of(made)
        description = describe(move, state)
        if description is not NOT_SHARDED:
            exchange_windows(move, cast(Windowed, description), state)
    return True


def _is_flat(group: ReshapeGroup, sides: tuple[Shaped, Shaped]) -> bool:
    """True if only the first dimensions are sharded, along the same axes."""
    lists = [
        [dimension.axes for dimension in sharding.dimensions[slice(*ends)]]
        for (_, sharding), ends in zip(sides, (group.source, group.target), strict=True)
    ]
    if not all(lists):
        return False
    return lists[0][0] == lists[1][0] and not any(axes for axes in (*lists[0][1:], *lists[1][1:]))
