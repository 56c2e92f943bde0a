from __future__ import annotations

from dataclasses import fields

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.cli.chunks import SPLIT_MARKER
from shardy_py.cli.flags import FLAGS, Command, parse_command


def test_defaults() -> None:
    assert parse_command([]) == Command()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x.mlir"], {"input": "x.mlir"}),
        (["-"], {"input": "-"}),
        (["--", "-x.mlir"], {"input": "-x.mlir"}),
        (["-o", "y"], {"output": "y"}),
        (["-o=y"], {"output": "y"}),
        (["--o", "y"], {"output": "y"}),
        (["-split-input-file"], {"split_marker": SPLIT_MARKER}),
        (["--split-input-file=// ==="], {"split_marker": "// ==="}),
        (["--verify-diagnostics"], {"verify_diagnostics": "all"}),
        (["--verify-diagnostics=only-expected"], {"verify_diagnostics": "only-expected"}),
        (["--verify-each"], {"verify": "each"}),
        (["--verify-each=false"], {"verify": "never"}),
        (["--verify-each=0"], {"verify": "never"}),
        (["--mlir-print-op-generic=false"], {"is_generic": False}),
        (["-mlir-print-op-generic"], {"is_generic": True}),
        (
            ["--mlir-print-ir-before=canonicalize,symbol-dce"],
            {"print_before": ("canonicalize", "symbol-dce")},
        ),
        (["--mlir-print-ir-after-all"], {"print_after": None}),
        (["--allow-unregistered-dialect"], {"allow_unregistered": True}),
        (["-h"], {"shows": "help"}),
        (["-help"], {"shows": "help"}),
    ],
)
def test_flags(arguments: list[str], expected: dict[str, object]) -> None:
    assert parse_command(arguments) == Command(**expected)  # pyright: ignore[reportArgumentType]


def test_passes_keep_their_order() -> None:
    command = parse_command(
        [
            "--sdy-close-shardings",
            "x.mlir",
            "-symbol-dce",
            "--sdy-export-pipeline=keep-sharding-rules",
            "-symbol-dce",
        ]
    )
    assert [step.name for step in command.steps] == [
        "sdy-close-shardings",
        "symbol-dce",
        "sdy-export-pipeline",
        "symbol-dce",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--sdy-closeshardings"],
            "Unknown command line argument '--sdy-closeshardings'.  Try: 'sdy-opt --help'\n"
            "sdy-opt: Did you mean '--sdy-close-shardings'?",
        ),
        (["-zzzzzz"], "Unknown command line argument '-zzzzzz'.  Try: 'sdy-opt --help'"),
        (
            ["a", "b"],
            "Too many positional arguments specified!\nCan specify at most 1 positional arguments, got: a, b",
        ),
        (["-o"], "for the -o option: requires a value!"),
        (
            ["--verify-each=maybe"],
            "for the --verify-each option: 'maybe' is invalid value for boolean argument! Try",
        ),
        (["--show-dialects=x"], "for the --show-dialects option: does not allow a value! 'x' specified."),
        (
            ["--verify-diagnostics=some"],
            "for the --verify-diagnostics option: Cannot find option named 'some'!",
        ),
        (
            ["--mlir-print-ir-after=nope"],
            "for the --mlir-print-ir-after option: Cannot find option named 'nope'!",
        ),
        (["--sdy-close-shardings=a=1"], "<Pass-Options-Parser>: no such option a\n"),
        (["--pass-pipeline=canonicalize"], "expected pass pipeline to be wrapped"),
        (
            ["--pass-pipeline=any()", "--canonicalize"],
            "'-pass-pipeline' option can't be used with individual pass options",
        ),
        (
            ["--canonicalize", "--pass-pipeline=any()"],
            "'-pass-pipeline' option can't be used with individual pass options",
        ),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        parse_command(arguments)
    assert caught.value.first.message.startswith(message)


def test_each_flag_sets_a_field() -> None:
    names = {field.name for field in fields(Command)}
    assert {flag.field for flag in FLAGS} <= names
