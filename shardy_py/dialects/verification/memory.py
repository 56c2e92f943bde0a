"""Signatures of ops verified before in this session, made of numbers that equal attributes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, Region

from shardy_py.ir import operands_of
from shardy_py.session import SESSION

SOUND: dict[tuple[Any, ...], None] = SESSION.table("verified signatures")
"""The signatures known to be sound, made of numbers (`numbering.py`)."""


def body_signature(region: Region, number: Callable[[Attribute], int] = id) -> tuple[Any, ...]:
    """The part of a region that verifiers of its op depend on: argument and result types, number of blocks.

    number: represents a type; its identity by default.
    """
    block = region.first_block
    if block is None:
        return ()
    last = block.last_op
    returned = operands_of(last) if last is not None else ()
    return (
        block.next_block is None,
        *[number(argument.type) for argument in block.args],
        last.__class__,
        *[number(value.type) for value in returned],
    )
