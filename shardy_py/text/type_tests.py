"""Type guards for attributes; `isinstance` loses type parameters in the eyes of a type checker."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeIs
from xdsl.dialects.builtin import ComplexType, IndexType, IntegerType


def is_integer(type_: object) -> TypeIs[IntegerType]:
    """Whether a type is an integer type of any width."""
    return isinstance(type_, IntegerType)


def is_integral(type_: object) -> TypeIs[IntegerType | IndexType]:
    """Whether a type is an integer type or `index`."""
    return isinstance(type_, IntegerType | IndexType)


def is_complex(type_: object) -> TypeIs[ComplexType[Any]]:
    """Whether a type is a complex type."""
    return isinstance(type_, ComplexType)
