"""Conversions that XLA:TPU takes into what reads them, before it propagates shardings.

    dot(convert(x), w)               ->  dot(x, w), of a narrower type: it is sent as it is
    multiply(convert(predicate), x)  ->  select(predicate, x, 0)

Established with 8 programs, each compiled ahead of time. Source of the second: openxla/xla, `HandleMultiply`
in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of
from shardy_py.mlir.text.dense import element_size
from shardy_py.xla.prepare import folding

_CONVERT = stablehlo.ConvertOp.name


def fold_converted_factors(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product reads what is only converted to a wider type for it."""
    values = operands_of(op)
    sources = [_narrower(value) for value in values]
    if sources == [None, None]:
        return None
    operands = [value if source is None else source for value, source in zip(values, sources, strict=True)]
    return folding.make(op, "dot_general", operands, dict(op.properties))


def _narrower(value: SSAValue) -> SSAValue | None:
    convert = folding.producer(value, _CONVERT)
    if convert is None:
        return None
    (source,) = operands_of(convert)
    return source if _bits(source) < _bits(value) else None


def _bits(value: SSAValue) -> int:
    element = element_of(value)
    return 1 if element == i1 else 8 * element_size(element)


def fold_product_by_predicate(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A product by a predicate as a number chooses between the other factor and zero."""
    first, second = operands_of(op)
    for value, other in ((first, second), (second, first)):
        convert = folding.producer(value, _CONVERT)
        if convert is None or element_of(operands_of(convert)[0]) != i1:
            continue
        if not folding.is_static(other):
            return None
        build = StablehloBuilder(before=op)
        nothing = build.broadcast(build.zero(element_of(other)), folding.sizes_of(other))
        return build.select(operands_of(convert)[0], other, nothing)
    return None
