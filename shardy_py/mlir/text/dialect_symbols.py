"""Reads `#dialect.name<...>` and `!dialect.name<...>`: through the syntax table, or kept as text.

Attributes of dialects are memoised by their text: equal text gives the same object, which the memo tables of
later stages rely on for speed (never for correctness).

Not here: builtin attributes (`attribute_reader.py`) and types (`type_reader.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from xdsl.dialects.builtin import UnregisteredAttr
from xdsl.ir import Attribute

from shardy_py.base.session import SESSION
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.syntax import DialectSyntax

Kind = Literal["attributes", "types"]

_FLAT = r'[^<>"/]*+(?>(?:"[^"\\\n]*+"[^<>"/]*+)*)'
DEEP = rf"{_FLAT}(?>(?:<{_FLAT}(?>(?:<{_FLAT}>{_FLAT})*)>{_FLAT})*)"
"""Text between the brackets of a symbol, brackets two deep; without `/`, which begins comments."""
_CANDIDATE = re.compile(rf"[#!][\w$.]++<{DEEP}>")
"""The likely extent of a dialect attribute, brackets three deep: the key of the memo."""

_PUNCTUATION = re.compile(r'->|[<>(){}\[\]"\0]')
_CLOSES = {">": "<", ")": "(", "]": "[", "}": "{"}
_SIMPLE = re.compile(r"[A-Za-z][\w.]*+(?:<.*>)?\Z", re.ASCII | re.DOTALL)
_MEMO_LENGTH = 80
_PART = 16
"""The characters of a text that count as one part of its entry in the memo."""


def read_dialect_symbol(cursor: Cursor, kind: Kind) -> Attribute:
    """`#dialect.mnemonic<...>`, `#dialect<mnemonic ...>` and the same with `!`."""
    match = _CANDIDATE.match(cursor.text, cursor.offset)
    memo = cursor.syntax.by_text if cursor.syntax else {}
    if match is not None and (found := memo.get(match[0])) is not None:
        cursor.move_to(match.end())
        return found
    start = cursor.offset
    made = _registered(cursor, kind) or _unregistered_symbol(cursor, kind)
    end = cursor.previous_end
    text = cursor.text[start:end]
    mentions_alias = "#" in text[1:] or "!" in text[1:]
    if not mentions_alias and (match[0] == text if match is not None else len(text) < _MEMO_LENGTH):
        SESSION.charge(len(text) // _PART)
        return memo.setdefault(text, made)
    return made


def _registered(cursor: Cursor, kind: Kind) -> Attribute | None:
    """An attribute or type of a dialect in the table; None if the dialect is not there."""
    token, start = cursor.token, cursor.offset
    dialect_name, _, mnemonic = token[1:].partition(".")
    dialect = _dialect(cursor, dialect_name)
    if dialect is None or dialect.is_opaque:
        return None
    table = dialect.types if kind == "types" else dialect.attributes
    unknown = dialect.unknown_type if kind == "types" else dialect.unknown_attribute
    if mnemonic:
        syntax = table.get(mnemonic) or dialect.enclosed.get(mnemonic)
        if syntax is None:
            cursor.error(unknown.format(mnemonic, dialect_name), start + len(dialect_name) + 2)
        cursor.advance()
        return syntax.read(cursor)
    cursor.advance()
    cursor.expect("<")
    name = cursor.token
    syntax = dialect.enclosed.get(name) or table.get(name)
    if syntax is None:
        cursor.error(unknown.format(name, dialect_name))
    cursor.advance()
    made = syntax.read(cursor)
    cursor.expect(">")
    return made


def _dialect(cursor: Cursor, name: str) -> DialectSyntax | None:
    if cursor.syntax is None:
        return None
    return cursor.syntax.dialects.get(name) or cursor.syntax.foreign.get(name)


def _unregistered_symbol(cursor: Cursor, kind: Kind) -> Attribute:
    """Keeps the text of an attribute or type whose dialect nobody registered."""
    name = cursor.token[1:]
    dialect, _, mnemonic = name.partition(".")
    start, end = cursor.offset, cursor.end
    has_body = cursor.text[end : end + 1] == "<"
    if not mnemonic and not has_body:
        cursor.advance()
        cursor.error(f"undefined symbol alias id '{name}'", cursor.previous_end)
    body = _body(cursor, end) if has_body else ""
    cursor.move_to(end + len(body))
    symbol = mnemonic + body if mnemonic else body[1:-1]
    registered = cursor.syntax.dialects.get(dialect) if cursor.syntax else None
    if not cursor.allow_unregistered and registered is None:
        shown = f'"{dialect}"<"{symbol}">'
        what = f"`!{shown}` type" if kind == "types" else f"#{shown} : 'none' attribute"
        cursor.error(
            f"{what} created with unregistered dialect. If this is intended, please call "
            "allowUnregisteredDialects() on the MLIRContext, or use -allow-unregistered-dialect with the "
            "MLIR opt tool used",
            start + len(dialect) + 2 if mnemonic else start,
        )
    if _SIMPLE.match(symbol):
        mnemonic, opening, rest = symbol.partition("<")
        return _make(f"{dialect}.{mnemonic}", kind, rest[:-1] if opening else "", is_opaque=False)
    return _make(dialect, kind, symbol, is_opaque=True)


def _make(name: str, kind: Kind, body: str, *, is_opaque: bool) -> Attribute:
    is_type = kind == "types"
    return unregistered_class(name, is_type)(name, is_type, is_opaque, body)


@lru_cache(maxsize=4096)
def unregistered_class(name: str, is_type: bool) -> type[UnregisteredAttr]:
    """The class of the attributes or types of that full name that are kept as text."""
    made = UnregisteredAttr.with_name_and_type(name, is_type)
    made.name = name
    return made


def _body(cursor: Cursor, start: int) -> str:
    """The text from the `<` at `start` to the bracket that closes it; strings are skipped whole."""
    open_brackets: list[str] = []
    place = at = start
    while match := _PUNCTUATION.search(cursor.text, at):
        found, at = match[0], match.end()
        if found == '"':
            cursor.move_to(match.start())
            place, at = cursor.offset, cursor.end
        elif found in _CLOSES:
            if open_brackets[-1] != _CLOSES[found]:
                break
            open_brackets.pop()
            if not open_brackets:
                return cursor.text[start:at]
        elif found == "\0":
            break
        elif found != "->":
            open_brackets.append(found)
    return cursor.error(f"unbalanced '{open_brackets[-1]}' character in pretty dialect name", place)
