from __future__ import annotations

import pytest

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.cli.expectations import read_expectations, unmet

ERROR = Diagnostic("operand 0 is bad", Position("f", 3, 7))


@pytest.mark.parametrize(
    "text",
    [
        "\n\nx // expected-error {{is bad}}",
        "\n// expected-error@+1 {{operand 0}}\nx",
        "\n// expected-error @below {{operand 0}}\nx",
        "// expected-error @below {{operand 0}}\n// expected-note@-1 {{a note}}\nx",
        "\n\nx\n// expected-error@above {{bad}}",
        "\n\nx\n\n// expected-error@-2 {{bad}}",
        "\n\nx // expected-error-re {{operand {{[0-9]+}} is}}",
        "\n\nx // expected-error-re {{{{^}}operand {{a|0}} is bad}}",
    ],
)
def test_fulfilled(text: str) -> None:
    diagnostic = ERROR
    if "note" in text:
        diagnostic = Diagnostic(
            ERROR.message, ERROR.where, notes=(Diagnostic("a note", Position("f", 1, 1), "note"),)
        )
    assert unmet([diagnostic], read_expectations(text, "f")) == ()


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("\n\nx", ["f:3:7: error: unexpected error: operand 0 is bad"]),
        (
            "\n\n\nx // expected-error {{is bad}}",
            [
                "f:3:7: error: unexpected error: operand 0 is bad",
                'f:4:6: error: expected error "is bad" was not produced',
            ],
        ),
        (
            "\n\nx // expected-warning {{is bad}}",
            [
                "f:3:7: error: unexpected error: operand 0 is bad",
                'f:3:6: error: expected warning "is bad" was not produced',
            ],
        ),
        (
            "\n\nx // expected-error {{operand [0-9] is}}",
            [
                "f:3:7: error: unexpected error: operand 0 is bad",
                'f:3:6: error: expected error "operand [0-9] is" was not produced',
            ],
        ),
    ],
)
def test_unmet(text: str, messages: list[str]) -> None:
    assert [str(d) for d in unmet([ERROR], read_expectations(text, "f"))] == messages


def test_only_expected_tolerates_others() -> None:
    assert unmet([ERROR], (), only_expected=True) == ()


def test_unknown_place() -> None:
    expectations = read_expectations("// expected-remark@unknown {{hello}}", "f")
    assert unmet([Diagnostic("hello", None, "remark")], expectations) == ()
    assert len(unmet([Diagnostic("hello", Position("f", 1, 1), "remark")], expectations)) == 2


def test_a_diagnostic_may_come_twice() -> None:
    expectations = read_expectations("\n\nx // expected-error {{is bad}}", "f")
    assert unmet([ERROR, ERROR], expectations) == ()


def test_each_expectation_is_fulfilled() -> None:
    text = "\n\nx // expected-error {{is bad}}\n// expected-error@-1 {{is bad}}"
    expectations = read_expectations(text, "f")
    assert unmet([ERROR, ERROR], expectations) == ()
    assert [d.message for d in unmet([ERROR], expectations)] == ['expected error "is bad" was not produced']


def test_lines_of_a_chunk() -> None:
    (expectation,) = read_expectations("x // expected-error {{a}}", "f", 41)
    assert expectation.line == 41


def test_a_faulty_expression_has_a_place() -> None:
    with pytest.raises(ShardyError, match="f:2:4: error: invalid regular expression: unexpected '\\['"):
        read_expectations("\n// expected-error-re {{a {{[}} b}}", "f")
    with pytest.raises(ShardyError, match="f:1:1: error: found start of regex with no end '}}'"):
        read_expectations("expected-error-re {{" + "{{" * 50_000 + "a}}", "f")


def test_hostile_comments_end_soon() -> None:
    (expectation,) = read_expectations(f"// expected-error@+{'9' * 5000} {{{{a}}}}", "f")
    assert expectation.line == 1_000_000_000
    assert not read_expectations("// expected-error" + " " * 200_000, "f")
    assert not read_expectations("expected-error {{" * 20_000, "f")
