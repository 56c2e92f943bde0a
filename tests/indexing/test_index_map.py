"""Maps: text, evaluation, composition."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing import Interval, parse_map, range_var, reads

TEXT = """(d0, d1)[s0]{rt0} -> (d0, d1 + rt0, s0),
domain:
d0 in [0, 9],
d1 in [0, 19],
s0 in [0, 2],
rt0 in [0, 5],
(d0 + s0) mod 2 in [0, 0]"""


def test_text_is_read_back() -> None:
    assert str(parse_map(TEXT)) == TEXT
    assert str(parse_map("() -> ()")) == "() -> ()"


def test_evaluate_knows_the_domain() -> None:
    index_map = parse_map(TEXT)
    assert index_map.evaluate((2, 7), (0,), (3,)) == (2, 10, 0)
    assert index_map.evaluate((2, 7), (1,), (3,)) is None
    assert index_map.evaluate((10, 7), (0,), (3,)) is None


def test_composition_reads_what_reading_twice_reads() -> None:
    first = parse_map("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 3], s0 in [0, 2]")
    then = parse_map("(d0)[s0] -> (d0 * 2 - s0), domain: d0 in [1, 4], s0 in [0, 1]")
    inner = reads(then)
    expected = {
        element: {source for middle in middles for source in inner.get(middle, ())}
        for element, middles in reads(first).items()
    }
    assert reads(first.compose(then)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(d0) -> (d1), domain: d0 in [0, 1]", "d1 is not declared"),
        ("(d0) -> (d0)", "expected an interval for each variable"),
        ("(d0) -> (d0 * d0), domain: d0 in [0, 1]", "the product of d0 and d0 is not affine"),
        ("(d0) -> (d0 floordiv 0), domain: d0 in [0, 1]", "floordiv by 0: the divisor must be positive"),
        ("(d0) -> (d0 mod d0), domain: d0 in [0, 1]", "mod by d0: the divisor must be a constant"),
        ("(d1) -> (d1)", "'(d1) -> (d1)' at character 2: expected 'd0', got 'd1'"),
        ("(d0) -> (d0 +), domain: d0 in [0, 1]", "expected a variable, a number or '(', got ')'"),
        ("(d0) -> (d0) nonsense", "expected the end of the text, got 'n'"),
        ("(d0) -> (d0", "expected ',' or ')', got the end of the text"),
        ("(d0) -> (" + "-" * 5000 + "d0)", "nesting exceeds 100 levels"),
    ],
)
def test_errors_name_the_cause(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_map(text)
    assert message in str(caught.value)


def test_equal_after_simplification() -> None:
    plain = parse_map("(d0, d1) -> (d0, d1), domain: d0 in [0, 6], d1 in [0, 14]")
    text = (
        "(d0, d1)[s0] -> (d0 + d1 floordiv 16, d1 mod 16), domain: d0 in [0, 6], d1 in [0, 14], s0 in [0, 3]"
    )
    assert parse_map(text) == plain
    assert len({parse_map(text), plain}) == 1
    assert plain != parse_map("(d0, d1) -> (d0, d1), domain: d0 in [0, 6], d1 in [0, 13]")
    assert plain != "(d0, d1)"


def test_product_is_composition() -> None:
    first = parse_map("(d0)[s0]{rt0} -> (d0 + s0 + rt0), domain: d0 in [0, 3], s0 in [0, 2], rt0 in [0, 1]")
    then = parse_map(
        "(d0)[s0]{rt0} -> (d0 + s0 * 10 + rt0 * 100),domain: d0 in [1, 4], s0 in [0, 1], rt0 in [0, 5]"
    )
    assert str(first * then) == str(
        parse_map(
            "(d0)[s0, s1]{rt0, rt1} -> (d0 + s0 * 10 + s1 + rt0 * 100 + rt1),"
            "domain: d0 in [0, 3], s0 in [0, 1],"
            "s1 in [0, 2], rt0 in [0, 5], rt1 in [0, 1], d0 + s1 + rt1 in [1, 4]"
        )
    )


def test_restriction() -> None:
    index_map = parse_map("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 2]")
    assert index_map.restricted([Interval(2, 20)]).dims == (Interval(2, 9),)
    assert index_map.restricted({range_var(0): Interval(1, 1)}).ranges == (Interval(1, 1),)
    with pytest.raises(ValueError, match="unknown variable s1 of the map"):
        index_map.restricted({range_var(1): Interval(1, 1)})
