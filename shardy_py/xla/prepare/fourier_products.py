"""Fourier transforms as XLA:TPU makes them before it propagates shardings: products with matrices of waves.

    t = (re + im) C;   re' = t - im (C + S);   im' = t + re (S - C)       C, S: cosines and sines of n x n

More than 256 elements are transformed as [128, n / 128]: along both, with a product by waves between. Each
dimension is contracted in its place and made the last one. From dumps of 11 transforms, compiled ahead of
time; the pass is not public. Not here: complex values that other ops read, which it keeps as two arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import ComplexType, f32
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.stablehlo.structs import DotDimensionNumbers
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.complex_parts import parts_of

_ROW: Final = 128
_WHOLE: Final = 256
"""The elements that are transformed by one product, at most."""
Parts = Sequence[SSAValue]
"""The real and the imaginary part of a value."""


def fold_fourier(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A Fourier transform is made of products."""
    (value,), (result,) = operands_of(op), op.results
    if not folding.is_static(value, result):
        return None
    elements = [element_of(each) for each in (value, result)]
    if not all(element in (f32, ComplexType(f32)) for element in elements):
        return None
    kind, lengths = str(plain(op.properties["fft_type"])), [*plain(op.properties["fft_length"])]
    build, sizes = StablehloBuilder(before=op), shape_of(value)
    first = len(sizes) - len(lengths)
    parts: Parts = parts_of(build, value)
    if kind == "IRFFT":
        parts = [_mirrored(build, part, lengths[-1]) for part in parts]
    for length in lengths:
        parts = _transformed(build, parts, first, length)
    made = shape_of(result)
    if kind == "RFFT":
        parts = [build.slice(part, (0,) * len(made), made) for part in parts]
    return parts[0] if element_of(result) == f32 else build.one("complex", parts, result.type)


def _mirrored(build: StablehloBuilder, part: SSAValue, length: int) -> SSAValue:
    """All elements of a part of a transform of real values, of which the first half is known."""
    sizes = shape_of(part)
    start = (*(0,) * (len(sizes) - 1), 1)
    rest = build.slice(part, start, (*sizes[:-1], 1 + length - sizes[-1]))
    turned = build.one("reverse", (rest,), rest.type, dimensions=(len(sizes) - 1,))
    return build.concatenate([part, turned], len(sizes) - 1)


def _transformed(build: StablehloBuilder, parts: Parts, dimension: int, length: int) -> Parts:
    """Both parts transformed along a dimension, which becomes the last one."""
    if length <= _WHOLE or length % _ROW:
        return _by_waves(build, parts, dimension, length)
    sizes = shape_of(parts[0])
    rows = (*sizes[:dimension], _ROW, length // _ROW, *sizes[dimension + 1 :])
    parts = _by_waves(build, [build.reshape(part, rows) for part in parts], dimension, _ROW)
    between = build.unary("cosine", _angles(build, shape_of(parts[0]), dimension, len(rows) - 1))
    parts = [build.binary("multiply", part, between) for part in parts]
    parts = _by_waves(build, parts, dimension, length // _ROW)
    order = (*range(len(rows) - 2), len(rows) - 1, len(rows) - 2)
    last = (*sizes[:dimension], *sizes[dimension + 1 :], length)
    return [build.reshape(build.transpose(part, order), last) for part in parts]


def _by_waves(build: StablehloBuilder, parts: Parts, dimension: int, length: int) -> Parts:
    real, imaginary = parts
    angles = _angles(build, (length, length), 0, 1)
    cosines, sines = build.unary("cosine", angles), build.unary("sine", angles)
    total = _product(build, build.binary("add", real, imaginary), dimension, cosines)
    less = _product(build, imaginary, dimension, build.binary("add", cosines, sines))
    more = _product(build, real, dimension, build.binary("subtract", sines, cosines))
    return [build.binary("subtract", total, less), build.binary("add", total, more)]


def _product(build: StablehloBuilder, value: SSAValue, dimension: int, waves: SSAValue) -> SSAValue:
    sizes = shape_of(value)
    made = (*sizes[:dimension], *sizes[dimension + 1 :], shape_of(waves)[1])
    return build.one(
        *("dot_general", (value, waves), ranked_tensor(made, f32)),
        dot_dimension_numbers=DotDimensionNumbers((), (), (dimension,), (0,)),
        precision_config=("HIGHEST", "HIGHEST"),
    )


def _angles(build: StablehloBuilder, shape: Sequence[int], first: int, second: int) -> SSAValue:
    """The angles of waves, but for a factor, which does not matter for what is sent."""
    numbers = [build.iota(shape, dimension, f32) for dimension in (first, second)]
    return build.binary("multiply", *numbers)
