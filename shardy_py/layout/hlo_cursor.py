"""The cursor over XLA's text: shapes (`text.py`) and HLO programs (`hlo/`).

>>> cursor = HloCursor("ROOT %add.1 = f32[4] add(p0, p1) /* sum */", "x.hlo")
>>> cursor.advance(), cursor.name(), cursor.token
('ROOT', 'add.1', '=')
"""

from __future__ import annotations

from shardy_py.cursor import TokenCursor, token_expression

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())


class HloCursor(TokenCursor):
    """A cursor over XLA's text, comments and white space skipped.

    The kinds of tokens: string, labels, pad, sizes, number, name, mark, unclosed (a comment), end.
    """

    # Labels have a bound and an unclosed comment is one token: each token is found in one look at it.
    TOKEN = token_expression(
        r"[\ \t\r\n]++ | //[^\n]*+ | /\*.*?\*/",
        unclosed=r"/\*.*\Z",
        string=r""" "(?:[^"\\]++|\\.)*+(?:"|\\?\Z) | '(?:[^'\\]++|\\.)*+(?:'|\\?\Z) """,
        labels=r"[0-9bf?]{2,64}_[0-9io?]{2,64}->[0-9bf?]{2,64}",
        pad=r"-?[0-9]++_-?[0-9]++(?:_-?[0-9]++)?(?:x-?[0-9]++_-?[0-9]++(?:_-?[0-9]++)?)*",
        sizes=r"[0-9]++(?:x[0-9]++)+",
        number=r"[-+]?[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?",
        name=r"%[\w.\-]++ | [A-Za-z_](?:[\w.]|-(?!>))*+",
        mark=r"-> | <=",
    )

    __slots__ = ()

    def name(self, expected: str = "a name") -> str:
        """Steps over a name and returns it without a leading `%`."""
        return self.take("name", expected).removeprefix("%")

    def raw(self, expected: str = "a value") -> str:
        """Steps up to a comma, closing bracket or line end outside brackets; returns the text before it."""
        start = end = self.offset
        while self.token:
            if self.token == "," or self.token in _CLOSING or "\n" in self.text[end : self.offset]:
                break
            if self.token in _OPENING:
                self._skip_group()
            else:
                self.advance()
            end = self.previous_end
        if start == end:
            self.unexpected(expected)
        return self.text[start:end]

    def enclosed(self) -> str:
        """Steps over an opening bracket, its closing one, and what is between, whose text it returns."""
        start = self.end
        self._skip_group()
        return self.text[start : self.previous_end - 1].strip()

    def _skip_group(self) -> None:
        start = self.offset
        waiting = [_OPENING[self.advance()]]
        while waiting:
            token = self.token
            if not token:
                self.error(f"unclosed bracket: expected '{waiting[0]}'", start)
            if token in _OPENING:
                waiting.append(_OPENING[token])
            elif token in _CLOSING and waiting.pop() != token:
                self.error("unmatched closing bracket")
            self.advance()
