"""Linear algebra as XLA:TPU makes it before it propagates shardings: kernels for blocks, and products.

    triangular_solve(a, b)  ->  dot(invert(triangle of a), b), by blocks of rows
    cholesky(a)             ->  select(is any NaN, NaN, factors of the blocks of a)
    eigh(a)                 ->  sort(eigenvalues, eigenvectors), of a kernel of the four quarters of a
    lu(a)                   ->  kernels of the blocks of columns, and the rows of a in their order

The kernels are custom calls, of which only those of eigenvalues know no batches of a device. Source:
openxla/xla, xla/service/triangular_solve_expander.cc, xla/hlo/transforms/expanders/cholesky_expander.cc; from
the HLO of 40 programs that XLA:TPU compiled. Not here: how systems are solved (`triangular_solves.py`), QR
(`reflectors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops.custom_calls import EIGENVALUES, FACTORS
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.matrix_blocks import (
    block,
    blocks_of,
    called,
    extended,
    is_of_matrices,
    kept,
    later,
    places,
    product,
    reduced,
    rows_and_columns,
    taken,
    transposed,
    updated,
)
from shardy_py.xla.prepare.reflectors import multiplied, reflected
from shardy_py.xla.prepare.triangular_solves import System

_EIGH: Final = "Eigh"
_LU: Final = "LuDecomposition"
_QR: Final = "Qr"
_REFLECTORS: Final = "ProductOfElementaryHouseholderReflectors"


def fold_triangular_solve(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A solution is made of products with the inverses of diagonal blocks."""
    matrix, right = operands_of(op)
    if not is_of_matrices(matrix) or not is_of_matrices(right):
        return None
    flags = [bool(plain(op.properties[name])) for name in ("left_side", "lower", "unit_diagonal")]
    is_left, is_lower, is_unit = flags
    is_transposed = "NO_TRANSPOSE" not in str(plain(op.properties["transpose_a"]))
    return System(is_left, is_lower, is_transposed, is_unit).solved(
        StablehloBuilder(before=op), matrix, right
    )


