from __future__ import annotations

import re

import pytest

from shardy_py.cli.chunks import split_chunks
from shardy_py.cli.driver import RunOutcome, run
from shardy_py.cli.flags import parse_command

PROGRAM = "module {\n  func.func @main(%arg0: tensor<8xf32>) {\n    return\n  }\n}\n"
BAD = "module {\n  func.func @main(%arg0: tensor<8xf32>) {\n    return %x : f32\n  }\n}\n"


def sdy_opt(source: str, *arguments: str) -> tuple[RunOutcome, str]:
    log: list[str] = []
    outcome = run(parse_command(list(arguments)), source, "<stdin>", log.append)
    return outcome, "".join(log)


def test_reads_and_prints() -> None:
    assert sdy_opt(PROGRAM) == (RunOutcome(PROGRAM, True), "")


def test_passes_run_in_order() -> None:
    outcome, _ = sdy_opt(PROGRAM, "--sdy-note-name=text=b", "-sdy-note-name=text=a")
    assert outcome.output.startswith("module attributes {noted.a, noted.b} {")


def test_generic_form() -> None:
    outcome, _ = sdy_opt(PROGRAM, "--mlir-print-op-generic")
    assert outcome.output.startswith('"builtin.module"() ({')


def test_debuginfo() -> None:
    outcome, _ = sdy_opt(PROGRAM, "--mlir-print-debuginfo")
    assert '"<stdin>":2:3' in outcome.output


def test_a_diagnostic_with_line_and_caret() -> None:
    outcome, log = sdy_opt(BAD)
    assert outcome == RunOutcome("", False)
    assert re.fullmatch(
        r"<stdin>:3:12: error: [^\n]+\n    return %x : f32\n {11}\^\n(.*note:.*\n.*\n *\^\n)*", log
    )


def test_a_failing_pass() -> None:
    outcome, log = sdy_opt(PROGRAM, "--sdy-fail-here", "--sdy-note-name")
    assert outcome == RunOutcome("", False)
    assert log == ("<stdin>:2:3: error: cannot go on\n  func.func @main(%arg0: tensor<8xf32>) {\n  ^\n")


@pytest.mark.parametrize(("flags", "fails"), [((), True), (("--verify-each=false",), False)])
def test_verify_each(flags: tuple[str, ...], fails: bool) -> None:
    outcome, log = sdy_opt(PROGRAM, "--sdy-break-module", *flags)
    assert outcome.succeeded != fails
    assert ("<stdin>:2:3: error: 'func.func' op " in log) == fails


def test_chunks_keep_their_lines() -> None:
    chunks = list(split_chunks("a\n// -----\nb\nc\n// ----- more\n", "// -----"))
    assert [(chunk.text, chunk.first_line) for chunk in chunks] == [("a\n", 1), ("b\nc\n", 3), ("\n", 6)]


def test_split_input() -> None:
    source = f"{PROGRAM}// -----\n{BAD}// -----\n{PROGRAM}"
    outcome, log = sdy_opt(source, "--split-input-file")
    assert outcome == RunOutcome(f"{PROGRAM}\n// -----\n// -----\n{PROGRAM}", False)
    assert log.startswith("<stdin>:9:12: error: ")
    assert "    return %x : f32\n           ^" in log


def test_output_split_marker() -> None:
    outcome, _ = sdy_opt(f"{PROGRAM}// -----\n{PROGRAM}", "--split-input-file", "--output-split-marker=// ==")
    assert outcome.output == f"{PROGRAM}\n// ==\n{PROGRAM}"


def test_expected_diagnostics() -> None:
    expected = PROGRAM.replace("module {", "module { // expected-error@+1 {{cannot go on}}")
    assert sdy_opt(expected, "--sdy-fail-here", "--verify-diagnostics") == (RunOutcome("", True), "")


def test_expected_diagnostics_that_do_not_come() -> None:
    expected = PROGRAM.replace("module {", "module { // expected-error {{oh no}}")
    outcome, log = sdy_opt(expected, "--verify-diagnostics")
    assert not outcome.succeeded
    assert log.startswith('<stdin>:1:13: error: expected error "oh no" was not produced\n')


def test_unexpected_diagnostics() -> None:
    outcome, log = sdy_opt(PROGRAM, "--sdy-fail-here", "--verify-diagnostics")
    assert not outcome.succeeded
    assert log.startswith("<stdin>:2:3: error: unexpected error: cannot go on\n")
    outcome, log = sdy_opt(PROGRAM, "--sdy-fail-here", "--verify-diagnostics=only-expected")
    assert (outcome.succeeded, log) == (True, "")


def test_expected_diagnostics_in_a_chunk() -> None:
    bad = BAD.replace("return %x : f32", "return %x : f32 // expected-error {{undeclared SSA value}}")
    outcome, log = sdy_opt(f"{PROGRAM}// -----\n{bad}", "--split-input-file", "--verify-diagnostics")
    assert (outcome.succeeded, log) == (True, "")


def test_dumps() -> None:
    _, log = sdy_opt(
        PROGRAM,
        "--sdy-note-name",
        "--symbol-dce",
        "--mlir-print-ir-before=symbol-dce",
        "--mlir-print-ir-after-all",
    )
    assert re.findall(r"// -----// (.*) //----- //", log) == [
        "IR Dump After NoteNamePass (sdy-note-name)",
        "IR Dump Before SymbolDcePass (symbol-dce)",
        "IR Dump After SymbolDcePass (symbol-dce)",
    ]
    assert log.count("module attributes {noted.x} {\n  func.func @main") == 3


def test_dump_of_a_failure() -> None:
    _, log = sdy_opt(PROGRAM, "--sdy-fail-here", "--mlir-print-ir-after-all")
    assert log.startswith("// -----// IR Dump After FailHerePass Failed (sdy-fail-here) //----- //\nmodule {")


def test_timing() -> None:
    _, log = sdy_opt(PROGRAM, "--sdy-note-name", "--mlir-timing")
    names = re.findall(r"^ +\d+\.\d{4} \( *\d+\.\d%\)  (.*)$", log, re.MULTILINE)
    assert names == ["Parser", "NoteNamePass", "(V) verifier", "Output", "Total"]
