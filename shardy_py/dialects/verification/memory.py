"""Signatures of ops verified before in this session, made of numbers that equal attributes share.

Attributes are looked up by identity first, new objects by structure.
The tables belong to the session (`session.py`), which bounds them.

>>> from xdsl.dialects.builtin import StringAttr
>>> canonical(StringAttr("a")) == canonical(StringAttr("a"))
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, Region

from shardy_py.ir import operands_of
from shardy_py.session import SESSION

_by_identity: dict[int, tuple[Attribute, int]] = SESSION.table("verified attributes by identity")
_by_structure: dict[Attribute, int] = SESSION.table("verified attributes")
SOUND: dict[tuple[Any, ...], None] = SESSION.table("verified signatures")
"""The signatures known to be sound, made of `canonical` numbers."""


def canonical(attribute: Attribute | None) -> int:
    """A number that equal attributes share; the attribute is kept alive."""
    if attribute is None:
        return -1
    entry = _by_identity.get(id(attribute))
    if entry is None:
        number = _by_structure.setdefault(attribute, len(_by_structure))
        entry = _by_identity[id(attribute)] = (attribute, number)
    return entry[1]


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
