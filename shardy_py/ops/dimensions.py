"""The dimension numbers of ops as values: read once from attributes, asked by every engine.

    GatherDimensions, ScatterDimensions    which dimensions of operand, indices and slices correspond
    DotDimensions                          batching and contracted dimensions of both sides
    ConvolutionDimensions                  batch, features and spatial dimensions of image, kernel, result
    Window, windows_of                     size, stride, padding, dilation of each dimension of a window

`of` takes the attributes of a record (`record.attributes`). Not here: maps (`indexed.py`, `contraction.py`,
`windowed.py`); the attributes of MLIR and their syntax (`mlir/dialects/stablehlo/structs.py`).

>>> rows = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1}
>>> numbers = GatherDimensions.of({"dimension_numbers": rows})
>>> numbers.kept(2), numbers.windowed(2), numbers.outer(2)
((1,), ((1, 1),), (0,))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

from shardy_py.base.records import dataclass
from shardy_py.indexing import Constraint, Expr, Interval
from shardy_py.ops.reads import integer, integers
from shardy_py.ops.record import Attributes

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SliceDimensions:
    """The dimension numbers of slices at indices: what a gather reads, or the updates of a scatter.

    offsets: the dimensions of the slices' tensor that run inside a slice.
    collapsed: the dimensions of the operand, of size 1 in slices, that the slices' tensor lacks.
    index_map: the dimension of the operand of each element of an index.
    vector: the dimension of the indices that has these elements; their rank if there is none.
    batching: further dimensions of the operand that the slices' tensor lacks; they correspond to
        `indices_batching`, dimensions of the indices.
    """

    offsets: tuple[int, ...]
    collapsed: tuple[int, ...]
    index_map: tuple[int, ...]
    vector: int
    batching: tuple[int, ...] = ()
    indices_batching: tuple[int, ...] = ()

    attribute: ClassVar[str]
    """The name of the attribute that has them."""
    lists: ClassVar[tuple[str, ...]]
    """The names of its lists: offsets, collapsed, index_map, batching, indices_batching."""

    @classmethod
    def of(cls, attributes: Attributes) -> Self:
        """Returns those in the attributes of an op; absent ones are empty."""
        numbers: Attributes = attributes[cls.attribute]
        offsets, collapsed, index_map, batching, indices_batching = (
            integers(numbers, name) for name in cls.lists
        )
        vector = integer(numbers, "index_vector_dim")
        return cls(offsets, collapsed, index_map, vector, batching, indices_batching)

    @property
    def dropped(self) -> tuple[int, ...]:
        """The dimensions of the operand that the slices' tensor lacks."""
        return (*self.collapsed, *self.batching)

    def kept(self, rank: int) -> tuple[int, ...]:
        """Returns the dimensions of an operand of that rank that the slices' tensor has, too."""
        return tuple(d for d in range(rank) if d not in self.collapsed and d not in self.batching)

    def windowed(self, rank: int) -> Pairs:
        """Returns (dimension of the operand, dimension of the slices' tensor) for those in both."""
        return tuple(zip(self.kept(rank), self.offsets, strict=True))

    def outer(self, rank: int) -> tuple[int, ...]:
        """Returns the dimensions of a slices' tensor of that rank that number slices."""
        return tuple(d for d in range(rank) if d not in self.offsets)

    @property
    def batched(self) -> Pairs:
        """(dimension of the operand, dimension of the indices) for batching dimensions."""
        return tuple(zip(self.batching, self.indices_batching, strict=True))


class GatherDimensions(SliceDimensions):
    """The dimension numbers of a gather, static or dynamic."""

    __slots__ = ()
    attribute = "dimension_numbers"
    lists = (
        "offset_dims",
        "collapsed_slice_dims",
        "start_index_map",
        "operand_batching_dims",
        "start_indices_batching_dims",
    )


class ScatterDimensions(SliceDimensions):
    """The dimension numbers of a scatter."""

    __slots__ = ()
    attribute = "scatter_dimension_numbers"
    lists = (
        "update_window_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
    )


@dataclass(frozen=True, slots=True)
class DotDimensions:
    """The batching and contracted dimensions of (left, right), pairwise the same."""

    batching: tuple[tuple[int, ...], tuple[int, ...]]
    contracting: tuple[tuple[int, ...], tuple[int, ...]]

    @staticmethod
    def of(attributes: Attributes, name: str = "dot_dimension_numbers") -> DotDimensions:
        """Returns those in an attribute of an op."""
        numbers: Attributes = attributes[name]
        left, right = (
            integers(numbers, "lhs_batching_dimensions"),
            integers(numbers, "rhs_batching_dimensions"),
        )
        summed = (
            integers(numbers, "lhs_contracting_dimensions"),
            integers(numbers, "rhs_contracting_dimensions"),
        )
        return DotDimensions((left, right), summed)

    def first_of_right(self, left_rank: int) -> int:
        """Returns the first dimension of the result that is of the right operand."""
        return left_rank - len(self.contracting[0])


