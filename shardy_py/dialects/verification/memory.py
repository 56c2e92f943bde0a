"""What has been verified before in this process: signatures of ops, as numbers that equal attributes share.

An attribute's identity stands for it where it has been seen; one not seen is looked up by its structure.
Memory is bounded: when too much has been seen, all of it is forgotten.

>>> from xdsl.dialects.builtin import StringAttr
>>> canonical(StringAttr("a")) == canonical(StringAttr("a"))
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, Region

from shardy_py.ir import operands_of

_LIMIT = 200_000
_by_identity: dict[int, tuple[Attribute, int]] = {}
_by_structure: dict[Attribute, int] = {}
_sound: set[tuple[Any, ...]] = set()


def sound_signatures() -> set[tuple[Any, ...]]:
    """The signatures known to be sound, made of `canonical` numbers."""
    if len(_by_identity) > _LIMIT:
        _by_identity.clear()
        _by_structure.clear()
        _sound.clear()
    return _sound


def canonical(attribute: Attribute | None) -> int:
    """A number that equal attributes share; the attribute is kept alive."""
    if attribute is None:
        return -1
    known = _by_identity.get(id(attribute))
    if known is None:
        number = _by_structure.setdefault(attribute, len(_by_structure))
        known = _by_identity[id(attribute)] = (attribute, number)
    return known[1]


def body_signature(region: Region, number: Callable[[Attribute], int] = id) -> tuple[Any, ...]:
    """What a verifier of the op around may ask of a region: what it takes and returns, how many blocks.

    number: stands for each type; by identity unless given.
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
