"""QR as XLA:TPU computes it: kernels find the reflectors of blocks of columns, and products apply them.

    qr(a)                  for each block of columns: a kernel, then rest += (y t) (y' rest)
    householder_product    for each block, from the last: q += y (t (y' q))

`y` has ones on its diagonal and the reflectors below; a kernel makes `t` of `y' y` and their factors. Source:
openxla/xla, xla/service/qr_expander.cc and householder_expander.cc (compact WY representation); from the HLO
of programs that XLA:TPU compiled. Not here: other factors (`linear_algebra.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from shardy_py.mlir.stablehlo_builder import StablehloBuilder, resized, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.xla.prepare.matrix_blocks import (
    block,
    blocks_of,
    called,
    extended,
    identity,
    kept,
    places,
    product,
    rows_and_columns,
    updated,
    zeros,
)


def reflected(build: StablehloBuilder, matrix: SSAValue) -> Sequence[SSAValue]:
    """The reflectors below the triangle, and their factors."""
    rows, columns = rows_and_columns(matrix)
    least, batch = min(rows, columns), shape_of(matrix)[:-2]
    factors: SSAValue | None = None
    for start, end in blocks_of(least):
        panel = block(build, matrix, (start, start), (rows, end))
        own = ranked_tensor((*batch, end - start), f32)
        found, scales = called(build, "QrDecompositionBlock", (panel,), (panel.type, own))
        matrix = updated(build, matrix, found, (start, start))
        factors = (
            extended(build, scales, (least,))
            if factors is None
            else updated(build, factors, scales, (start,))
        )
        if end < columns:
            below = _below(build, found)
            both = product(build, below, _compact(build, below, scales), (1, 1))
            rest = block(build, matrix, (start, end), (rows, columns))
            change = product(build, both, product(build, below, rest, (0, 0)), (1, 0))
            matrix = updated(build, matrix, build.binary("add", rest, change), (start, end))
    assert factors is not None
    return matrix, factors


def multiplied(build: StablehloBuilder, reflectors: SSAValue, factors: SSAValue) -> SSAValue:
    """The product of reflectors: an orthogonal matrix."""
    (rows, columns), count = rows_and_columns(reflectors), shape_of(factors)[-1]
    found = identity(build, shape_of(reflectors))
    before = shape_of(factors)[:-1]
    for start, end in [*blocks_of(count)][::-1]:
        below = _below(build, block(build, reflectors, (start, start), (rows, end)))
        scales = factors
        if (start, end) != (0, count):
            scales = build.slice(factors, (*(0 for _ in before), start), (*before, end))
        compact = _compact(build, below, scales)
        rest = block(build, found, (start, start), (rows, columns))
        inner = product(build, compact, product(build, below, rest, (0, 0)), (1, 0))
        found = updated(
            *(build, found, build.binary("add", rest, product(build, below, inner, (1, 0)))), (start, start)
        )
    return found


def _below(build: StablehloBuilder, panel: SSAValue) -> SSAValue:
    """The reflectors of a block of columns, with ones on the diagonal."""
    return build.binary("add", identity(build, shape_of(panel)), kept(build, panel, "GT"))


def _compact(build: StablehloBuilder, below: SSAValue, factors: SSAValue) -> SSAValue:
    """The triangle that combines the reflectors of a block."""
    squares = product(build, below, below, (0, 0))
    sizes = shape_of(squares)
    upper = build.select(places(build, sizes, "GE"), zeros(build, squares), squares)
    unit = build.binary("add", upper, identity(build, sizes))
    batch = len(sizes) - 2
    scales = build.broadcast(build.unary("negate", factors), sizes, (*range(batch), batch + 1))
    scaled = build.binary("multiply", unit, scales)
    (found,) = called(build, "CompactWyHelper", (scaled,), (resized(scaled, sizes),))
    return found
