from __future__ import annotations

import random
import re

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.cli.regular_expression import Regex

PIECES = (
    *(
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        "[[:alpha:]]",
        "(a|b)",
        "(ab)*",
        "(?:a*)+",
        "a{2}",
        "b{1,2}",
        "a{1,}",
        "b?",
    ),
    *("^", "$", r"\w", r"\.", "|", "(a|)", "((a*)*b)*", "a*?", "b{0}", "[]a]", r"[a\]]"),
)


def test_it_matches_as_the_standard_library_does() -> None:
    random_ = random.Random(3)
    for _ in range(3_000):
        text = "".join(random_.choices(PIECES, k=random_.randrange(6)))
        subject = "".join(random_.choices("ab.]c", k=random_.randrange(7)))
        expected = re.search(text.replace("[[:alpha:]]", "[a-zA-Z]"), subject, re.DOTALL) is not None
        assert Regex(text).search(subject) == expected, (text, subject)


@pytest.mark.parametrize("text", ["((x*)*)*y", "(x|x)*y", ".*.*.*.*.*.*y", "(x+x+)+y", "x{0,40}x{0,40}y"])
def test_no_expression_takes_long(text: str) -> None:
    assert not Regex(text).search("x" * 3_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(", "expected '\\)'"),
        ("a)", "unmatched '\\)'"),
        ("[a", "unexpected '\\['"),
        ("[b-a]", "bad character range b-a"),
        ("*a", "unexpected '\\*'"),
        ("a{2,1}", "invalid repetition"),
        ("a***", "invalid repetition"),
        ("\\", "trailing backslash"),
        (r"(a)\1", r"unsupported escape '\\1'"),
        ("(?=a)", "unexpected '\\?'"),
        ("((a{9999}){9999}){9999}", "expression too large"),
        ("(" * 99_999, "nesting exceeds 50 levels"),
    ],
)
def test_invalid_expressions(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=f"invalid regular expression: {message}"):
        Regex(text)
