"""Attributes of instructions that collectives are read from, as typed values."""

from __future__ import annotations

from shardy_py.base.narrowing import is_sequence
from shardy_py.hlo.text import Instruction


def computation_names(instruction: Instruction, name: str) -> tuple[str, ...]:
    """Returns the names of the computations in an attribute; none if it has none."""
    value = instruction.attributes.get(name)
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if is_sequence(value) else ()


def integer_rows(instruction: Instruction, name: str) -> tuple[tuple[int, ...], ...]:
    """Returns the rows of integers in an attribute, as of groups, pairs or slices; none if it has none."""
    value = instruction.attributes.get(name)
    rows = value if is_sequence(value) else ()
    return tuple(tuple(each for each in row if isinstance(each, int)) for row in rows if is_sequence(row))
