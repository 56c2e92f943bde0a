"""`--verify-diagnostics`: checks diagnostics against the comments of the input that expect them.

    // expected-error@+1 {{operand #0 must be}}
    // expected-note-re@below {{defined {{here|there}}}}

A diagnostic is expected if severity and line agree and its message contains the text. Offsets: `@+n`, `@-n`
lines; `@above`, `@below`: the next line without such a comment; `@unknown`: no location.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shardy_py.base.errors import Diagnostic, Position, ShardyError, located
from shardy_py.base.records import dataclass
from shardy_py.cli.regular_expression import Regex

_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)? *+"
    r"(?:@(?P<offset>[+-][0-9]++|above|below|unknown) *+)?\{\{(?P<text>.*)\}\}$"
)
_OFFSET_DIGITS = 9
"""Digits of an offset that count; no file has as many lines."""


@dataclass(frozen=True, slots=True)
class CommentExpectation:
    """One comment.

    pattern: what the message contains; None: `text`.
    line: the line of the expected diagnostic; None: unknown (`@unknown`).
    comment: the position of the comment.
    """

    severity: str
    pattern: Regex | None
    text: str
    line: int | None
    comment: Position

    def accepts(self, diagnostic: Diagnostic) -> bool:
        """Returns whether `diagnostic` is the expected one."""
        line = diagnostic.where.line if diagnostic.where else None
        has_place = (self.severity, self.line) == (diagnostic.severity, line)
        message = diagnostic.message
        return has_place and (self.pattern.search(message) if self.pattern else self.text in message)


def read_expectations(text: str, file: str, first_line: int = 1) -> tuple[CommentExpectation, ...]:
    """The comments of a text, in order.

    Raises:
        ShardyError: the regular expression of a comment is invalid.
    """
    lines = enumerate(text.split("\n"), first_line)
    ending = ((number, line) for number, whole in lines if (line := whole.rstrip()).endswith("}}"))
    comments = {number: match for number, line in ending if (match := _COMMENT.search(line))}
    return tuple(_expectation(match, number, comments, file) for number, match in comments.items())


def _expectation(
    match: re.Match[str], number: int, comments: dict[int, re.Match[str]], file: str
) -> CommentExpectation:
    comment, text = Position(file, number, match.start() + 1), match["text"]
    with located(comment):
        pattern = _pattern(text) if match["regex"] else None
    return CommentExpectation(
        match["severity"], pattern, text, _target(match["offset"], number, comments), comment
    )


def unmet(
    diagnostics: Iterable[Diagnostic],
    expectations: Iterable[CommentExpectation],
    *,
    only_expected: bool = False,
) -> tuple[Diagnostic, ...]:
    """Errors for unexpected diagnostics (unless `only_expected`), then for expectations that were not met.

    A diagnostic meets the first expectation that accepts it; a repeated one may meet it again, as in MLIR.
    """
    every = tuple(expectations)
    open_expectations = list(every)
    faults: list[Diagnostic] = []
    for diagnostic in _flat(diagnostics):
        match = next((e for e in (*open_expectations, *every) if e.accepts(diagnostic)), None)
        if match is not None:
            if match in open_expectations:
                open_expectations.remove(match)
        elif not only_expected:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            faults.append(Diagnostic(message, diagnostic.where))
    faults += (
        Diagnostic(f'expected {e.severity} "{e.text}" was not produced', e.comment) for e in open_expectations
    )
    return tuple(faults)


def _target(offset: str | None, number: int, comments: dict[int, re.Match[str]]) -> int | None:
    match offset:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            step = 1 if offset == "below" else -1
            while number in comments:
                number += step
            return number
        case _:
            return number + int(offset[: 1 + _OFFSET_DIGITS])


def _pattern(text: str) -> Regex:
    """Returns a pattern of literal text, with regular expressions as `{{...}}` in it."""
    parts: list[str] = []
    while "{{" in text:
        literal, _, rest = text.partition("{{")
        expression, end, text = rest.partition("}}")
        if not end:
            raise ShardyError("found start of regex with no end '}}'")
        parts += (re.escape(literal), f"(?:{expression})")
    return Regex("".join((*parts, re.escape(text))))


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(diagnostic.notes)
