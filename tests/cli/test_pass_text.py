from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.cli.pass_text import build_step, parse_options, parse_pipeline
from shardy_py.passes.options import Option, OptionValue


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("builtin.module()", []),
        ("builtin.module(symbol-dce)", ["symbol-dce"]),
        ("any(symbol-dce,canonicalize)", ["symbol-dce", "canonicalize"]),
        ("builtin.module(any(canonicalize))", ["canonicalize"]),
        (" builtin.module ( sdy-close-shardings , canonicalize ) ", ["sdy-close-shardings", "canonicalize"]),
        (
            "builtin.module(canonicalize,func.func(sdy-drop-sharding-rules,canonicalize),sdy-close-shardings)",
            ["canonicalize", "sdy-drop-sharding-rules", "canonicalize", "sdy-close-shardings"],
        ),
        ("builtin.module(sdy-propagation-pipeline)", ["sdy-propagation-pipeline"]),
    ],
)
def test_steps(text: str, names: list[str]) -> None:
    assert [step.name for step in parse_pipeline(text)] == names


def test_options_reach_the_pass() -> None:
    (step,) = parse_pipeline(
        "builtin.module(func.func(sdy-insert-explicit-reshards{enable-full-version=true}))"
    )
    assert step.calls[0].options == (("enable_full_version", True),)


def test_options_reach_the_pipeline() -> None:
    kept = build_step("sdy-export-pipeline", "keep-sharding-rules=true").calls
    assert "sdy-drop-sharding-rules" not in {call.row.name for call in kept}
    assert "sdy-drop-sharding-rules" in {call.row.name for call in build_step("sdy-export-pipeline").calls}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "expected pass pipeline to be wrapped with the anchor operation type, e.g. 'builtin.module(...)'",
        ),
        ("sdy-close-shardings", "expected pass pipeline to be wrapped"),
        ("builtin.module(canonicalize", "expected pass pipeline to be wrapped"),
        ("func.func(canonicalize)", "can't run 'func.func' pass manager on 'builtin.module' op"),
        (
            "builtin.module(canonicalize,nope)",
            "MLIR Textual PassPipeline Parser:1:14: error: 'nope' does not refer to a registered pass "
            "or pass pipeline\ncanonicalize,nope\n             ^",
        ),
        (
            "builtin.module(canonicalize))",
            "MLIR Textual PassPipeline Parser:1:13: error: encountered extra closing ')'",
        ),
        (
            "builtin.module(canonicalize{a=1)",
            "MLIR Textual PassPipeline Parser:1:13: error: missing closing '}'",
        ),
        (
            "builtin.module(func.func(canonicalize)",
            "MLIR Textual PassPipeline Parser:1:23: error: expected ')'",
        ),
        (
            "builtin.module(sdy-drop-sharding-rules)",
            "Can't add pass 'DropShardingRulesPass' restricted to 'func.func' on a PassManager intended to "
            "run on 'builtin.module', did you intend to nest?",
        ),
        (
            "builtin.module(func.func(sdy-close-shardings))",
            "Can't add pass 'CloseShardingsPass' restricted to 'builtin.module' on a PassManager intended to "
            "run on 'func.func', did you intend to nest?",
        ),
        (
            "any(sdy-close-shardings)",
            "Can't add pass 'CloseShardingsPass' restricted to 'builtin.module' on an op-ag",
        ),
        (
            "builtin.module(sdy-close-shardings{a=1})",
            "<Pass-Options-Parser>: no such option a\nnote: its options: none\n"
            "<unknown>:0: error: failed to add `sdy-close-shardings` with options `a=1`",
        ),
        (
            "builtin.module(stablehlo.while(canonicalize))",
            "MLIR Textual PassPipeline Parser:1:1: error: passes cannot be nes",
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_pipeline(text)
    assert caught.value.first.message.startswith(message)


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
        (
            "size=9223372036854775808",
            "for the --size option: '9223372036854775808...' value invalid for integer",
        ),
        ("size=" + "9" * 5000, "for the --size option: '9999"),
        ("size=x", "for the --size option: 'x' value invalid for integer argument!"),
        (
            "strategy=zip",
            "for the --strategy option: Cannot find option named 'zip'!\nnote: its values: basic, agg",
        ),
    ],
)
def test_mistakes_in_options(text: str, message: str) -> None:
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
