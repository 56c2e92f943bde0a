"""Cursors: tokens, lists, positions of errors, and texts that no grammar expects."""

from __future__ import annotations

from time import process_time

import pytest

from shardy_py.base.cursor import MAX_TOKEN_NESTING, NumberedText, TokenCursor, token_expression
from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.indexing.layout.text import HloCursor


class Lists(TokenCursor):
    """Nested lists of numbers and words."""

    TOKEN = token_expression(
        r"\s++ | \#[^\n]*+",
        number=r"-?[0-9]++",
        word=r"[a-z]++",
        string=r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)',
    )

    def value(self) -> object:
        if self.at("["):
            with self.nested():
                return self.items(self.value)
        return self.integer() if self.kind == "number" else self.take("word", "a number, a word or a list")


def test_tokens_have_kinds_and_offsets() -> None:
    cursor = Lists("ab # comment\n -3;")
    found: list[tuple[str, str, int, int]] = []
    while cursor.kind != "end":
        found.append((cursor.token, cursor.kind, cursor.offset, cursor.end))
        cursor.advance()
    assert found == [("ab", "word", 0, 2), ("-3", "number", 14, 16), (";", "other", 16, 17)]
    assert (cursor.token, cursor.offset, cursor.previous_end) == ("", 17, 17)
    cursor.move_to(1)
    assert (cursor.token, cursor.following()) == ("b", "-3")


def test_lists() -> None:
    cursor = Lists("[1, [a, []], -2] tail")
    assert cursor.value() == [1, ["a", []], -2]
    assert cursor.accept("[") is False
    assert cursor.one_of("head", "tail") == "tail"
    cursor.expect_end()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1 2]", "x.txt:1:4: error: expected ',' or ']', got '2'"),
        ("[1,\n  ]", "x.txt:2:3: error: expected a number, a word or a list, got ']'"),
        ("[1", "x.txt:1:3: error: expected ',' or ']', got the end of the text"),
        ("1" * 21, f"x.txt:1:1: error: the integer {'1' * 21}... has more than 19 digits"),
        ("]" + "b" * 80, "x.txt:1:1: error: expected a number, a word or a list, got ']'"),
        ("[" * 300, f"x.txt:1:{MAX_TOKEN_NESTING + 1}: error: nesting exceeds {MAX_TOKEN_NESTING} levels"),
    ],
)
def test_errors_have_a_position(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        Lists(text, "x.txt").value()
    assert str(error.value) == message


def test_a_text_without_a_file_is_quoted_around_the_error() -> None:
    cursor = Lists("[" + "ab, " * 1000 + "?, " + "cd, " * 1000 + "]", description="list")
    with pytest.raises(ShardyError) as error:
        cursor.value()
    message = str(error.value)
    assert message.startswith("error: invalid list 'ab, ab")
    assert message.endswith("cd, c' at character 4002: expected a number, a word or a list, got '?'")
    assert len(message) < 300


def test_errors_of_values_get_the_position() -> None:
    def fail(cursor: Lists) -> str:
        with pytest.raises(ShardyError) as error, cursor.errors_at(2):
            raise ShardyError("too large", Diagnostic("declared here", Position("y.txt", 1, 1), "note"))
        return str(error.value)

    assert fail(Lists("[9]", "x.txt")) == "x.txt:1:3: error: too large\ny.txt:1:1: note: declared here"
    assert fail(Lists("[9]", description="list")).startswith(
        "error: invalid list '[9]' at character 3: too large\n"
    )


def test_a_position_is_added_once() -> None:
    cursor = Lists("[?]", description="list")
    with pytest.raises(ShardyError) as error, cursor.errors_at(0):
        cursor.value()
    assert str(error.value).count("invalid list") == 1


@pytest.mark.parametrize(
    "text", ['"' + "\\" * 200_000, '"' + 'a\\"' * 100_000, "1" * 200_000, "# " * 100_000]
)
def test_tokens_take_linear_time(text: str) -> None:
    start = process_time()
    cursor = Lists(text)
    while cursor.token:
        cursor.advance()
    assert process_time() - start < 2


def test_lines_and_columns() -> None:
    text = NumberedText("ab\n\ncd", "x.txt", first_line=10)
    assert [text.line_and_column(i) for i in (0, 2, 3, 4, 6)] == [(10, 1), (10, 3), (11, 1), (12, 1), (12, 3)]
    assert text.position(99) == Position("x.txt", 12, 3)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("f32[3] /* unclosed", ["f32", "[", "3", "]", "/* unclosed"]),
        ("2x3xf32", ["2x3", "xf32"]),
        ("1_2x3_4x5", ["1_2x3_4", "x5"]),
        ("ab-cd->e", ["ab-cd", "->", "e"]),
    ],
)
def test_a_repetition_ends_before_what_it_began_in_vain(text: str, tokens: list[str]) -> None:
    """Python 3.11.2, which Debian 12 has, goes on behind that where groups are repeated possessively."""
    cursor = HloCursor(text)
    found: list[str] = []
    while cursor.token:
        found.append(cursor.advance())
    assert found == tokens
