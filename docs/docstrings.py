"""Docstrings as reStructuredText: they are written to be read in an editor, with the marks of Markdown.

`code` in single backticks, indented examples, tables of `|`, `field: meaning` lines become what Sphinx shows
as such; anything else is a paragraph, whatever characters are in it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator

_NAMES = r"[a-z_]\w*(?:, [a-z_]\w*)*"
_FIELD = re.compile(rf"(?P<names>{_NAMES}): (?P<text>.*)")
_NEXT = re.compile(rf"(?<=[.;]) (?={_NAMES}: |Raises )")
"""Where a sentence about a field ends, and one about the next field, or about errors, begins."""
_CODE = re.compile(r"`([^`]+)`(\w?)")
_SPECIAL = re.compile(r"([\\*|_]|(?<=\w)[:@](?=\w))")
"""What Sphinx takes for marks; `:` and `@` between letters, for an address."""


def to_restructured_text(lines: list[str], fields: Collection[str]) -> None:
    """Rewrite the lines of a docstring in place; `fields`: the names that `field: meaning` may be about."""
    lines[:] = [line for block in _blocks(lines) for line in (*_rewritten(block, fields), "")]


def fields_of(subject: object) -> Collection[str]:
    """The parameters of a function, the fields and attributes of a class; nothing else has any."""
    if not callable(subject):
        return ()
    try:
        names = {*inspect.signature(subject).parameters}
    except ValueError:
        names = set[str]()
    return names | {*dir(subject), *inspect.get_annotations(subject)} if isinstance(subject, type) else names


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines without blank ones; an example and the paragraph before it are two."""
    block: list[str] = []
    for line in lines:
        ends = not line.strip() or (line.startswith(">>>") and block and not block[0].startswith(">>>"))
        if ends and block:
            yield block
            block = []
        if line.strip():
            block.append(line)
    if block:
        yield block


def _rewritten(block: list[str], fields: Collection[str]) -> Iterator[str]:
    if block[0].startswith(">>>"):
        yield from block
    elif block[0].startswith((" ", "|")):
        yield from ("::", "", *(f"    {line}" for line in block))
    elif block[0].startswith("- "):
        yield from _items(block, "- ")
    else:
        yield from _paragraph(block, fields)


def _paragraph(block: list[str], fields: Collection[str]) -> Iterator[str]:
    """A paragraph; from the first line `field: meaning` on, a list of fields."""
    first = next((n for n, line in enumerate(block) if _is_field(line, fields)), len(block))
    if first:
        yield from (_inline(" ".join(line.strip() for line in block[:first])), "")
    for text in _sentences(" ".join(line.strip() for line in block[first:]), fields):
        field = _FIELD.fullmatch(text) if _is_field(text, fields) else None
        names = "" if field is None else ", ".join(f"`{name}`" for name in field["names"].split(", "))
        yield _inline(text) if field is None else _inline(f"- {names}: {field['text']}")
        yield ""


def _sentences(text: str, fields: Collection[str]) -> list[str]:
    """What is said of each field, and of errors."""
    found: list[str] = []
    for part in filter(None, _NEXT.split(text)):
        if not found or part.startswith("Raises ") or _is_field(part, fields):
            found.append(part)
        else:
            found[-1] += f" {part}"
    return found


def _is_field(text: str, fields: Collection[str]) -> bool:
    found = _FIELD.fullmatch(text)
    return found is not None and any(name in fields for name in found["names"].split(", "))


def _items(block: list[str], mark: str) -> Iterator[str]:
    item = ""
    for line in (*block, mark):
        if line.startswith(mark) and item:
            yield _inline(item)
            item = ""
        item += (" " if item else "") + line.strip()


def _inline(text: str) -> str:
    """Code as literals; characters that Sphinx would take for marks as themselves."""
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [_SPECIAL.sub(r"\\\1", text[end : code.start()]), f"``{code[1]}``"]
        # A literal ends where no letter follows it: "`NamedSharding`s".
        parts += [f"\\ {code[2]}" if code[2] else ""]
        end = code.end()
    return "".join((*parts, _SPECIAL.sub(r"\\\1", text[end:])))
