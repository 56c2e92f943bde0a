"""Solutions of triangular systems as XLA:TPU computes them: products with the inverses of diagonal blocks.

    solve(a, b)  ->  x0 = dot(inverse 0, b0); x1 = dot(inverse 1, b1 - dot(a10, x0)); concatenate(x0, x1)

One kernel inverts all blocks. Source: openxla/xla, xla/service/triangular_solve_expander.cc; from the HLO of
programs that XLA:TPU compiled. Not here: the folds of ops (`linear_algebra.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import SSAValue

from shardy_py.mlir.dialects.stablehlo.structs import GatherDimensionNumbers
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, resized, shape_of
from shardy_py.xla.prepare.matrix_blocks import (
    BLOCK,
    block,
    blocks_of,
    called,
    extended,
    kept,
    places,
    product,
    rows_and_columns,
    unit_triangle,
)


@dataclass(frozen=True)
class System:
    """Triangular systems: the side of the matrix, its triangle, and whether it is transposed.

    is_unit: whether the elements on the diagonal count as 1.
    """

    is_left: bool = True
    is_lower: bool = True
    is_transposed: bool = False
    is_unit: bool = False

    @property
    def is_backward(self) -> bool:
        """True if the last block is solved first."""
        return self.is_left ^ self.is_lower ^ self.is_transposed

    def solved(self, build: StablehloBuilder, matrix: SSAValue, right: SSAValue) -> SSAValue:
        """The solutions."""
        (size, _), sizes = rows_and_columns(matrix), shape_of(right)
        if size == 1:
            batch = len(sizes) - 2
            each = build.reshape(matrix, sizes[:batch])
            divisor = build.broadcast(each, sizes, tuple(range(batch)))
            return right if self.is_unit else build.binary("divide", right, divisor)
        if self.is_unit:
            matrix = unit_triangle(build, matrix, "GT" if self.is_lower else "LT")
        else:
            matrix = kept(build, matrix, "GE" if self.is_lower else "LE")
        target = f"InvertDiagBlocks{'Lower' if self.is_lower else 'Upper'}Triangular"
        diagonal = _diagonal_blocks(build, matrix)
        (inverses,) = called(build, target, (diagonal,), (diagonal.type,))
        return self._by_blocks(build, matrix, right, inverses)

    def _by_blocks(
        self, build: StablehloBuilder, matrix: SSAValue, right: SSAValue, inverses: SSAValue
    ) -> SSAValue:
        (size, _), along = rows_and_columns(matrix), len(shape_of(right)) - 1 - self.is_left
        blocks = [*blocks_of(size)]
        found: list[SSAValue] = []
        for number, (start, end) in [*enumerate(blocks)][:: -1 if self.is_backward else 1]:
            rest = self._row(build, right, start, end)
            if found:
                others = (end, size) if self.is_backward else (0, start)
                rest = build.binary("subtract", rest, self._known(build, matrix, (start, end), others, found))
            inverse = _block_of(build, inverses, number, end - start)
            part = self._product(build, inverse, rest)
            found = [part, *found] if self.is_backward else [*found, part]
        return build.concatenate(found, along)

    def _row(self, build: StablehloBuilder, right: SSAValue, start: int, end: int) -> SSAValue:
        rows, columns = rows_and_columns(right)
        if self.is_left:
            return block(build, right, (start, 0), (end, columns))
        return block(build, right, (0, start), (rows, end))

    def _known(
        self,
        build: StablehloBuilder,
        matrix: SSAValue,
        rows: tuple[int, int],
        others: tuple[int, int],
        found: list[SSAValue],
    ) -> SSAValue:
        """The part of these rows that the blocks found so far make."""
        (row, row_end), (column, column_end) = rows, others
        if self.is_left == self.is_transposed:
            row, row_end, column, column_end = column, column_end, row, row_end
        solved = build.concatenate(found, len(shape_of(matrix)) - 1 - self.is_left)
        return self._product(build, block(build, matrix, (row, column), (row_end, column_end)), solved)

    def _product(self, build: StablehloBuilder, matrix: SSAValue, other: SSAValue) -> SSAValue:
        if self.is_left:
            return product(build, matrix, other, (0 if self.is_transposed else 1, 0))
        return product(build, other, matrix, (1, 1 if self.is_transposed else 0))


def _diagonal_blocks(build: StablehloBuilder, matrix: SSAValue) -> SSAValue:
    """The blocks on the diagonal, of which the last one is filled up with ones on that."""
    sizes, size = shape_of(matrix), shape_of(matrix)[-1]
    batch, whole = sizes[:-2], size // BLOCK * BLOCK
    if size <= BLOCK:
        return build.reshape(matrix, (*batch, 1, size, size))
    found = [_whole_blocks(build, matrix)]
    if whole < size:
        missing = BLOCK - (size - whole)
        last = extended(build, block(build, matrix, (whole, whole), (size, size)), (BLOCK, size - whole))
        ones = build.pad(places(build, (missing, missing), "EQ"), build.zero(i1), (size - whole, 0), (0, 0))
        columns = build.convert(ones, f32)
        if batch:
            columns = build.broadcast(columns, (*batch, BLOCK, missing), (len(batch), len(batch) + 1))
        filled = build.concatenate((last, columns), len(batch) + 1)
        found.append(build.reshape(filled, (*batch, 1, BLOCK, BLOCK)))
    return build.concatenate(found, len(batch))


def _whole_blocks(build: StablehloBuilder, matrix: SSAValue) -> SSAValue:
    """The blocks on the diagonal that are whole: windows at multiples of their size."""
    sizes = shape_of(matrix)
    batch, count = sizes[:-2], sizes[-1] // BLOCK
    numbers = build.iota((count,), 0, i32)
    starts = build.binary("multiply", numbers, build.broadcast(build.integer(BLOCK, i32), (count,)))
    along = len(batch)
    return build.one(
        *("gather", (matrix, build.broadcast(starts, (count, 2), (0,)))),
        resized(matrix, (*batch, count, BLOCK, BLOCK)),
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=(*range(along), along + 1, along + 2),
            start_index_map=(along, along + 1),
            index_vector_dim=1,
        ),
        slice_sizes=(*batch, BLOCK, BLOCK),
    )


def _block_of(build: StablehloBuilder, inverses: SSAValue, number: int, size: int) -> SSAValue:
    """The inverse of a block, without what it was filled up with."""
    batch = shape_of(inverses)[:-3]
    before = (0,) * len(batch)
    one = build.slice(inverses, (*before, number, 0, 0), (*batch, number + 1, size, size))
    return build.reshape(one, (*batch, size, size))
