"""Other numbers: constants, divisors, ops, roundings, truncations, initial values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.builtin import bf16 as bf16_type
from xdsl.dialects.builtin import f16 as f16_type
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir.ir import (
    operands_of,
    type_of,
)
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of
from shardy_py.mlir.text.dense import make_dense
from shardy_py.ops.compute import Array
from shardy_py.run.interpret.constants import constant_array
from shardy_py.run.interpret.inputs import dtype_of
from tests.run.proof.mutations.edits import (
    Make,
    Site,
    after,
    at_operand,
    instead,
    is_float,
    is_integer,
    is_number,
    ops,
    ops_with_one_result,
    plus,
    renamed,
    shape,
    splat,
    tensor,
)

OTHERS = {
    "add": ("subtract", "maximum"),
    "subtract": ("add",),
    "multiply": ("add", "divide"),
    "divide": ("multiply", "remainder"),
    "maximum": ("minimum", "add"),
    "minimum": ("maximum",),
    "ceil": ("floor",),
    "cosine": ("sine",),
    "exponential_minus_one": ("exponential",),
    "floor": ("ceil", "round_nearest_even"),
    "log": ("log_plus_one",),
    "log_plus_one": ("log",),
    "round_nearest_afz": ("round_nearest_even",),
    "round_nearest_even": ("round_nearest_afz", "floor"),
    "shift_left": ("shift_right_logical",),
    "shift_right_arithmetic": ("shift_right_logical",),
    "shift_right_logical": ("shift_right_arithmetic",),
    "sign": ("abs",),
    "sine": ("cosine",),
    "sqrt": ("rsqrt", "cbrt"),
    "and": ("or",),
    "or": ("and",),
    "xor": ("or",),
    "remainder": ("divide",),
    "tanh": ("logistic", "negate"),
    "logistic": ("tanh",),
    "exponential": ("exponential_minus_one", "abs"),
    "rsqrt": ("sqrt",),
    "negate": ("abs",),
    "abs": ("negate",),
}
"""Ops with the operands and types of another one."""

ROUNDED = (
    "add",
    "all_gather",
    "all_reduce",
    "broadcast_in_dim",
    "collective_permute",
    "convolution",
    "dot",
    "dot_general",
    "dynamic_slice",
    "exponential",
    "gather",
    "multiply",
    "pad",
    "reduce",
    "select",
    "slice",
    "tanh",
)


def divisors(module: ModuleOp) -> Iterator[Site]:
    """A divisor is one more, or twice as large."""
    for op in ops(module, "divide", "remainder"):
        if is_number(operands_of(op)[1]):
            yield Site(op, "divisor +1", partial(at_operand, op, 1, plus(1)))
            yield Site(op, "divisor doubled", partial(at_operand, op, 1, _doubled))


def _doubled(build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.binary("add", value, value)


def constants(module: ModuleOp) -> Iterator[Site]:
    """One element of a constant is another number."""
    for op in ops(module, "constant"):
        size = int(np.prod(shape(op.results[0])))
        for at in sorted({0, size // 2, size - 1} if size else ()):
            yield Site(op, f"element {at}", partial(_set_element, op, at))


def _set_element(op: Operation, at: int) -> None:
    (result,) = op.results
    dtype = dtype_of(tensor(result))
    array = _elements(op).reshape(-1)
    value = array[at]
    if dtype == np.bool_:
        array[at] = not value
    elif np.isfinite(np.asarray(value).astype(np.complex128)):
        with np.errstate(over="ignore"):
            array[at] = (np.asarray(value) + np.asarray(1, dtype)).astype(dtype)
    else:
        array[at] = np.asarray(0, dtype)
    _set_elements(op, array)


def other_constants(module: ModuleOp) -> Iterator[Site]:
    """All elements of a constant are negated, finite instead of infinite, or changed in their last bit."""
    for op in ops(module, "constant"):
        array = _elements(op)
        for what, others in _other_elements(array) if array.size else ():
            if not np.array_equal(others, array):
                yield Site(op, f"{what} elements", partial(_set_elements, op, others))


def _other_elements(array: Array) -> Iterator[tuple[str, Array]]:
    if array.dtype.kind in "iu":
        with np.errstate(over="ignore"):
            yield "negated", -array
            yield "neighbouring", array - array.dtype.type(1)
    elif array.dtype.kind == "f":
        limits = np.finfo(array.dtype)
        yield "negated", np.where(array == 0, array, -array)
        yield "finite", np.clip(array, limits.min, limits.max)
        yield "neighbouring", np.nextafter(array, np.array(0, array.dtype))


def _elements(op: Operation) -> Array:
    return np.broadcast_to(constant_array(op)[0], shape(op.results[0])).copy()


def _set_elements(op: Operation, array: Array) -> None:
    op.properties["value"] = make_dense(type_of(op.results[0]), array.tobytes())


def operations(module: ModuleOp) -> Iterator[Site]:
    """Another op of the same operands."""
    for name, others in OTHERS.items():
        for op in ops(module, name):
            for other in others:
                is_boolean = tensor(op.results[0]).element == "i1"
                if is_boolean <= (other in ("and", "or", "xor")):
                    yield Site(op, f"becomes {other}", partial(renamed, op, other))


def roundings(module: ModuleOp) -> Iterator[Site]:
    """A value is rounded to a narrower type and back."""
    for op in ops(module, *ROUNDED):
        (result, *_) = op.results
        element = tensor(result).element
        narrow = {"bf16": bf16_type, "f16": f16_type} if element in ("f32", "f64") else {}
        for name, type_ in narrow.items():
            yield Site(op, f"rounded to {name}", partial(after, result, partial(_rounded, type_)))
    for op in ops(module, "convert"):
        (inner,), (result,) = operands_of(op), op.results
        if isinstance(inner, OpResult) and inner.op.name == op.name and is_float(inner):
            (value,) = operands_of(inner.op)
            if type_of(value) == type_of(result):
                yield Site(op, f"not rounded to {tensor(inner).element}", partial(instead, op, value))


def truncations(module: ModuleOp) -> Iterator[Site]:
    """Integers pass a narrower type, or one with the other sign."""
    for op in ops_with_one_result(module):
        (result,) = op.results
        if is_integer(result):
            width = int(tensor(result).element.lstrip("ui"))
            narrow = (8, 16) if tensor(result).element[0] == "i" else (8,)
            for bits in narrow:
                if bits < width:
                    type_ = IntegerType(bits)
                    yield Site(op, f"through i{bits}", partial(after, result, partial(_rounded, type_)))


def _rounded(type_: Attribute, build: StablehloBuilder, value: SSAValue) -> SSAValue:
    return build.convert(build.convert(value, type_), element_of(value))


def initial_values(module: ModuleOp) -> Iterator[Site]:
    """A reduction begins with another number."""
    for op in ops(module, "reduce", "reduce_window", "select_and_scatter"):
        count = len(operands_of(op))
        first = 2 if op.name.endswith("select_and_scatter") else count // 2
        for index in range(first, count):
            value = operands_of(op)[index]
            for number in (1, -2) if is_number(value) else ():
                what = f"initial value {number}"
                yield Site(op, what, partial(at_operand, op, index, _number(number)))


def _number(number: float) -> Make:
    return lambda build, value: splat(build, value, number)


VALUES = {
    "divisor": divisors,
    "constant": constants,
    "constants": other_constants,
    "operation": operations,
    "rounding": roundings,
    "truncation": truncations,
    "initial value": initial_values,
}
