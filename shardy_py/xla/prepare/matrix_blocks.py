"""The ops of which XLA:TPU builds linear algebra: blocks of matrices, what is put into them, their products.

    part = block(build, matrix, (128, 0), (256, 128))
    matrix = updated(build, matrix, product(build, part, other, (1, 0)), (128, 0))

Matrices are the last two dimensions of values; those before are batches. Source: openxla/xla,
xla/hlo/builder/lib/matrix.cc and slicing.cc. Not here: the algorithms (`linear_algebra.py`,
`triangular_solves.py`, `reflectors.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers, GatherDimensionNumbers
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized, shape_of
from shardy_py.xla.prepare import folding

BLOCK: Final = 128
"""The rows of a matrix that a kernel takes."""
Place = tuple[int, int]
"""A row and a column."""


def blocks_of(size: int) -> Iterator[tuple[int, int]]:
    """The first row of each block of this many, and the row behind it.

    >>> [*blocks_of(300)]
    [(0, 128), (128, 256), (256, 300)]
    """
    return ((start, min(start + BLOCK, size)) for start in range(0, size, BLOCK))


def is_of_matrices(value: SSAValue) -> bool:
    """Returns whether the kernels take a value: matrices of f32 with elements."""
    return folding.is_static(value) and element_of(value) == f32 and 0 not in shape_of(value)


def rows_and_columns(value: SSAValue) -> tuple[int, int]:
    """The size of a matrix."""
    *_, rows, columns = shape_of(value)
    return rows, columns


def block(build: StablehloBuilder, value: SSAValue, first: Place, last: Place) -> SSAValue:
    """The block of matrices from one place to before another; the value itself if that is all."""
    if (first, last) == ((0, 0), rows_and_columns(value)):
        return value
    batch = shape_of(value)[:-2]
    return build.slice(value, (*(0 for _ in batch), *first), (*batch, *last))


def updated(build: StablehloBuilder, value: SSAValue, part: SSAValue, first: Sequence[int]) -> SSAValue:
    """A value whose last dimensions hold a part from there on; the part itself if it covers all."""
    if shape_of(part) == shape_of(value):
        return part
    batch = len(shape_of(value)) - len(first)
    starts = [build.integer(start, i32) for start in (*(0 for _ in range(batch)), *first)]
    return build.one("dynamic_update_slice", (value, part, *starts), value.type)


def extended(build: StablehloBuilder, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """A value behind whose elements zeros follow in its last dimensions, up to these sizes."""
    shape = shape_of(value)
    behind = [0] * (len(shape) - len(sizes))
    behind += [size - own for size, own in zip(sizes, shape[len(behind) :], strict=True)]
    if not any(behind):
        return value
    return build.pad(value, build.zero(element_of(value)), (0,) * len(shape), behind)


def product(
    build: StablehloBuilder, left: SSAValue, right: SSAValue, contracted: tuple[int, int]
) -> SSAValue:
    """The products of matrices over these of their two dimensions each."""
    batch = len(shape_of(left)) - 2
    both = tuple(range(batch))
    sizes = [
        shape_of(value)[batch + 1 - along] for value, along in zip((left, right), contracted, strict=True)
    ]
    return build.one(
        *("dot_general", (left, right), resized(left, (*shape_of(left)[:batch], *sizes))),
        dot_dimension_numbers=DotDimensionNumbers(both, both, *((batch + along,) for along in contracted)),
        precision_config=("HIGHEST", "HIGHEST"),
    )


def places(build: StablehloBuilder, sizes: Sequence[int], direction: str) -> SSAValue:
    """True for elements of matrices in a triangle, or on the diagonal, by rows and columns."""
    batch, matrix = len(sizes) - 2, sizes[-2:]
    rows, columns = (build.iota(matrix, dimension, i32) for dimension in (0, 1))
    found = build.compare(direction, rows, columns)
    return build.broadcast(found, sizes, (batch, batch + 1)) if batch else found


def identity(build: StablehloBuilder, sizes: Sequence[int]) -> SSAValue:
    """Ones on the diagonal."""
    matrix = sizes[-2:]
    ones = build.convert(places(build, matrix, "EQ"), f32)
    batch = len(sizes) - 2
    return build.broadcast(ones, sizes, (batch, batch + 1)) if batch else ones


def zeros(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    """Zeros like a value."""
    return build.broadcast(build.zero(element_of(value)), shape_of(value))


def kept(build: StablehloBuilder, value: SSAValue, direction: str) -> SSAValue:
    """Matrices of which a triangle is kept, and zeros elsewhere."""
    return build.select(places(build, shape_of(value), direction), value, zeros(build, value))


def unit_triangle(build: StablehloBuilder, value: SSAValue, direction: Literal["GT", "LT"]) -> SSAValue:
    """The triangle beside the diagonal, with ones on that."""
    return build.binary("add", kept(build, value, direction), identity(build, shape_of(value)))


def transposed(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    """The transposes of matrices."""
    batch = len(shape_of(value)) - 2
    return build.transpose(value, (*range(batch), batch + 1, batch))


def reduced(
    build: StablehloBuilder, value: SSAValue, name: str, initial: SSAValue, dimension: int
) -> SSAValue:
    """The elements of a dimension, combined by an op."""
    sizes, element = shape_of(value), element_of(value)
    type_ = resized(value, (*sizes[:dimension], *sizes[dimension + 1 :]))
    region = build.combining_region(name, element)
    return build.insert("reduce", (value, initial), (type_,), (region,), dimensions=(dimension,)).results[0]


def called(
    build: StablehloBuilder, target: str, operands: Sequence[SSAValue], types: Sequence[Attribute]
) -> Sequence[SSAValue]:
    """The results of a kernel."""
    return build.insert("custom_call", operands, types, call_target_name=target).results


def taken(build: StablehloBuilder, value: SSAValue, order: SSAValue) -> SSAValue:
    """The elements, or the rows of matrices, at these places, in each batch."""
    *sizes, count = shape_of(order)
    batch, along = tuple(range(len(sizes))), len(sizes)
    beside = shape_of(value)[along + 1 :]
    numbers = GatherDimensionNumbers(
        *(tuple(range(along + 1, along + 1 + len(beside))), (along,), batch, batch, (along,)),
        index_vector_dim=along + 1,
    )
    return build.one(
        *("gather", (value, build.reshape(order, (*sizes, count, 1)))),
        resized(value, (*sizes, count, *beside)),
        dimension_numbers=numbers,
        slice_sizes=(*(1 for _ in sizes), 1, *beside),
    )


def later(build: StablehloBuilder, numbers: SSAValue, by: int) -> SSAValue:
    """Integers of 32 bits that are larger by this much."""
    if not by:
        return numbers
    return build.binary("add", numbers, build.broadcast(build.integer(by, i32), shape_of(numbers)))
