from __future__ import annotations

import pytest

from shardy_py.cli.option_text import parse_options
from shardy_py.errors import ShardyError
from shardy_py.passes.options import Option, OptionValue

OPTIONS = (
    Option("keep_rules", False, ""),
    Option("size", 1, ""),
    Option("filter", "", ""),
    Option("strategy", "basic", "", ("basic", "aggressive")),
    Option("labels", (), ""),
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("keep-rules=true size=3", {"keep_rules": True, "size": 3}),
        ("keep-rules", {"keep_rules": True}),
        ("keep-rules=0", {"keep_rules": False}),
        ("size=1 size=2", {"size": 2}),
        ("size=-4", {"size": -4}),
        ("filter='a b' size=2", {"filter": "a b", "size": 2}),
        ("filter={a {b} c}", {"filter": "a {b} c"}),
        ("filter=a=b", {"filter": "a=b"}),
        ("strategy=aggressive", {"strategy": "aggressive"}),
        ("labels=a,b", {"labels": ("a", "b")}),
        ("labels={a,b}", {"labels": ("a", "b")}),
        ("{keep-rules=true}", {"keep_rules": True}),
    ],
)
def test_values(text: str, values: dict[str, OptionValue]) -> None:
    assert parse_options(text, OPTIONS) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope=1", "<Pass-Options-Parser>: no such option nope\nnote: its options: keep-rules, size, filter"),
        ("keep-rules=maybe", "for the --keep-rules option: 'maybe' is invalid value for boolean argument!"),
        ("size=x", "for the --size option: 'x' value invalid for integer argument!"),
        (
            "strategy=zip",
            "for the --strategy option: Cannot find option named 'zip'!\nnote: its values: basic, agg",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_options(text, OPTIONS)
    assert caught.value.first.message.startswith(message)


def test_text_is_read_back() -> None:
    values: dict[str, OptionValue] = {
        "keep_rules": True,
        "size": 7,
        "strategy": "aggressive",
        "labels": ("a", "b"),
    }
    text = " ".join(f"{o.name}={o.text(values[o.field_name])}" for o in OPTIONS if o.field_name in values)
    assert parse_options(text, OPTIONS) == values
