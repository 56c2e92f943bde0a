"""Conversions around ops that only move elements, which XLA:TPU lets move the narrower type.

    slice(convert(x))  ->  convert(slice(x)),  to a wider type
    convert(slice(x))  ->  slice(convert(x)),  to a narrower type

Also for reshape, transpose, pad and concatenate. What is moved has no other users. Source: openxla/xla,
xla/hlo/transforms/simplifiers/convert_mover.cc.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized
from shardy_py.mlir.text.builtin_attributes import is_integral
from shardy_py.mlir.text.dense import element_size, store_integer
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.xla.prepare import folding

_CONVERT = stablehlo.ConvertOp.name
_MOVES = (
    stablehlo.ConcatenateOp.name,
    stablehlo.PadOp.name,
    stablehlo.ReshapeOp.name,
    stablehlo.SliceOp.name,
    stablehlo.TransposeOp.name,
)


def fold_widened_operands(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """An op that moves elements of a wider type moves those that are converted to it."""
    values = operands_of(op)
    converts = [folding.producer(value, _CONVERT) for value in values]
    source = next((operands_of(each)[0] for each in converts if each is not None), None)
    if source is None or not folding.is_static(source, *op.results):
        return None
    element = element_of(source)
    if not _is_narrower(element, element_of(op.results[0])):
        return None
    sources = [*_sources(op, converts, element, splats)]
    if len(sources) < len(values):
        return None
    operands = [
        each if isinstance(each, SSAValue) else StablehloBuilder(before=op).dense(resized(source, ()), each)
        for each in sources
    ]
    moved = _moved(op, op, operands)
    return folding.make(op, "convert", [moved], {})


def fold_narrowed_result(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A conversion to a narrower type of what moves elements is one of these."""
    (value,), element = operands_of(op), element_of(op.results[0])
    mover = value.owner
    if not isinstance(mover, Operation) or mover.name not in _MOVES or not _is_movable(value):
        return None
    if not folding.is_static(value, *operands_of(mover)) or not _is_narrower(element, element_of(value)):
        return None
    build = StablehloBuilder(before=op)
    return _moved(mover, op, [build.convert(each, element) for each in operands_of(mover)])


def _sources(
    op: Operation, converts: list[Operation | None], element: Attribute, splats: folding.Splats
) -> Iterator[SSAValue | bytes]:
    """The value that each operand was converted from, or the bytes of a constant; fewer if one is neither."""
    for value, convert in zip(operands_of(op), converts, strict=True):
        if convert is not None:
            (source,) = operands_of(convert)
            if element_of(source) == element and _is_movable(value):
                yield source
        elif not folding.sizes_of(value) and isinstance(value.owner, Operation) and is_constant(value.owner):
            data = splats.of(value)
            narrow = None if data is None else _narrowed(data, element_of(value), element)
            if narrow is not None:
                yield narrow


def _is_movable(value: SSAValue) -> bool:
    """True if one op alone uses a value, and the sharding of it is not fixed."""
    is_free = isinstance(value.owner, Operation) and SHARDING not in value.owner.attributes
    return is_free and len({id(use.operation) for use in value.uses}) == 1


def _moved(mover: Operation, before: Operation, operands: list[SSAValue]) -> SSAValue:
    """The result of an op like a mover on operands of another type, before an op."""
    type_ = resized(operands[0], folding.sizes_of(mover.results[0]))
    name = mover.name.removeprefix("stablehlo.")
    return folding.make(before, name, operands, dict(mover.properties), type_)


def _is_narrower(narrow: Attribute, wide: Attribute) -> bool:
    return element_type(str(narrow)).is_narrower_than(element_type(str(wide)))


def _narrowed(data: bytes, wide: Attribute, narrow: Attribute) -> bytes | None:
    """The bytes of an element in a narrower type; None if that cannot hold it."""
    number = folding.number_of(data, wide)
    if number is None or (not isfinite(number) and is_integral(narrow)):
        return None
    if is_integral(narrow):
        held = store_integer(int(number), narrow)
    elif (format_ := FORMATS.get(getattr(narrow, "name", ""))) is not None:
        held = format_.encode(number).to_bytes(element_size(narrow), "little")
    else:
        return None
    return held if folding.number_of(held, narrow) == number else None


CONVERT_FOLDS: dict[str, tuple[folding.Fold, ...]] = {
    **dict.fromkeys(_MOVES, (fold_widened_operands,)),
    _CONVERT: (fold_narrowed_result,),
}
"""The folds that XLA:TPU tries after the others, which move conversions the other way."""
