"""Linear algebra as XLA:TPU makes it before it propagates shardings: kernels for one block, and products.

    triangular_solve(a, b)  ->  dot(invert(triangle of a), b)
    cholesky(a)             ->  select(is any NaN, NaN, factor(a))
    eigh(a)                 ->  sort(eigenvalues, eigenvectors), of a kernel of the four quarters of a
    lu(a)                   ->  a kernel, whose permutation is that of places

The kernels are custom calls, of which only those of eigenvalues know no batches of a device. Source:
openxla/xla, xla/service/triangular_solve_expander.cc and cholesky_expander.cc; from the HLO of 9 programs
that XLA:TPU compiled. Not here: matrices of several blocks, for which it makes loops, QR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers, GatherDimensionNumbers
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops.custom_calls import EIGENVALUES, FACTORS
from shardy_py.xla.prepare import folding

_BLOCK: Final = 128
"""The rows of a matrix that a kernel takes."""
_EIGH: Final = "Eigh"
_LU: Final = "LuDecomposition"


def fold_triangular_solve(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A solution of one block is a product with the inverse of its triangle."""
    (matrix, right), (result,) = operands_of(op), op.results
    if not _is_block(matrix) or not folding.is_static(right, result):
        return None
    flags = {name: plain(op.properties[name]) for name in ("left_side", "lower", "unit_diagonal")}
    build, sizes = StablehloBuilder(before=op), shape_of(matrix)
    batch, is_lower = len(sizes) - 2, bool(flags["lower"])
    triangle = _triangle(build, matrix, is_lower=is_lower)
    if flags["unit_diagonal"]:
        one = build.dense(ranked_tensor((), f32), np.float32(1).tobytes())
        triangle = build.select(_places(build, sizes, "EQ"), build.broadcast(one, sizes), triangle)
    blocks = build.reshape(triangle, (*sizes[:batch], 1, *sizes[batch:]))
    target = f"InvertDiagBlocks{'Lower' if is_lower else 'Upper'}Triangular"
    inverse = build.reshape(_called(build, target, (blocks,), (blocks.type,))[0], sizes)
    along = batch + (("NO_TRANSPOSE" in str(plain(op.properties["transpose_a"]))) == bool(flags["left_side"]))
    sides = (inverse, right), (along, batch)
    if not flags["left_side"]:
        sides = (right, inverse), (batch + 1, along)
    operands, contracted = sides
    both = tuple(range(batch))
    return build.one(
        *("dot_general", operands, result.type),
        dot_dimension_numbers=DotDimensionNumbers(both, both, contracted[:1], contracted[1:]),
        precision_config=("HIGHEST", "HIGHEST"),
    )