def fold_cholesky(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A factor is not a number if any element of its diagonal is not."""
    (matrix,) = operands_of(op)
    if not is_of_matrices(matrix):
        return None
    build, is_lower = StablehloBuilder(before=op), bool(plain(op.properties["lower"]))
    factor, wrong = _factored(build, matrix if is_lower else transposed(build, matrix))
    sizes = shape_of(factor)
    nan = build.dense(ranked_tensor((), f32), np.float32("nan").tobytes())
    spread = build.broadcast(wrong, sizes, tuple(range(len(sizes) - 2)))
    found = build.select(spread, build.broadcast(nan, sizes), factor)
    return found if is_lower else transposed(build, found)


def _factored(build: StablehloBuilder, matrix: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The lower factors of matrices, and for each whether any block has none."""
    size, _ = rows_and_columns(matrix)
    found: SSAValue | None = None
    failed: SSAValue | None = None
    for start, end in blocks_of(size):
        panel = block(build, matrix, (start, start), (size, end))
        if found is not None:
            left, right = (block(build, found, (start, 0), (last, start)) for last in (size, end))
            panel = build.binary("subtract", panel, product(build, left, right, (1, 1)))
        width = end - start
        factor, wrong = _factor_of_block(build, block(build, panel, (0, 0), (width, width)))
        failed = wrong if failed is None else build.binary("or", failed, wrong)
        found = (
            extended(build, factor, (size, size))
            if found is None
            else updated(build, found, factor, (start, start))
        )
        if end < size:
            below = block(build, panel, (width, 0), (size - start, width))
            solved = System(is_left=False, is_transposed=True).solved(build, factor, below)
            found = updated(build, found, solved, (end, start))
    assert found is not None
    assert failed is not None
    return found, failed


def _factor_of_block(build: StablehloBuilder, matrix: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The factors of blocks, and for each whether it has none."""
    batch = len(shape_of(matrix)) - 2
    if rows_and_columns(matrix) == (1, 1):
        factor = build.unary("sqrt", matrix)
        return factor, build.reshape(build.compare("NE", factor, factor), shape_of(factor)[:batch])
    (factor,) = called(build, "Cholesky", (matrix,), (matrix.type,))
    diagonal = reduced(build, kept(build, factor, "EQ"), "add", build.zero(f32), batch)
    return factor, reduced(build, build.compare("NE", diagonal, diagonal), "or", build.zero(i1), batch)


def expanded_call(op: Operation) -> Sequence[SSAValue] | None:
    """Returns the results of a call as XLA:TPU makes them of kernels; None of other calls."""
    expanded = _CALLS.get((str(plain(op.properties["call_target_name"])), len(op.results)))
    operands = operands_of(op)
    return expanded(op, operands) if expanded and all(map(is_of_matrices, operands)) else None


def _lu(op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The factors of matrices, their pivots, and their permutations."""
    build, (matrix,) = StablehloBuilder(before=op), operands
    rows, columns = rows_and_columns(matrix)
    least, batch = min(rows, columns), shape_of(matrix)[:-2]
    order = build.iota((*batch, rows), len(batch), i32)
    pivots: SSAValue | None = None
    for start, end in blocks_of(least):
        panel = block(build, matrix, (start, start), (rows, end))
        types = [ranked_tensor((*batch, size), i32) for size in (end - start, rows - start)]
        found, own, permuted = called(build, FACTORS, (panel,), (panel.type, *types))
        own, permuted = later(build, own, start), later(build, permuted, start)
        pivots = extended(build, own, (least,)) if pivots is None else updated(build, pivots, own, (start,))
        order = updated(build, order, taken(build, order, permuted), (start,))
        if (start, end) != (0, columns):
            matrix = updated(build, matrix, taken(build, matrix, permuted), (start, 0))
        matrix = updated(build, matrix, found, (start, start))
        if end < columns:
            square, right = (
                block(build, matrix, (start, first), (end, last))
                for first, last in ((start, end), (end, columns))
            )
            solved = System(is_unit=True).solved(build, square, right)
            matrix = updated(build, matrix, solved, (start, end))
        if end < min(columns, rows):
            parts = ((end, end), (rows, columns)), ((end, start), (rows, end)), ((start, end), (end, columns))
            rest, left, right = (block(build, matrix, *part) for part in parts)
            made = build.binary("subtract", rest, product(build, left, right, (1, 0)))
            matrix = updated(build, matrix, made, (end, end))
    assert pivots is not None
    return matrix, pivots, order


def _qr(op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    return reflected(StablehloBuilder(before=op), operands[0])


def _orthogonal(op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    return [multiplied(StablehloBuilder(before=op), *operands)]


def _eigh(op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """The eigenvectors and eigenvalues of symmetric matrices."""
    build, (matrix,) = StablehloBuilder(before=op), operands
    sizes = shape_of(matrix)
    batch, size = len(sizes) - 2, sizes[-1]
    half = -(-size // 2)
    matrix = build.select(places(build, sizes, "GE"), matrix, transposed(build, matrix))
    starts = (0, half), (half, size)
    quarters = [
        extended(build, block(build, matrix, (first, start), (last, end)), (half, half))
        for first, last in starts
        for start, end in starts
    ]
    values = resized(matrix, (*sizes[:batch], half))
    types = (values, values, *(each.type for each in quarters))
    first, second, *vectors = called(build, EIGENVALUES, quarters, types)
    found = build.concatenate([first, second], batch)
    rows = [build.concatenate(vectors[i : i + 2], batch + 1) for i in (0, 2)]
    whole = build.concatenate(rows, batch)
    if size % 2:
        found = build.slice(found, (0,) * (batch + 1), (*sizes[:batch], size))
        whole = block(build, whole, (0, 0), (size, size))
    spread = build.broadcast(found, sizes, (*range(batch), batch + 1))
    scalars = [ranked_tensor((), f32)] * 4

    def less(inner: StablehloBuilder, arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [inner.compare("LT", arguments[0], arguments[1])]

    pairs = spread, transposed(build, whole)
    region = build.region(scalars, less)
    made = [each.type for each in pairs]
    ordered = build.insert("sort", pairs, made, (region,), dimension=batch + 1, is_stable=False)
    diagonal = kept(build, ordered.results[0], "EQ")
    return [ordered.results[1], reduced(build, diagonal, "add", build.zero(f32), batch)]


_CALLS: Mapping[tuple[str, int], Callable[[Operation, Sequence[SSAValue]], Sequence[SSAValue]]] = {
    (_EIGH, 2): _eigh,
    (_LU, 3): _lu,
    (_QR, 2): _qr,
    (_REFLECTORS, 1): _orthogonal,
}
"""The functions that expand calls, by target and number of results."""
