"""Annotations as changes of MLIR text: attributes of arguments and results, constraints behind ops.

Places are found by brackets and names, in the forms that MLIR prints functions and ops in. What cannot be
placed so is not offered. Not here: which annotations are remedies (`check/`, `search/advice/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from xdsl.ir import BlockArgument

from shardy_py.base.records import dataclass
from shardy_py.lsp.facts import Key, ValueFact, definition_of, key_of
from shardy_py.lsp.names import NameIndex
from shardy_py.report.verdict import SuggestedSharding

_PART = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*+|->|[(){}\[\]<>,\n]|\battributes\b|\bloc\b')
_PAIRS = {"(": ")", "{": "}", "[": "]", "<": ">"}
_ATTRIBUTE = re.compile(r"\bsdy\.sharding\s*=\s*#sdy\.sharding\s*(?=<)")
_CONSTRAINT = re.compile(r"=\s*sdy\.sharding_constraint\s+%[\w.$#-]+\s+(?=<)")
_GOES_ON = re.compile(r"\s*(?:[:,{(<\[=]|->|loc\b|cond\b|do\b|init\b|reducer\b|across\b|attributes\b)")
_BLANKS = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class TextChange:
    """The text between two offsets, and what takes its place."""

    start: int
    end: int
    new: str


def edits_of(
    text: str, index: NameIndex, facts: Mapping[Key, ValueFact], annotations: Iterable[SuggestedSharding]
) -> tuple[TextChange, ...]:
    """Returns the changes that write annotations; () if the place of one is not found."""
    found = [_edit(text, index, facts, each) for each in annotations]
    known = [each for each in found if each is not None]
    return tuple(known) if len(known) == len(found) else ()


def _edit(
    text: str, index: NameIndex, facts: Mapping[Key, ValueFact], wanted: SuggestedSharding
) -> TextChange | None:
    if wanted.sharding is None:
        return None
    if wanted.role == "result":
        return _on_result(text, index, wanted, wanted.sharding)
    definition, key = definition_of(index, wanted.name), key_of(wanted.name)
    if definition is None or key is None:
        return None
    if wanted.role == "argument":
        colon = text.find(":", definition.end)
        return None if colon < 0 else _on_type(text, colon + 1, wanted.sharding)
    if (given := _CONSTRAINT.match(text, _BLANKS.match(text, definition.end).end())) is not None:  # pyright: ignore[reportOptionalMemberAccess]
        return TextChange(given.end(), _closing(text, given.end()), wanted.sharding)
    fact = facts.get(key)
    if fact is None or isinstance(fact.value.entry.value, BlockArgument):
        return None
    end = _statement_end(text, definition.end)
    start = text.rfind("\n", 0, definition.start) + 1
    indent = _BLANKS.match(text, start)
    name = _free_name(text, key[1])
    op = f"{name} = sdy.sharding_constraint {key[1]} {wanted.sharding} : {fact.type}"
    return TextChange(end, end, f"\n{indent[0] if indent else ''}{op}")


def _on_type(text: str, start: int, sharding: str) -> TextChange:
    """The change of an argument or result whose type starts at an offset."""
    at = _type_end(text, start)
    dictionary = _BLANKS.sub("", text[at : at + 80])[:1] == "{"
    attribute = f"sdy.sharding = #sdy.sharding{sharding}"
    if not dictionary:
        return TextChange(at, at, f" {{{attribute}}}")
    opening = text.index("{", at)
    closing = _closing(text, opening)
    given = _ATTRIBUTE.search(text, opening, closing)
    if given is not None:
        return TextChange(given.start(), _closing(text, given.end()), attribute)
    separator = ", " if text[opening + 1 : closing - 1].strip() else ""
    return TextChange(opening + 1, opening + 1, f"{attribute}{separator}")


def _on_result(text: str, index: NameIndex, wanted: SuggestedSharding, sharding: str) -> TextChange | None:
    function = index.symbols.get(f"@{wanted.function}")
    opening = -1 if function is None else text.find("(", function.end)
    arrow = re.compile(r"\s*->\s*").match(text, _closing(text, opening)) if opening >= 0 else None
    if arrow is None:
        return None
    if text[arrow.end() : arrow.end() + 1] != "(":
        end = _type_end(text, arrow.end())
        type_ = text[arrow.end() : end]
        changed = f"({type_} {{sdy.sharding = #sdy.sharding{sharding}}})"
        return TextChange(arrow.end(), end, changed) if wanted.index == 0 else None
    starts = [arrow.end() + 1]
    depth = 0
    for match in _PART.finditer(text, arrow.end() + 1, _closing(text, arrow.end()) - 1):
        depth += (match[0] in _PAIRS) - (match[0] in _PAIRS.values())
        starts += [match.end()] if match[0] == "," and depth == 0 else []
    return _on_type(text, starts[wanted.index], sharding) if wanted.index < len(starts) else None


def _type_end(text: str, start: int) -> int:
    """The offset behind a type: at what follows it outside of its brackets."""
    depth = 0
    for match in _PART.finditer(text, start):
        part = match[0]
        if depth == 0 and part in (",", ")", "{", "}", "attributes", "loc", "\n"):
            return start + len(text[start : match.start()].rstrip())
        depth += (part in _PAIRS) - (part in _PAIRS.values())
    return len(text)


def _closing(text: str, opening: int) -> int:
    """The offset behind the bracket that closes the one at an offset."""
    depth = 0
    for match in _PART.finditer(text, opening):
        depth += (match[0] in _PAIRS) - (match[0] in _PAIRS.values())
        if depth == 0:
            return match.end()
    return len(text)


def _statement_end(text: str, start: int) -> int:
    """The offset of the end of the line that an op ends on."""
    depth = 0
    for match in _PART.finditer(text, start):
        if match[0] == "\n" and depth == 0 and not _GOES_ON.match(text, match.end()):
            return match.start()
        depth += (match[0] in _PAIRS) - (match[0] in _PAIRS.values())
        if depth < 0:  # the end of the region, on the line of the op
            return match.start()
    return len(text)


def _free_name(text: str, name: str) -> str:
    """A name for the constraint on a value that the text does not have."""
    stem = f"%constraint_{re.sub(r'[^A-Za-z0-9_]', '_', name[1:])}"
    number = 0
    while re.search(rf"{re.escape(stem)}{number or ''}(?![\w.$-])", text):
        number += 1
    return f"{stem}{number or ''}"
