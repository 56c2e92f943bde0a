"""Faults of rules, and the words of their messages.

>>> listed((2, None)), size_text(None)
('2, -9223372036854775808', '?')
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.text.attribute_writer import attribute_text


def fail(message: str) -> NoReturn:
    """Raises `Fault` with a message that stands alone, without the op's name in front."""
    raise Fault(message, is_plain=True)


def require(holds: bool, message: str) -> None:
    """Raises `Fault` with `message` unless the rule `holds`; for messages that cost nothing."""
    if not holds:
        fail(message)


def size_text(size: int | None) -> str:
    """`8` or `?`."""
    return "?" if size is None else str(size)


def raw(size: int | None) -> int:
    """A size in MLIR's encoding, which has a number for dynamic sizes."""
    return DYNAMIC_INDEX if size is None else size


def listed(values: Iterable[int | None]) -> str:
    """`2, 3`, with MLIR's number for dynamic sizes."""
    return ", ".join(str(raw(value)) for value in values)


def quoted(*types: Attribute | None, joint: str = ", ") -> str:
    """`'tensor<8xf32>', 'tensor<f32>'`; None is left out."""
    return joint.join(f"'{attribute_text(type_)}'" for type_ in types if type_ is not None)


def require_distinct(numbers: object, name: str, other: str) -> None:
    """No dimension occurs twice in two lists of dimension numbers, which are given by their names."""
    seen: set[int] = set()
    for dimension in (*getattr(numbers, name), *getattr(numbers, other)):
        require(dimension not in seen, f"has duplicated dimension from {name} and {other}: {dimension}")
        seen.add(dimension)
