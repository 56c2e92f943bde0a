"""Shape text: what is read, how it is printed, where mistakes are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout import (
    COMBINE,
    UNBOUNDED,
    ArrayShape,
    BufferShape,
    Layout,
    OtherShape,
    Shape,
    SplitConfig,
    Tile,
    TupleShape,
    parse_array,
    parse_shape,
)
from tests.conftest import examples
from tests.indexing.layout.strategies import shapes

ARRAY = "f32[3,5]{1,0"

UNCHANGED = [
    "f32[3,5]",
    "f32[]",
    "pred[]",
    "()",
    "(())",
    "token[]",
    "opaque[]",
    "b(f32[3]{0:T(128)})",
    "(f32[3,5]{1,0:T(2,2)}, (bf16[2], token[]), ())",
    "f32[<=8,3]{1,0}",
    "f32[?,<=3,4]{2,1,0:T(2,2)}",
    "f32[]{:T(128)S(6)}",
    "f32[0]",
    "f32[<=0]",
    "f32[9223372036854775807]",
    *(
        f"{ARRAY}:{part}}}"
        for part in (
            "T(2,2)",
            "T(8,128)(2,1)",
            "T(*,2)",
            "T()",
            "T(0)",
            "L(64)",
            "#(u32)",
            "*(u16)",
            "E(4)",
            "S(5)",
            "S(-4)",
            "SC(0:1)",
            "SC(0:1,2)(1:3)",
            "SC(0:)",
            "M(8)",
            "D(D,C)",
            "D(C+~,S+)",
            "D(D,H~)P((f32[3], s32[4]{0}))",
            "D(C,S)T(2,2)(2,1)L(64)#(u32)*(u16)E(16)S(3)SC(0:1)(1:2,4)P(f32[3]{0})M(4)",
        )
    ),
    f"{ARRAY}}}",
    "f32[3,5]{1,1}",
]


@pytest.mark.parametrize("text", UNCHANGED)
def test_kept_and_printed_back(text: str) -> None:
    assert str(parse_shape(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("F32[3,5]{1,0:T(2,2)}", "f32[3,5]{1,0:T(2,2)}"),
        ("BF16[2]", "bf16[2]"),
        ("TOKEN[]", "token[]"),
        (" f32 [ 3 ,5 ] {1,0 : T ( 2 , 2 ) } ", "f32[3,5]{1,0:T(2,2)}"),
        ("(f32[/*rows*/3],/*1*/s32[]) // pair", "(f32[3], s32[])"),
        ("f32[3,5]{1,0:}", "f32[3,5]{1,0}"),
        ("f32[]{:}", "f32[]"),
        ("f32[3,5]{1,0:L(1)E(0)S(0)M(0)}", "f32[3,5]{1,0}"),
        ("f32[03]{-0}", "f32[3]{0}"),
        ("f32[3]{0:T(9223372036854775808)}", "f32[3]{0:T(*)}"),
        ("f32[3]{0:T(-9223372036854775808,2)}", "f32[3]{0:T(*,2)}"),
        ("f32[<=9223372036854775808]", "f32[?]"),
        ("f32[3]{0:S(18446744073709551615)}", "f32[3]{0:S(-1)}"),
    ],
)
def test_printed_as_xla_does(text: str, expected: str) -> None:
    assert str(parse_shape(text)) == expected


def test_text_read_before_does_not_hide_what_follows() -> None:
    text = "(f32[3], f32[3] {0:T(2)}, f32[3]/**/{0}, f32[3])"
    assert str(parse_shape("f32[3]")) == "f32[3]"
    assert str(parse_shape(text)) == "(f32[3], f32[3]{0:T(2)}, f32[3]{0}, f32[3])"
    assert str(parse_shape(text)) == "(f32[3], f32[3]{0:T(2)}, f32[3]{0}, f32[3])"


def test_values() -> None:
    assert parse_shape("f32[3,<=5,?]{1,2,0:T(*,2)(4)L(8)E(16)S(2)SC(1:3)}") == ArrayShape(
        "f32",
        (3, 5, UNBOUNDED),
        (False, True, True),
        Layout(
            (1, 2, 0),
            (Tile((COMBINE, 2)), Tile((4,))),
            element_size_bits=16,
            memory_space=2,
            tail_padding_alignment=8,
            split_configs=(SplitConfig(1, (3,)),),
        ),
    )
    assert parse_shape("(b(s4[2]), token[])") == TupleShape(
        (BufferShape(ArrayShape("s4", (2,))), OtherShape("token"))
    )
    assert COMBINE == -1


@settings(max_examples=examples(120), deadline=None)
@given(shapes())
def test_round_trip(shape: Shape) -> None:
    assert parse_shape(str(shape)) == shape


MISTAKES = [
    ("", "1:1: error: expected a shape, got the end of the text"),
    ("f33[3]", "1:1: error: expected a shape, got 'f33'"),
    ("Bf16[3]", "1:1: error: expected a shape, got 'Bf16'"),
    ("tuple[]", "1:1: error: expected a shape, got 'tuple'"),
    ("f32", "1:4: error: expected '[', got the end of the text"),
    ("f32[", "1:5: error: expected an integer, got the end of the text"),
    ("f32[3", "1:6: error: expected ',' or ']', got the end of the text"),
    ("f32[3,]", "1:7: error: expected an integer, got ']'"),
    ("f32[3 5]", "1:7: error: expected ',' or ']', got '5'"),
    ("f32[3x5]", "1:5: error: expected an integer, got '3x5'"),
    ("f32[3.0]", "1:5: error: expected an integer, got '3.0'"),
    ("f32[+3]", "1:5: error: expected an integer, got '+3'"),
    ("f32[\uff13]", "1:5: error: expected an integer, got '\uff13'"),
    ("f32[2,-1]", "1:7: error: dimension of negative size -1"),
    ("f32[<=-3]", "1:7: error: dimension of negative size -3"),
    ("f32[9223372036854775808]", "1:5: error: dimension of negative size -9223372036854775808"),
    ("f32[18446744073709551616]", "1:5: error: the integer 18446744073709551616 has more than 64 bits"),
    ("f32[<=?]", "1:7: error: expected an integer, got '?'"),
    ("f32[3]{}", "1:7: error: expected the end of the shape, got '{'"),
    ("f32[3]{0}{0}", "1:10: error: expected the end of the shape, got '{'"),
    ("f32[3,5]{0}", "1:9: error: layout: expected 2 dimensions, got 1"),
    ("f32[3,5]{:T(2)}", "1:9: error: layout: expected 2 dimensions, got 0"),
    ("f32[3]{0,}", "1:10: error: expected an integer, got '}'"),
    ("f32[3]{0 1}", "1:10: error: expected ',', got '1'"),
    ("f32[3]{0:T(2,2}", "1:15: error: expected ',' or ')', got '}'"),
    ("f32[3]{0:T}", "1:11: error: expected '(', got '}'"),
    ("f32[3]{0:T(-1,2)}", "1:12: error: invalid tile size -1: expected sizes from 1, or '*'"),
    ("f32[3]{0:t(2)}", "1:10: error: expected a part of a layout"),
    ("f32[3]{0:S(3)E(16)}", "1:14: error: expected a part of a layout"),
    ("f32[3]{0:T(2)T(2)}", "1:14: error: expected a part of a layout"),
    ("f32[3]{0:L(0)}", "1:7: error: tail padding alignment L: expected at least 1, got 0"),
    ("f32[3]{0:#(f32)}", "1:12: error: expected an integer type, got 'f32'"),
    ("f32[3]{0:SC(0)}", "1:14: error: expected ':', got ')'"),
    ("f32[3]{0:D(X)}", "1:12: error: expected a level type (D, C, S or H), got 'X'"),
    ("f32[3]{0:D(D+)}", "1:12: error: dense levels are always unique and ordered: expected 'D', got 'D+'"),
    ("f32[3]{0:D(D,C)}", "1:7: error: level types D: expected one for each of 1 dimensions, got 2"),
    ("f32[3]{0:P(f32[3])}", "1:7: error: physical shape P of a dense array"),
    ("f32[3]{0:M(}", "1:12: error: expected an integer, got '}'"),
    ("(f32[2],)", "1:9: error: expected a shape, got ')'"),
    ("(f32[2] f32[3])", "1:9: error: expected ',' or ')', got 'f32'"),
    ("(f32[2]", "1:8: error: expected ',' or ')', got the end of the text"),
    ("f32[2])", "1:7: error: expected the end of the shape, got ')'"),
    (
        "(f32[2], f32[3,5]{1,1})",
        "1:10: error: minor_to_major: expected a permutation of 2 dimensions, got (1, 1)",
    ),
    ("(b(f32[3]{0:T(0)}))", "1:2: error: tile T: expected sizes of at least 1, got (0)"),
    ("(f32[3]{0:#(u8)})", "1:2: error: index and pointer types #, * of a dense array"),
    ("(f32[3]{0:E(-4)})", "1:2: error: element size E: expected at least 0 bits, got -4"),
    ("(f32[3]{0:SC(1:1)})", "1:2: error: split configuration SC: unknown dimension 1"),
    ("(f32[3]{0:SC(0:1)(0:1)})", "1:2: error: split configuration SC: dimension 0 is split twice"),
    (
        "(f32[3]{0:SC(0:3)})",
        "1:2: error: split configuration SC: expected indices from 1 to 2 for dimension 0, got 3",
    ),
    (
        "(f32[9,3]{0,1:SC(0:5)})",
        "1:2: error: split configuration SC: expected indices from 1 to 2 for dimension 0, got 5",
    ),
    (
        "(f32[3]{0:SC(0:2,1)})",
        "1:2: error: split configuration SC: expected increasing indices for dimension 0, got (2, 1)",
    ),
    (
        "(f64[1152921504606846976])",
        "1:2: error: array of f64 with sizes (1152921504606846976,): more than 2^63",
    ),
    ("token[3]", "1:7: error: expected ']', got '3'"),
    ("token[]{}", "1:8: error: expected the end of the shape, got '{'"),
    ("b((f32[3]))", "1:1: error: expected the shape of an array in a buffer, got (f32[3])"),
    ("b(token[])", "1:1: error: expected the shape of an array in a buffer, got token[]"),
    ("f32[3] /* unclosed", "1:8: error: expected the end of the shape, got '/* unclosed'"),
    ("(f32[2],\n f32[x])", "2:6: error: expected an integer, got 'x'"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_errors_have_a_position(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        parse_shape(text, "shapes.txt")
    assert str(error.value).startswith(f"shapes.txt:{message}")


def test_only_an_array() -> None:
    with pytest.raises(ShardyError, match=r"-:1:1: error: expected the shape of an array, got \(f32\[2\]\)"):
        parse_array("(f32[2])")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 100_000 + ")" * 100_000, "1:101: error: nesting exceeds 100 levels"),
        ("b(" * 100_000, "nesting exceeds 100 levels"),
        ("f32[1]{0:D(C)P(" * 100_000, "nesting exceeds 100 levels"),
        ("f32[" + "9" * 100_000 + "]", "has more than 64 bits"),
        ("f32[" + "b?" * 100_000, "expected an integer, got 'b'"),
        ("f32[" + "?" * 100_000, "expected ',' or ']', got '?'"),
        ("f32[" + "1_1x" * 100_000, "expected an integer"),
        ('f32["' + "\\" * 100_000, "expected an integer"),
        ("f32[3]" + "/* " * 100_000, "expected the end of the shape"),
        ("f32[\0]", "expected an integer, got '\\00'"),
    ],
)
def test_hostile_text_is_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        parse_shape(text)
    assert message in str(error.value)
    assert len(str(error.value)) < 300


def test_large_text_is_read() -> None:
    rank = 20_000
    ones, order = ",".join(["1"] * rank), ",".join(map(str, range(rank)))
    for text in (
        f"f32[{ones}]{{{order}}}",
        "(" + ", ".join(["f32[1]"] * rank) + ")",
        "f32[1]{0:T" + "(1)" * rank + "}",
        "(" * 100 + ")" * 100,
    ):
        assert str(parse_shape(text)) == text
    assert str(parse_shape("f32[" + "0" * 100_000 + "7]")) == "f32[7]"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArrayShape("f33", (3,)), "unknown element type 'f33'"),
        (lambda: ArrayShape("f32", (3, -2)), "dimension 1 has negative size -2"),
        (lambda: ArrayShape("f32", (UNBOUNDED,)), "dimension 0 has negative size -1"),
        (lambda: ArrayShape("f32", (3,), (True, False)), "expected one flag for each of 1 dimensions"),
        (lambda: ArrayShape("f32", (3,), (), Layout((1, 0))), "layout: expected 1 dimensions, got 2"),
        (lambda: Tile((2, -3)), "invalid tile size -3"),
        (lambda: OtherShape("tokens"), "unknown kind of shape 'tokens'"),
        (lambda: Layout((0,), tail_padding_alignment=0), "at least 1, got 0"),
    ],
)
def test_values_are_checked(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ShardyError) as error:
        make()
    assert message in str(error.value)
