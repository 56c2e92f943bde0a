"""The parts of folds: new ops in place of others, properties of values, and the values that are known.

    splats = Splats()
    splats.of(value)         the bytes of the element, as in dense attributes; None if it is not known

Integers are computed with, floats are only moved. Not here: the folds (`folds.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue

from shardy_py.base.deferred import np
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.traits import is_constant_class
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import build_operation, operands_of, place_before, type_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.text.builtin_attributes import is_dense, is_integral
from shardy_py.mlir.text.dense import (
    element_size,
    elements_type,
    is_splat,
    load_integer,
    make_dense,
    store_integer,
)
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.ops import TABLE
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_rule

_ARRAYS: dict[tuple[int, ...], Attribute] = SESSION.table("arrays of i64")


class FillRule(Enum):
    """The rule for the element that fills the result of an op."""

    UNKNOWN = 0
    CONSTANT = 1
    MOVED = 2
    COMPUTED = 3


@lru_cache(maxsize=4096)
def _way(op_class: type[Operation]) -> FillRule:
    if is_constant_class(op_class):
        return FillRule.CONSTANT
    row = TABLE[op_class.name]
    if row.moves_elements:
        return FillRule.MOVED
    return FillRule.COMPUTED if row.is_folded and row.is_elementwise else FillRule.UNKNOWN


class Splats:
    """The known elements, by the identity of the value.

    Values must be asked for in program order, or recursion goes as deep as constants depend on each other.
    """

    def __init__(self) -> None:
        self._elements: dict[int, tuple[SSAValue, bytes | None]] = {}

    def of(self, value: SSAValue) -> bytes | None:
        """The bytes of the element that fills `value`."""
        entry = self._elements.get(id(value))
        if entry is not None:
            return entry[1]
        # Faster than isinstance: an ABC.
        element = self._element(value.op) if type(value) is OpResult else None
        self._elements[id(value)] = (value, element)
        return element

    def forget(self, value: SSAValue) -> None:
        """Makes the next question about `value` look at it again: its operands have changed."""
        self._elements.pop(id(value), None)

    def integer(self, value: SSAValue) -> int | None:
        """The integer that fills `value`."""
        data = self.of(value)
        if data is None:
            return None
        element = _element_type(value)
        return load_integer(data, element) if is_integral(element) else None

    def is_number(self, value: SSAValue, number: int) -> bool:
        """Returns whether this real number fills `value`."""
        data = self.of(value)
        if data is None:
            return False
        return number_of(data, _element_type(value)) == number

    def _element(self, op: Operation) -> bytes | None:
        match _way(op.__class__):
            case FillRule.CONSTANT:
                return _splat(op.properties["value"])
            case FillRule.MOVED:
                return self.of(operands_of(op)[0])
            case FillRule.COMPUTED:
                numbers: list[int] = []
                for operand in operands_of(op):
                    number = self.integer(operand)
                    if number is None:
                        return None
                    numbers.append(number)
                return computed(op, numbers)
            case FillRule.UNKNOWN:
                return None


def computed(op: Operation, numbers: Sequence[int]) -> bytes | None:
    """Returns the result's element for these elements of the operands, or None unless all are integers."""
    from shardy_py.ops.compute import compute_of  # many modules, needed for few programs

    record, element = record_of(op), _element_type(op.results[0])
    types = [_element_type(value) for value in (*op.results, *operands_of(op))]
    if not all(is_integral(type_) and element_size(type_) <= 8 for type_ in types):
        return None
    operands = [
        np.array([number], element_type(str(type_)).dtype)
        for number, type_ in zip(numbers, types[1:], strict=True)
    ]
    return store_integer(int(compute_of(record)(record, *operands)[0]), element)


def number_of(data: bytes, element: Attribute) -> float | None:
    """The number that the bytes of an element are; None for others than integers and floats."""
    if is_integral(element):
        return load_integer(data, element)
    name = getattr(element, "name", None)
    return _real(name, data) if name in FORMATS else None


@SESSION.cache(4096)
def _real(format_name: str, data: bytes) -> float:
    return FORMATS[format_name].to_float(int.from_bytes(data, "little"))


