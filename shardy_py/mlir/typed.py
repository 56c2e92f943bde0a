"""Parts of ops, types and values with the classes that verified programs give them.

xDSL types the properties of an op as attributes; which class a property has follows from the op's definition,
which the verifier has checked. These functions ask for that class; another one is an internal error.

Not here: attributes as plain values (`plain.py`), whole ops (`record.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    ContainerType,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.errors import InternalError
from shardy_py.mlir.plain import plain

Kind = TypeVar("Kind")


def of_kind(thing: object, kind: type[Kind]) -> Kind:
    """Returns the thing, which has that class. Raises `InternalError` if it does not."""
    if not _is_of_kind(thing, kind):
        raise InternalError(f"expected {kind.__name__}, got {type(thing).__name__}")
    return thing


def _is_of_kind(thing: object, kind: type[Kind]) -> TypeGuard[Kind]:
    return _is_subclass(thing.__class__, kind)


@lru_cache(maxsize=4096)
def _is_subclass(own: type, kind: type) -> bool:
    """The answer of `issubclass`, which takes longer for xDSL's classes, as those have abstract methods."""
    return issubclass(own, kind)


def property_of(op: Operation, name: str, kind: type[Kind]) -> Kind:
    """Returns a property of an op that is always given."""
    return of_kind(op.properties[name], kind)


def integer_of(op: Operation, name: str) -> int:
    """Returns the value of an integer property."""
    return property_of(op, name, IntegerAttr).value.data


def integers_of(op: Operation, name: str) -> tuple[int, ...]:
    """Returns the elements of a property `array<i64: ...>`."""
    return tuple(plain(op.properties[name]))


def text_of(op: Operation, name: str) -> str:
    """Returns the value of a string property."""
    return property_of(op, name, StringAttr).data


def function_type_of(function: Operation) -> FunctionType:
    """Returns the type of a function."""
    return property_of(function, "function_type", FunctionType)


def dictionaries_of(function: Operation, name: str) -> tuple[DictionaryAttr, ...]:
    """Returns the attributes of each argument or result of a function, named `arg_attrs` or `res_attrs`."""
    given = function.properties.get(name)
    return () if given is None else dictionaries_in(given)


def dictionaries_in(given: Attribute) -> tuple[DictionaryAttr, ...]:
    """Returns the dictionaries in an array of them."""
    return tuple(of_kind(each, DictionaryAttr) for each in of_kind(given, ArrayAttr).data)


def dictionary_at(given: Attribute, index: int) -> DictionaryAttr:
    """Returns one dictionary in an array of them, in constant time. Raises `IndexError` beyond its end."""
    return of_kind(of_kind(given, ArrayAttr).data[index], DictionaryAttr)


def element_type_of(type_: Attribute) -> Attribute:
    """Returns the type of the elements of a tensor, vector or complex type."""
    return of_kind(type_, ContainerType).get_element_type()


def type_of_elements(attribute: Attribute) -> Attribute:
    """Returns the type of elements `dense<...> : type` or `dense_resource<...> : type`."""
    return of_kind(getattr(attribute, "type", None), Attribute)


def op_of(value: SSAValue) -> Operation:
    """Returns the op whose result a value is. Raises `InternalError` for an argument of a block."""
    return of_kind(value, OpResult).op


def index_of(value: SSAValue) -> int:
    """Returns the position of a value among the results of its op, or the arguments of its block."""
    return (value if isinstance(value, OpResult) else of_kind(value, BlockArgument)).index