def fold_cholesky(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A factor is not a number if any element of its triangle is not."""
    (matrix,) = operands_of(op)
    if not _is_block(matrix):
        return None
    build, sizes = StablehloBuilder(before=op), shape_of(matrix)
    batch = len(sizes) - 2
    (factor,) = _called(build, "Cholesky", (matrix,), (matrix.type,))
    triangle = _triangle(build, factor, is_lower=bool(plain(op.properties["lower"])))
    sums = _reduced(build, triangle, "add", build.zero(f32), batch)
    wrong = _reduced(build, build.compare("NE", sums, sums), "or", build.zero(i1), batch)
    nan = build.dense(ranked_tensor((), f32), np.float32("nan").tobytes())
    spread = build.broadcast(wrong, sizes, range(batch))
    return build.select(spread, build.broadcast(nan, sizes), factor)


def expanded_call(op: Operation) -> Sequence[SSAValue] | None:
    """Returns the results of a call as XLA:TPU makes them of a kernel; None of other calls."""
    expanded = _CALLS.get((str(plain(op.properties["call_target_name"])), len(op.results)))
    operands = operands_of(op)
    return expanded(op, operands[0]) if expanded and len(operands) == 1 and _is_block(operands[0]) else None


def _lu(op: Operation, matrix: SSAValue) -> Sequence[SSAValue]:
    """The factors of matrices, their pivots, and their permutations."""
    build, types = StablehloBuilder(before=op), [result.type for result in op.results]
    factors, pivots, order = _called(build, FACTORS, (matrix,), types)
    sizes = shape_of(order)
    batch = tuple(range(len(sizes) - 1))
    numbers = GatherDimensionNumbers(
        *((), (len(batch),), batch, batch, (len(batch),)), index_vector_dim=len(sizes)
    )
    places = build.one(
        *("gather", (build.iota(sizes, len(batch), i32), build.reshape(order, (*sizes, 1))), order.type),
        dimension_numbers=numbers,
        slice_sizes=(1,) * len(sizes),
    )
    return [factors, pivots, places]


def _eigh(op: Operation, matrix: SSAValue) -> Sequence[SSAValue] | None:
    """The eigenvectors and eigenvalues of symmetric matrices; None of an odd size."""
    sizes = shape_of(matrix)
    if sizes[-1] % 2:
        return None
    build, batch, size = StablehloBuilder(before=op), len(sizes) - 2, sizes[-1]
    order = (*range(batch), batch + 1, batch)
    lower = _places(build, sizes, "GE")
    matrix = build.select(lower, matrix, build.transpose(matrix, order))
    half = size // 2
    starts = [(row, column) for row in (0, half) for column in (0, half)]
    quarters = [
        build.slice(matrix, (*(0,) * batch, *at), (*sizes[:batch], *(start + half for start in at)))
        for at in starts
    ]
    values = resized(matrix, (*sizes[:batch], half))
    types = (values, values, *(each.type for each in quarters))
    first, second, *vectors = _called(build, EIGENVALUES, quarters, types)
    found = build.concatenate([first, second], batch)
    rows = [build.concatenate(vectors[i : i + 2], batch + 1) for i in (0, 2)]
    spread = build.broadcast(found, sizes, (*range(batch), batch + 1))
    scalars = [ranked_tensor((), f32)] * 4

    def less(inner: StablehloBuilder, arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [inner.compare("LT", arguments[0], arguments[1])]

    operands = spread, build.concatenate(rows, batch)
    region = build.region(scalars, less)
    made = [each.type for each in operands]
    ordered = build.insert("sort", operands, made, (region,), dimension=batch + 1, is_stable=False)
    zeros = build.broadcast(build.zero(f32), sizes)
    diagonal = build.select(_places(build, sizes, "EQ"), ordered.results[0], zeros)
    return [ordered.results[1], _reduced(build, diagonal, "add", build.zero(f32), batch)]


def _is_block(matrix: SSAValue) -> bool:
    """True for matrices that a kernel takes: of f32, and one block each."""
    return folding.is_static(matrix) and element_of(matrix) == f32 and 1 < shape_of(matrix)[-1] <= _BLOCK


def _called(
    build: StablehloBuilder, target: str, operands: Sequence[SSAValue], types: Sequence[object]
) -> Sequence[SSAValue]:
    call = build.insert("custom_call", operands, types, call_target_name=target)  # pyright: ignore[reportArgumentType]
    return call.results


def _places(build: StablehloBuilder, sizes: Sequence[int], direction: str) -> SSAValue:
    """True for elements of matrices in a triangle, or on the diagonal, by rows and columns."""
    matrix = sizes[-2:]
    rows, columns = (build.iota(matrix, dimension, i32) for dimension in (0, 1))
    found = build.compare(direction, rows, columns)
    return build.broadcast(found, sizes, (len(sizes) - 2, len(sizes) - 1))


def _triangle(build: StablehloBuilder, matrix: SSAValue, *, is_lower: bool) -> SSAValue:
    sizes = shape_of(matrix)
    zeros = build.broadcast(build.zero(f32), sizes)
    return build.select(_places(build, sizes, "GE" if is_lower else "LE"), matrix, zeros)


def _reduced(
    build: StablehloBuilder, value: SSAValue, name: str, initial: SSAValue, dimension: int
) -> SSAValue:
    sizes, element = shape_of(value), element_of(value)
    type_ = resized(value, (*sizes[:dimension], *sizes[dimension + 1 :]))
    region = build.combining_region(name, element)
    return build.insert("reduce", (value, initial), (type_,), (region,), dimensions=(dimension,)).results[0]


_CALLS: Mapping[tuple[str, int], Callable[[Operation, SSAValue], Sequence[SSAValue] | None]] = {
    (_EIGH, 2): _eigh,
    (_LU, 3): _lu,
}
"""The functions that expand calls, by target and number of results."""
