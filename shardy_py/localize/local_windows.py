"""Ops on windows of the parts that devices hold: windows within a part, or apart from each other.

Not here: windows that reach into other parts (`sdy-resolve-permutation-factors`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i64

from shardy_py.base.errors import ShardyError
from shardy_py.localize.local_ops import PERMUTE, RESHARD, ints_of
from shardy_py.localize.localizer import Localizer, Site, forget_sharding, not_local
from shardy_py.mlir.dialects.stablehlo.structs import ConvDimensionNumbers
from shardy_py.mlir.stablehlo_builder import shape_of
from shardy_py.mlir.typed import integer_of


def windowed(local: Localizer, site: Site) -> None:
    """Windows within a part. Raises ShardyError if windows along a sharded dimension reach beyond it."""
    op, given = site.op, site.operands[0]
    rank = len(given.shape)
    table: Any = op.properties.get("padding")
    padding = list(table.get_values()) if table is not None else [0]
    padding = padding * (2 * rank if len(padding) == 1 else 1)
    lists = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    window, strides, base, dilations = (ints_of(op, name, rank, 1) for name in lists)
    outer = op.results[0] if op.name == "stablehlo.reduce_window" else site.values[1]
    sizes, parts = shape_of(outer), shape_of(site.values[0])
    for dim in given.sharded:
        span = (window[dim] - 1) * dilations[dim] + 1
        is_apart = strides[dim] * sizes[dim] == parts[dim] and span <= strides[dim] and base[dim] == 1
        if not is_apart or any(padding[2 * dim : 2 * dim + 2]):
            raise not_local(f"windows along sharded dimension {dim} that overlap other parts", PERMUTE)


def convolution(local: Localizer, site: Site) -> None:
    """A convolution of the parts, with the groups of the part.

    Raises ShardyError if a part holds no whole groups, or windows reach beyond it.
    """
    if site.is_whole:
        return
    op = site.op
    numbers: ConvDimensionNumbers = cast(Any, op.properties["dimension_numbers"]).data
    lhs, rhs = site.operands
    _check_spatial(site, numbers)
    counts = {
        "feature_group_count": rhs.parts(numbers.kernel_output_feature_dimension),
        "batch_group_count": lhs.parts(numbers.input_batch_dimension),
    }
    for name, parts in counts.items():
        groups: int = integer_of(op, name)
        own = min(groups, parts)
        if groups % own:
            raise ShardyError.unexpected(
                f"number of parts of {name.removesuffix('_count').replace('_', ' ')}s",
                expected=f"a divisor of {groups}",
                got=str(parts),
                remedy=RESHARD,
            )
        op.properties[name] = IntegerAttr(groups // own, i64)
    forget_sharding(op)


def _check_spatial(site: Site, numbers: ConvDimensionNumbers) -> None:
    op, (lhs, _), rank = site.op, site.operands, len(numbers.input_spatial_dimensions)
    table: Any = op.properties.get("padding")
    padding = list(table.get_values()) if table is not None else [0]
    padding = padding * (2 * rank if len(padding) == 1 else 1)
    strides, base, dilations = (
        ints_of(op, name, rank, 1) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    sizes = [shape_of(value) for value in (*site.values, op.results[0])]
    spatial = (
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
    )
    for index, dims in enumerate(zip(*spatial, strict=True)):
        if lhs.parts(dims[0]) == 1:
            continue
        part, window, result = (shape[dim] for shape, dim in zip(sizes, dims, strict=True))
        span = (window - 1) * dilations[index] + 1
        is_apart = strides[index] * result == part and span <= strides[index]
        is_product = result == site.results[0].shape[dims[2]] == 1 and span == part
        if not (is_apart or is_product) or base[index] != 1 or any(padding[2 * index : 2 * index + 2]):
            raise not_local(f"windows along sharded dimension {dims[0]} that overlap other parts", PERMUTE)


ROWS: Mapping[str, Callable[[Localizer, Site], None]] = {
    "stablehlo.reduce_window": windowed,
    "stablehlo.select_and_scatter": windowed,
    "stablehlo.convolution": convolution,
}
"""The conversion of each op."""
