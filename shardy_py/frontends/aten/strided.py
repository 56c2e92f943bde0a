"""Views by strides (`as_strided`): `ROWS` by name, as in `pointwise.py`.

The operand is contiguous: `frontends/torch/storage.py` puts dimensions in the order of storage before. Views
that permute, split, repeat or slice its dimensions become these ops, so that shardings propagate; others, as
overlapping windows, are gathers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.elements import Row, convert, sizes
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, scatter
from shardy_py.mlir.dialects.stablehlo.structs import ScatterDimensionNumbers


@dataclass(frozen=True)
class StridedView:
    """A view of contiguous elements as a slice of them in another shape.

    grid: the shape, row-major; its first size may exceed the elements that there are. starts: where the slice
        starts in each dimension of the grid; it is as long there as `lengths`. order: the dimension of the
        view, of those with strides, that each dimension of the grid is; the last one, of single elements, is
        none.
    """

    grid: tuple[int, ...]
    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    order: tuple[int, ...]


def view_of(count: int, size: Sequence[int], stride: Sequence[int], offset: int) -> StridedView | None:
    """The view of `count` elements with these sizes and strides; None if it is not a slice of a grid.

    >>> view_of(12, (4, 3), (1, 4), 0)
    StridedView(grid=(3, 4, 1), starts=(0, 0, 0), lengths=(3, 4, 1), order=(1, 0))
    """
    order = sorted(
        (d for d, (n, s) in enumerate(zip(size, stride, strict=True)) if s and n != 1),
        key=lambda d: (-stride[d], -size[d]),
    )
    steps = [stride[d] for d in order]
    grid: list[int] = []
    above = None
    for step in (*steps, 1):
        if above is not None:
            if above % step:
                return None
            grid.append(above // step)
        above = step
    first = -(-count // steps[0]) if steps else count
    if not steps:
        grid = []
        return StridedView((count,), (offset,), (1,), ())
    grid = [first, *grid]
    starts: list[int] = []
    rest = offset
    for step in (*steps, 1):
        starts.append(rest // step)
        rest %= step
    lengths = [*(size[d] for d in order), 1]
    if any(s + n > g for s, n, g in zip(starts, lengths, grid, strict=True)):
        return None
    return StridedView(tuple(grid), tuple(starts), tuple(lengths), tuple(order))


def _as_strided(
    out: RankedTensorType,
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    count = prod(sizes(self.type))
    view = view_of(count, size, stride, storage_offset or 0)
    if view is None or 0 in size:
        return ops.take(ops.reshape(self, (-1,)), _places(size, stride, storage_offset or 0))
    grid = view.grid
    if prod(grid) != count:
        flat = ops.reshape(self, (-1,))
        short = prod(grid) - count
        flat = ops.pad(flat, 0, [0], [short]) if short > 0 else part(flat, 0, 0, prod(grid))
        self = flat
    shaped = self if sizes(self.type) == grid else ops.reshape(self, grid)
    for d, (start, length) in enumerate(zip(view.starts, view.lengths, strict=True)):
        shaped = part(shaped, d, start, start + length)
    kept = sorted(view.order)
    shaped = ops.reshape(shaped, [size[d] for d in view.order])
    if list(view.order) != kept:
        shaped = ops.transpose(shaped, [view.order.index(d) for d in kept])
    return ops.broadcast_in_dim(shaped, size, kept) if len(kept) < len(size) else shaped


def _places(size: Sequence[int], stride: Sequence[int], offset: int) -> Tensor:
    """The place in storage of each element."""
    places = ops.constant(offset, "i64", tuple(size))
    for d, step in enumerate(stride):
        places = places + ops.iota(size, d, "i64") * step if step else places
    return places


def _latest(old: Tensor, new: Tensor) -> Tensor:
    return new


def _as_strided_scatter(
    out: RankedTensorType,
    self: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """The tensor with the elements of a view replaced."""
    places = ops.reshape(_places(size, stride, storage_offset or 0), (-1, 1))
    numbers = ScatterDimensionNumbers(
        inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=1
    )
    updates = convert(ops.reshape(src, (-1,)), self.element_type)
    (result,) = scatter((ops.reshape(self, (-1,)),), places, (updates,), numbers, _latest)
    return ops.reshape(result, sizes(out))


ROWS: dict[str, Row] = {
    **dict.fromkeys(("as_strided", "as_strided_copy"), _as_strided),
    "as_strided_scatter": _as_strided_scatter,
}
"""The rows by the name of the op without overload."""
