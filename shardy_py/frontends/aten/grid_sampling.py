"""ATen's sampling of images at the points of a grid, and its gradients: `ROWS` by name, as in `pointwise.py`.

A sample is a sum of neighbours of a point: each dimension has a few positions with weights, and the weight of
a neighbour is the product of those of its positions. The gradient of a point is the same sum with the
derivative of one of the weights. Batch and channels stay apart: neighbours are gathered for each sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.frontends.aten.elements import Outputs, Row, convert, filled, sizes, widened
from shardy_py.frontends.aten.shapes import part
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_sum, scatter
from shardy_py.frontends.builder.tensor import elementwise
from shardy_py.mlir.dialects.stablehlo.structs import GatherDimensionNumbers, ScatterDimensionNumbers

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_CUBIC = -0.75
"""The coefficient of torch's bicubic interpolation."""


@dataclass(frozen=True)
class _Tap:
    """Positions along a dimension, [N, points], in the elements' type, with weights and their derivatives."""

    position: Tensor
    weight: Tensor | float
    slope: Tensor | float


@dataclass(frozen=True)
class _Sampling:
    """The conversion of points to positions."""

    interpolation: int
    padding: int
    align_corners: bool

    def taps(self, points: Tensor, size: int) -> list[_Tap]:
        """The positions of points on -1 to 1 along a dimension of that size."""
        scale = (size - 1) / 2 if self.align_corners else size / 2
        place = (points + 1.0) * scale if self.align_corners else points * scale + (size - 1) / 2
        if self.interpolation == _BICUBIC:
            low = ops.floor(place)
            weights = _cubic_weights(place - low)
            inside = [self._inside(low + float(step), size)[0] for step in range(-1, 3)]
            return [
                _Tap(position, weight, slope * scale)
                for position, (weight, slope) in zip(inside, weights, strict=True)
            ]
        place, factor = self._inside(place, size)
        if self.interpolation == _NEAREST:
            return [_Tap(ops.round_nearest_even(place), 1.0, 0.0)]
        low = ops.floor(place)
        rest, factor = place - low, factor * scale
        return [_Tap(low, 1.0 - rest, -factor), _Tap(low + 1.0, rest, factor)]

    def _inside(self, place: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Positions moved inside the image, unless it is padded by zeros, and the derivatives of that."""
        factor = filled(place.type, 1)
        if self.padding == _REFLECTION:
            place, factor = self._reflected(place, size)
        if self.padding != _ZEROS:
            stays = ops.and_(place > 0, place < size - 1)
            place = ops.minimum(ops.maximum(place, 0.0), float(size - 1))
            factor = ops.select(stays, factor, 0)
        return place, factor

    def _reflected(self, place: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Positions reflected at the centres of the outer elements, or at their outer edges."""
        low, span = (0.0, size - 1.0) if self.align_corners else (-0.5, float(size))
        if not span:
            return filled(place.type, 0), filled(place.type, 0)
        shifted = place - low
        distance = ops.abs(shifted)
        rest, turns = ops.remainder(distance, span), ops.floor(distance / span)
        is_even = ops.compare(ops.remainder(turns, 2.0), 0, "EQ")
        sign = ops.select(shifted < 0, filled(place.type, -1), filled(place.type, 1))
        return ops.select(is_even, rest + low, span - rest + low), ops.select(is_even, sign, -sign)


def _cubic_weights(rest: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The weights of the four neighbours of a point, and their derivatives by the point (Keys, 1981)."""
    a = _CUBIC

    def near(x: Tensor) -> tuple[Tensor, Tensor]:
        value = (x * (a + 2) - (a + 3)) * x * x + 1.0
        return value, (x * (3 * (a + 2)) - 2 * (a + 3)) * x

    def far(x: Tensor) -> tuple[Tensor, Tensor]:
        value = ((x * a - 5 * a) * x + 8 * a) * x - 4 * a
        return value, (x * (3 * a) - 10 * a) * x + 8 * a

    left = [far(rest + 1.0), near(rest)]
    right = [near(1.0 - rest), far(2.0 - rest)]
    return [*left, *((value, -slope) for value, slope in right)]


@dataclass(frozen=True)
class _Neighbour:
    """Elements [N, C, points] with their weights; indices: [N, points, dimensions], of the image.

    slopes: the derivatives of the weights by each coordinate, the last dimension of the image first.
    inside: whether the indices are in the image; elsewhere they are those of its first element.
    """

    indices: Tensor
    inside: Tensor
    weight: Tensor
    slopes: tuple[Tensor | float, ...]


def _neighbours(sampling: _Sampling, grid: Tensor, spatial: Sequence[int]) -> Iterator[_Neighbour]:
    """The neighbours of all points. grid: [N, points, dimensions], the last dimension of the image first."""
    count = len(spatial)
    shape = sizes(grid.type)[:2]
    points = [ops.reshape(part(grid, 2, d, d + 1), shape) for d in range(count)]
    taps = [sampling.taps(points[count - 1 - d], size) for d, size in enumerate(spatial)]
    ones = filled(points[0].type, 1)
    for chosen in product(*taps):
        inside = filled(RankedTensorType(shape, "i1"), True)
        for tap, size in zip(chosen, spatial, strict=True):
            inside = ops.and_(inside, ops.and_(tap.position >= 0, tap.position <= size - 1))
        columns = [
            ops.reshape(ops.convert(ops.select(inside, tap.position, 0), "i64"), (*shape, 1))
            for tap in chosen
        ]
        indices = ops.concatenate(columns, 2)
        slopes = tuple(
            prod((tap.slope if d == by else tap.weight for d, tap in enumerate(chosen)), start=ones)
            for by in reversed(range(count))
        )
        weight = prod((tap.weight for tap in chosen), start=ones)
        yield _Neighbour(indices, inside, ops.select(inside, weight, 0), slopes)


def _elements(image: Tensor, neighbour: _Neighbour) -> Tensor:
    """The elements of images [N, C, ...] at indices: [N, C, points]; any element outside."""
    spatial = tuple(range(2, image.rank))
    numbers = GatherDimensionNumbers(
        offset_dims=(1,),
        collapsed_slice_dims=spatial,
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
        start_index_map=spatial,
        index_vector_dim=2,
    )
    return ops.gather(image, neighbour.indices, numbers, (1, sizes(image.type)[1], *(1 for _ in spatial)))


def _spread(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """[N, points] for all channels."""
    return ops.broadcast_in_dim(tensor, shape, (0, 2))


def _merged(grid: Tensor) -> Tensor:
    """A grid with one dimension of points."""
    shape = sizes(grid.type)
    return ops.reshape(grid, (shape[0], prod(shape[1:-1]), shape[-1]))


def _sampled(
    out: RankedTensorType,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """Images [N, C, ...] at the points of a grid [N, ..., dimensions]."""
    image, grid = widened(input, grid)
    grid = _merged(grid)
    batch, points, _ = sizes(grid.type)
    shape = (batch, sizes(image.type)[1], points)
    total = filled(RankedTensorType(shape, image.element_type), 0)
    for each in _neighbours(
        _Sampling(interpolation_mode, padding_mode, align_corners), grid, sizes(image.type)[2:]
    ):
        total = total + _elements(image, each) * _spread(each.weight, shape)
    return convert(ops.reshape(total, sizes(out)), out.element_type)


def _sampled_backward(
    out: Outputs,
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The gradients of images and grid; None where the mask is false."""
    gradient, image, points = widened(grad_output, input, grid)
    points = _merged(points)
    batch, count, rank = sizes(points.type)
    shape = (batch, sizes(image.type)[1], count)
    gradient = ops.reshape(gradient, shape)
    of_image = filled(image.type, 0)
    of_points = [filled(RankedTensorType((batch, count), image.element_type), 0)] * rank
    sampling = _Sampling(interpolation_mode, padding_mode, align_corners)
    for each in _neighbours(sampling, points, sizes(image.type)[2:]):
        if output_mask[0]:
            of_image = _added(of_image, each, gradient * _spread(each.weight, shape))
        if output_mask[1]:
            common = ops.select(each.inside, reduce_sum(gradient * _elements(image, each), (1,)), 0)
            of_points = [total + common * slope for total, slope in zip(of_points, each.slopes, strict=True)]
    columns = [ops.reshape(total, (batch, count, 1)) for total in of_points]
    of_grid = ops.reshape(ops.concatenate(columns, 2), sizes(grid.type))
    return (
        convert(of_image, input.element_type) if output_mask[0] else None,
        convert(of_grid, grid.element_type) if output_mask[1] else None,
    )


def _added(image: Tensor, neighbour: _Neighbour, updates: Tensor) -> Tensor:
    """Images with updates [N, C, points] added to the neighbours."""
    spatial = tuple(range(2, image.rank))
    numbers = ScatterDimensionNumbers(
        update_window_dims=(1,),
        inserted_window_dims=spatial,
        input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
        scatter_dims_to_operand_dims=spatial,
        index_vector_dim=2,
    )
    return scatter((image,), neighbour.indices, (updates,), numbers, partial(elementwise, "add"))[0]


_NAMES = ("grid_sampler_2d", "grid_sampler_3d")
ROWS: dict[str, Row] = {
    **dict.fromkeys(_NAMES, _sampled),
    **{f"{name}_backward": _sampled_backward for name in _NAMES},
}
"""The rows by the name of the op without overload."""
