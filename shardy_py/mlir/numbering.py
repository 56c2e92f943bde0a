"""Numbers that equal attributes share, the keys of tables about attributes and ops.

Objects are looked up by identity first, new ones by structure. Numbers are never reused. All objects get new
ones after the session's tables are emptied, as equal objects from before and after it would have others.
Not here: tables with such keys (`mlir/record.py`, `mlir/dialects/verification/walk.py`).

>>> from xdsl.dialects.builtin import StringAttr
>>> number_of(StringAttr("a")) == number_of(StringAttr("a"))
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import count
from math import inf
from typing import Any, cast

from xdsl.ir import Attribute, ParametrizedAttribute

from shardy_py.base.session import SESSION, Identities

LARGE_BYTES = 1 << 13
"""Attributes with more data have a number per object: the table would keep the data of all programs."""

_BY_IDENTITY: Identities[int] = SESSION.identities("attribute numbers by identity", refers_to_tables=True)
_BY_STRUCTURE: dict[Attribute, int] = SESSION.table("attribute numbers")
_NEW = count()


def number_of(attribute: Attribute | None) -> int:
    """A number that equal attributes share; -1 for None."""
    if attribute is None:
        return -1
    known = _BY_IDENTITY.get(id(attribute))
    return known[0] if known is not None else _BY_IDENTITY.remember(attribute, _number(attribute))


def _number(attribute: Attribute) -> int:
    size = data_bytes(attribute, limit=LARGE_BYTES)
    if size > LARGE_BYTES:
        return next(_NEW)
    known = _BY_STRUCTURE.get(attribute)
    if known is None:
        known = _BY_STRUCTURE.setdefault(attribute, next(_NEW))
        SESSION.charge(size // 32)
    return known


def data_bytes(attribute: Attribute, *, limit: float = inf) -> int:
    """The bytes that an attribute holds: characters, data, and references to its parts.

    limit: of what is counted; more than that is any number above it.
    """
    size, pending = 0, list[Any]([attribute])
    while pending and size <= limit:
        part = pending.pop()
        data: Any = part.parameters if _has_parameters(part.__class__) else getattr(part, "data", ())
        if data.__class__ is int:  # most leaves are; an ABC takes much longer to tell
            continue
        if isinstance(data, str | bytes):
            size += len(data)
        elif data.__class__ is tuple or isinstance(data, tuple | Mapping):
            parts = cast("Collection[Any]", data if isinstance(data, tuple) else data.values())
            size += 8 * len(parts)
            pending += parts
    return size


@lru_cache(maxsize=4096)
def _has_parameters(kind: type) -> bool:
    return issubclass(kind, ParametrizedAttribute)
