from __future__ import annotations

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.mlir.text.source import render, render_all

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


def test_a_long_line_is_shown_around_the_caret() -> None:
    line = "a" * 5_000 + "HERE" + "b" * 5_000
    place, excerpt, caret = render(Diagnostic("no", Position("f", 1, 5_001)), {"f": line}).split("\n")
    assert place == "f:1:5001: error: no"
    assert len(excerpt) < 220
    assert excerpt.startswith("...aaa")
    assert excerpt.endswith("bbb...")
    assert excerpt[len(caret) - 1 :].startswith("HERE")


def test_a_place_and_a_message_cannot_forge_a_line() -> None:
    text = render(Diagnostic("no \x1b[2J" + "x" * 100_000, Position("f\nf:1:1: error: forged", 1, 1)), {})
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 5_000


def test_a_source_is_split_once_for_all_diagnostics() -> None:
    class Counted(dict[str, str]):
        reads = 0

        def __getitem__(self, name: str) -> str:
            self.reads += 1
            return super().__getitem__(name)

    sources = Counted({"f": "\n" * 100})
    render_all([Diagnostic("no", Position("f", line, 1)) for line in range(1, 100)], sources)
    assert sources.reads == 1


def test_a_line_zero_is_shown_as_the_start_of_the_file() -> None:
    assert render(Diagnostic("bad", Position("x.py", 0, 0)), {}) == "x.py:1:1: error: bad"


def test_errors_show_neither_control_characters_nor_endless_names() -> None:
    message = Diagnostic(f"\x1b[31m{'a' * 10_000_000}").message
    assert len(message) < 5_000
    assert "\x1b" not in str(ShardyError(message))
