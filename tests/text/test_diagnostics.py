from __future__ import annotations

from shardy_py.errors import Diagnostic, Position
from shardy_py.text.diagnostics import render

SOURCE = {"f": "first\n\tsecond line\r\n"}


def test_caret_under_the_column() -> None:
    assert render(Diagnostic("no", Position("f", 1, 3)), SOURCE) == "f:1:3: error: no\nfirst\n  ^"


def test_tabs_are_expanded() -> None:
    expected = "f:2:2: warning: no\n        second line\n        ^"
    assert render(Diagnostic("no", Position("f", 2, 2), "warning"), SOURCE) == expected


def test_notes_follow() -> None:
    note = Diagnostic("here", Position("f", 1, 1), "note")
    text = render(Diagnostic("no", Position("f", 1, 2), notes=(note,)), SOURCE)
    assert text == "f:1:2: error: no\nfirst\n ^\nf:1:1: note: here\nfirst\n^"


def test_unknown_place_and_unknown_file() -> None:
    assert render(Diagnostic("no"), SOURCE) == "<unknown>:0: error: no"
    assert render(Diagnostic("no", Position("g", 1, 1)), SOURCE) == "g:1:1: error: no"
    assert render(Diagnostic("no", Position("f", 9, 1)), SOURCE) == "f:9:1: error: no"
