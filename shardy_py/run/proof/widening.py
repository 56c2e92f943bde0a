"""Programs with all floats as f64, and complex numbers of two f64, in place.

Rounding is then far below anything that a wrong element would cause, whatever the program's types are. What
depends on the width of a float keeps it: `bitcast_convert` works on the original type, between conversions.
`reduce_precision` passes its operand on: a rounding to fewer bits would turn the smallest differences into
large ones.

Not here: the bound on differences (`comparison.py: allowed`).
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, TypeAttribute

from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.ir import (
    blocks_of,
    erase,
    find_ops,
    operands_of,
    replace_operand,
    replace_uses,
    set_type,
    type_of,
    walk_pre_order,
)
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of
from shardy_py.mlir.text.builtin_attributes import is_dense
from shardy_py.mlir.text.dense import element_size, elements_type, is_splat, make_dense
from shardy_py.mlir.text.float_formats import FORMATS, Special
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.mlir.typed import element_type_of, of_kind, op_of
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.constants import array_of
from shardy_py.run.proof.correspondences import all_values

_BITCAST = op_class("bitcast_convert").name
_ROUNDING = op_class("reduce_precision").name


def can_widen(module: ModuleOp) -> bool:
    """Returns whether all types can be widened: quantized ones cannot."""
    return not any("!quant" in str(type_) for type_ in {type_of(value) for value in all_values(module)})


def widen(module: ModuleOp, *, keeps_roundings: bool = False) -> None:
    """Widens all floats of the module.

    keeps_roundings: whether `reduce_precision` and `bitcast_convert` stay, on f64.
    """
    types: dict[Attribute, Attribute] = {}
    bitcasts = [
        (op, element_of(operands_of(op)[0]), type_of(op.results[0])) for op in find_ops(module, _BITCAST)
    ]
    for op in list(walk_pre_order(module)):
        if op.name == _ROUNDING and not keeps_roundings:
            replace_uses(op.results[0], operands_of(op)[0])
            erase(op)
            continue
        for result in op.results:
            set_type(result, _wide(type_of(result), types))
        for block in blocks_of(op):
            for argument in block.args:
                set_type(argument, _wide(type_of(argument), types))
        for name, attribute in op.properties.items():
            if isinstance(attribute, builtin.FunctionType):
                op.properties[name] = _wide(attribute, types)
            elif is_dense(attribute):
                op.properties[name] = _wide_elements(attribute, types, is_exact=keeps_roundings)
    for op, element, type_ in () if keeps_roundings else bitcasts:
        _keep(op, element, type_)


def _keep(op: Operation, element: Attribute, type_: Attribute) -> None:
    """Lets a bitcast have the types that it had."""
    operand = operands_of(op)[0]
    build = StablehloBuilder(op)
    narrow = build.convert(operand, element)
    if narrow is not operand:
        replace_operand(op, 0, narrow)
    result = op.results[0]
    wide = type_of(result)
    if wide != type_:
        set_type(result, type_)
        following = op.next_op
        assert following is not None
        made = StablehloBuilder(following, location=op.location).convert(result, element_type_of(wide))
        replace_uses(result, made, but_not_in=op_of(made))


def _wide(type_: Attribute, types: dict[Attribute, Attribute]) -> Attribute:
    known = types.get(type_)
    if known is None:
        known = types[type_] = _widened(type_, types)
    return known


def _widened(type_: Attribute, types: dict[Attribute, Attribute]) -> Attribute:
    if getattr(type_, "name", "") in FORMATS:
        return builtin.f64
    match type_:
        case builtin.ComplexType():
            return builtin.ComplexType(builtin.f64)
        case builtin.TensorType():
            element = _wide(type_.element_type, types)
            if element == type_.element_type:
                return type_
            return ranked_tensor(tuple(type_.get_shape()), element, type_.encoding)
        case builtin.TupleType():
            inner = (of_kind(_wide(part, types), TypeAttribute) for part in type_.types.data)
            return builtin.TupleType(tuple(inner))
        case builtin.FunctionType():
            pairs = [[_wide(t, types) for t in part.data] for part in (type_.inputs, type_.outputs)]
            return builtin.FunctionType.from_lists(*pairs)
        case _:
            return type_


def _unbounded(array: Array, element: Attribute) -> Array:
    """The least and the largest number of a type without infinity as infinities: bounds of all its numbers.

    They stand for them where maxima begin, and where padding is masked.
    """
    form = FORMATS.get(getattr(element, "name", ""))
    if form is None or form.special is Special.IEEE:
        return array
    wide, largest = array.astype(np.float64), form.to_float(form.largest)
    least = 2.0**-form.bias if form.is_power else -largest
    return np.where(wide == largest, np.inf, np.where(wide == least, -np.inf, wide))


def _wide_elements(
    attribute: builtin.DenseIntOrFPElementsAttr, types: dict[Attribute, Attribute], *, is_exact: bool
) -> Attribute:
    _, element = elements_type(attribute)
    wide = _wide(element, types)
    if wide == element:
        return attribute
    if is_splat(attribute):
        data = attribute.data.data[: element_size(element)]
        attribute = make_dense(attribute.type, data)
        array = array_of(attribute).reshape(-1)[:1]
        if is_exact:
            array = _unbounded(array, element)
    else:
        array = array_of(attribute)
    dtype = np.complex128 if isinstance(wide, builtin.ComplexType) else np.float64
    return make_dense(_wide(attribute.type, types), np.ascontiguousarray(array.astype(dtype)).tobytes())