@dataclass(frozen=True, slots=True)
class ConvolutionDimensions:
    """The dimensions of a convolution by their roles.

    batch, feature, spatial: of the image. in_feature, out_feature, kernel_spatial: of the kernel.
    result_batch, result_feature, result_spatial: of the result.
    feature_groups, batch_groups: the number of groups; 1 without groups.
    """

    batch: int
    feature: int
    spatial: tuple[int, ...]
    in_feature: int
    out_feature: int
    kernel_spatial: tuple[int, ...]
    result_batch: int
    result_feature: int
    result_spatial: tuple[int, ...]
    feature_groups: int = 1
    batch_groups: int = 1

    @staticmethod
    def of(attributes: Attributes) -> ConvolutionDimensions:
        """Returns those in the attributes of an op."""
        numbers: Attributes = attributes["dimension_numbers"]
        return ConvolutionDimensions(
            batch=integer(numbers, "input_batch_dimension"),
            feature=integer(numbers, "input_feature_dimension"),
            spatial=integers(numbers, "input_spatial_dimensions"),
            in_feature=integer(numbers, "kernel_input_feature_dimension"),
            out_feature=integer(numbers, "kernel_output_feature_dimension"),
            kernel_spatial=integers(numbers, "kernel_spatial_dimensions"),
            result_batch=integer(numbers, "output_batch_dimension"),
            result_feature=integer(numbers, "output_feature_dimension"),
            result_spatial=integers(numbers, "output_spatial_dimensions"),
            feature_groups=integer(attributes, "feature_group_count", 1),
            batch_groups=integer(attributes, "batch_group_count", 1),
        )

    @property
    def image(self) -> tuple[int, ...]:
        """The dimensions of the image: batch, spatial, features."""
        return (self.batch, *self.spatial, self.feature)

    @property
    def kernel(self) -> tuple[int, ...]:
        """The dimensions of the kernel: input features, spatial, output features."""
        return (self.in_feature, *self.kernel_spatial, self.out_feature)

    @property
    def result(self) -> tuple[int, ...]:
        """The dimensions of the result: batch, spatial, features."""
        return (self.result_batch, *self.result_spatial, self.result_feature)

    @property
    def spatials(self) -> tuple[tuple[int, int, int], ...]:
        """The dimensions of image, kernel and result of each spatial dimension."""
        return tuple(zip(self.spatial, self.kernel_spatial, self.result_spatial, strict=True))

    def window(self, kernel: Sequence[int]) -> tuple[int, ...]:
        """Returns the sizes of the window of a kernel of that shape."""
        return tuple(kernel[d] for d in self.kernel_spatial)


@dataclass(frozen=True)
class Window:
    """One dimension of a window: XLA's `window` attribute.

    low, high: padding of the operand; base_dilation: distance of its elements; dilation: distance of the
    window's elements; is_reversed: whether the window's coordinate runs opposite to the operand's.
    """

    size: int = 1
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    dilation: int = 1
    is_reversed: bool = False

    @property
    def is_trivial(self) -> bool:
        """Returns whether each window is one element."""
        return self == Window()

    @property
    def dilated_size(self) -> int:
        """The elements from the first to the last of a window."""
        return 1 + (self.size - 1) * self.dilation

    def padded(self, size: int) -> int:
        """The elements of a dimension of `size` with its dilation and padding."""
        return 1 + (size - 1) * self.base_dilation + self.low + self.high

    def count(self, size: int) -> int:
        """The number of windows over a dimension of `size`."""
        return (self.padded(size) - self.dilated_size) // self.stride + 1

    def element(self, place: Expr, offset: Expr, size: int) -> tuple[Expr, tuple[Constraint, ...]]:
        """The operand coordinate at `offset` in window `place`, and the constraints that it is in bounds."""
        if self.is_reversed:
            offset = self.size - 1 - offset
        position = place * self.stride + offset * self.dilation - self.low
        constraints: list[Constraint] = []
        if self.base_dilation > 1:
            constraints.append((position % self.base_dilation, Interval(0, 0)))
        if self.low > 0 or self.high > 0 or self.base_dilation > 1:
            constraints.append((position, Interval(0, (size - 1) * self.base_dilation)))
        return position // self.base_dilation, tuple(constraints)


T = TypeVar("T")


def windows_of(attributes: Attributes, sizes: Sequence[int]) -> tuple[Window, ...]:
    """Returns the windows of given sizes in an op's attributes; absent attributes have their defaults."""
    count = len(sizes)
    columns = (
        sizes,
        _column(attributes, ("window_strides",), 1, count),
        _column(attributes, ("padding",), (0, 0), count),
        _column(attributes, ("base_dilations", "lhs_dilation"), 1, count),
        _column(attributes, ("window_dilations", "rhs_dilation"), 1, count),
        _column(attributes, ("window_reversal",), False, count),
    )
    return tuple(
        Window(size, stride, padding[0], padding[1], base_dilation, dilation, bool(is_reversed))
        for size, stride, padding, base_dilation, dilation, is_reversed in zip(*columns, strict=True)
    )


def _column(attributes: Attributes, names: Sequence[str], default: T, count: int) -> Sequence[T]:
    """Returns the values of an attribute by the name that reductions or that convolutions have for it."""
    return next((found for name in names if (found := attributes.get(name))), (default,) * count)


def own_windows(attributes: Attributes, rank: int) -> tuple[Window, ...]:
    """Returns the windows of an op that states their sizes; those of one element if it does not."""
    return windows_of(attributes, attributes.get("window_dimensions") or (1,) * rank)
