"""Ops on windows of the parts that devices hold: windows within a part, or apart from each other.

Not here: windows that reach into other parts (`sdy-resolve-permutation-factors`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64

from shardy_py.base.errors import ShardyError
from shardy_py.localize.local_ops import PERMUTE, RESHARD
from shardy_py.localize.localizer import Localizer, Site, forget_sharding, not_local
from shardy_py.mlir.dialects.stablehlo import SelectAndScatterOp
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import shape_of
from shardy_py.mlir.typed import integer_of
from shardy_py.ops.dimensions import ConvolutionDimensions, Window, own_windows, windows_of


def windowed(local: Localizer, site: Site) -> None:
    """Windows within a part. Raises ShardyError if windows along a sharded dimension reach beyond it."""
    op, given = site.op, site.operands[0]
    windows = own_windows(record_of(op).attributes, len(given.shape))
    outer = site.values[1] if isinstance(op, SelectAndScatterOp) else op.results[0]
    sizes, parts = shape_of(outer), shape_of(site.values[0])
    for dim in given.sharded:
        if not _is_apart(windows[dim], sizes[dim], parts[dim]):
            raise not_local(f"windows along sharded dimension {dim} that overlap other parts", PERMUTE)


def _is_apart(window: Window, count: int, size: int) -> bool:
    """True if `count` windows divide a dimension without overlap, padding and dilation of it."""
    has_room = window.stride * count == size and window.dilated_size <= window.stride
    return has_room and _is_plain(window)


def _is_plain(window: Window) -> bool:
    return (window.low, window.high, window.base_dilation) == (0, 0, 1)


def convolution(local: Localizer, site: Site) -> None:
    """A convolution of the parts, with the groups of the part.

    Raises ShardyError if a part holds no whole groups, or windows reach beyond it.
    """
    if site.is_whole:
        return
    op = site.op
    numbers = ConvolutionDimensions.of(record_of(op).attributes)
    lhs, rhs = site.operands
    _check_spatial(site, numbers)
    counts = {
        "feature_group_count": rhs.parts(numbers.out_feature),
        "batch_group_count": lhs.parts(numbers.batch),
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


def _check_spatial(site: Site, numbers: ConvolutionDimensions) -> None:
    op, lhs = site.op, site.operands[0]
    image, kernel, made = (shape_of(value) for value in (*site.values, op.results[0]))
    windows = windows_of(record_of(op).attributes, numbers.window(kernel))
    for window, dims in zip(windows, numbers.spatials, strict=True):
        if lhs.parts(dims[0]) == 1:
            continue
        part, result = image[dims[0]], made[dims[2]]
        is_product = result == site.results[0].shape[dims[2]] == 1 and window.dilated_size == part
        if not (_is_apart(window, result, part) or (is_product and _is_plain(window))):
            raise not_local(f"windows along sharded dimension {dims[0]} that overlap other parts", PERMUTE)
