"""Shardings of tuples, split into those of their leaves. Not here: what they mean (`xla/hlo_sharding/`).

>>> leaf_shardings("{{replicated}, {devices=[2]<=[2]}}", 2), leaf_shardings("{replicated}", 2)
(('{replicated}', '{devices=[2]<=[2]}'), ('{replicated}', '{replicated}'))
"""

from __future__ import annotations

import re

from shardy_py.base.errors import ShardyError

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def leaf_shardings(text: str, count: int) -> tuple[str, ...]:
    """Returns the sharding of each leaf of a value of `count`; empty texts if it has none.

    Raises:
        ShardyError: the tuple has another number of elements.
    """
    text = _COMMENT.sub("", text).strip()
    if not text.startswith("{{") and not (text.startswith("{") and text[1:].lstrip().startswith("{")):
        return (text,) * count
    inner = text[1 : text.rfind("}")]
    found, depth, start = list[str](), 0, 0
    for at, mark in enumerate(inner):
        if mark == "{":
            start = at if not depth else start
            depth += 1
        elif mark == "}":
            depth -= 1
            if not depth:
                found.append(inner[start : at + 1])
    if len(found) != count:
        raise ShardyError.unexpected("sharding", expected=f"those of {count} values", got=f"{len(found)}")
    return tuple(found)