def _element_type(value: SSAValue) -> Any:
    return getattr(value.type, "element_type", None)


def _splat(attribute: object) -> bytes | None:
    if not is_dense(attribute) or not attribute.data.data or not is_splat(attribute):
        return None
    return attribute.data.data[: element_size(elements_type(attribute)[1])]


Fold = Callable[[Operation, Splats], SSAValue | None]
"""Returns what replaces the result of an op, None if it does not fold; may put new ops before it."""


def make(
    op: Operation,
    name: str,
    operands: Sequence[SSAValue],
    properties: dict[str, Attribute],
    type_: Attribute | None = None,
) -> SSAValue:
    """The result of a new op before `op`, of the type of its result by default, with its attributes.

    Not with a rule, which is that of the old op.
    """
    types, attributes = [type_ or op.results[0].type], _without_rule(op)
    new = build_operation(op_class(name), operands, types, properties, attributes, op.location)
    place_before(new, op)
    return new.results[0]


def resized_elementwise(
    op: Operation, operands: Sequence[SSAValue], type_: Attribute, before: Operation
) -> SSAValue:
    """The result of an elementwise op like `op`, on tensors of another shape, before an op."""
    properties, attributes = dict(op.properties), _without_rule(op)
    new = build_operation(type(op), operands, [type_], properties, attributes, op.location)
    place_before(new, before)
    if RULE in op.attributes:
        populate_rule(new)
    return new.results[0]


def _without_rule(op: Operation) -> dict[str, Attribute]:
    return {name: value for name, value in op.attributes.items() if name != RULE}


def make_constant(op: Operation, data: bytes) -> SSAValue:
    """The result of a constant with these bytes, of the type of the result of `op`, with its attributes."""
    return make(op, "constant", (), {"value": make_dense(op.results[0].type, data)})


def constant_before(op: Operation, type_: Attribute, data: bytes) -> SSAValue:
    """The result of a constant of that type and these bytes before `op`."""
    value: dict[str, Attribute] = {"value": make_dense(type_, data)}
    constant = build_operation(op_class("constant"), (), (type_,), value, {}, op.location)
    place_before(constant, op)
    return constant.results[0]


def narrowed(
    op: Operation, operands: Sequence[int], results: Sequence[int], regions: Sequence[Region] = ()
) -> Operation:
    """An op like `op` with the operands and results at these indices only, and these regions; not placed."""
    return build_operation(
        type(op),
        [operands_of(op)[index] for index in operands],
        [op.results[index].type for index in results],
        dict(op.properties),
        dict(op.attributes),
        op.location,
        regions=regions,
    )


def reshaped(op: Operation, source: SSAValue) -> SSAValue:
    """`source` as the result of `op`: itself, or a reshape of it."""
    return source if source.type == op.results[0].type else make(op, "reshape", [source], {})


def integers(values: Sequence[int]) -> Attribute:
    """An array of `i64`, one object for equal ones."""
    key = tuple(values)
    known = _ARRAYS.get(key)
    if known is None:
        known = _ARRAYS.setdefault(key, cast(Attribute, DenseArrayBase.from_list(i64, key)))
    return known


def producer(value: SSAValue, name: str) -> Operation | None:
    """The op of that name that defines `value`."""
    return value.op if type(value) is OpResult and value.op.name == name else None  # faster than isinstance


def sizes_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor for which `is_static` holds; () for other types."""
    tensor = tensor_type(type_of(value))
    return () if tensor is None else cast("tuple[int, ...]", tensor.shape)


def is_static(*values: SSAValue) -> bool:
    """Returns whether these are tensors without dynamic sizes."""
    for value in values:
        tensor = tensor_type(type_of(value))
        if tensor is None or None in tensor.shape:
            return False
    return True


def same_type(op: Operation) -> bool:
    """Returns whether the result of `op` has the type of its first operand."""
    (result,), source = op.results, next(iter(operands_of(op)))
    return type_of(source) is type_of(result) or type_of(source) == type_of(result)
