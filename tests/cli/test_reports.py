from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import NEWEST
from shardy_py.cli.driver import RunOutcome, run
from shardy_py.cli.flags import parse_command
from shardy_py.cli.opt import main
from shardy_py.cli.reports import (
    REPORTS,
    Evidence,
    FlagReport,
    ReportRow,
    Request,
    reports_json,
    reports_text,
    with_request,
)
from shardy_py.cli.shell import FAILURE, SUCCESS

PROGRAM = "module {\n  func.func @main(%arg0: tensor<8xf32>) {\n    return\n  }\n}\n"
BAD = "module {\n  oops\n}\n"


def sdy_opt(source: str, *arguments: str) -> tuple[RunOutcome, str]:
    log: list[str] = []
    outcome = run(parse_command(list(arguments)), source, "<stdin>", log.append)
    return outcome, "".join(log)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def _row(**columns: Any) -> ReportRow:
    seen: list[Evidence] = columns.pop("seen", [])

    def answer(evidence: Evidence, argument: str) -> FlagReport:
        seen.append(evidence)
        return FlagReport(lambda: f"about {argument}", lambda: {"of": argument})

    return ReportRow("about", "about", answer, "x", **columns)


@pytest.mark.parametrize(("argument", "hardware"), [("", "h100"), ("=tpu-v5p", "tpu-v5p"), ("=h200", "h200")])
def test_an_argument_counts_beside_a_target(
    argument: str, hardware: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also the one that is the default without a target."""
    flags = ["--sdy-propagation-pipeline", f"--time-report{argument}", "--target=h100"]
    assert main([str(program), *flags]) == 0
    assert f" x {hardware}, as compiled by " in capsys.readouterr().out.splitlines()[0]


def test_an_argument_is_optional_but_not_free() -> None:
    row = REPORTS[0]
    assert parse_command(["--memory-report"]).reports == (Request(row, ""),)
    assert parse_command(["-memory-report=tpu"]).reports == (Request(row, "tpu"),)
    assert parse_command(["--memory-report", "x.mlir"]).input == "x.mlir"
    with pytest.raises(ShardyError, match="--memory-report:1:1: error: unknown target 'gpu'"):
        parse_command(["--memory-report=gpu"])


def test_json_needs_a_report() -> None:
    with pytest.raises(ShardyError, match="--json option: requires a report; add --memory-report"):
        parse_command(["--json"])
    assert parse_command(["--json", "--memory-report"]).reports_as_json
    assert not parse_command(["--json=false"]).reports_as_json


def test_the_last_of_a_row_wins_unless_it_is_repeatable() -> None:
    single, repeatable = _row(), _row(is_repeatable=True)
    requests: tuple[Request, ...] = ()
    for row, argument in (
        (single, "a"),
        (repeatable, "b"),
        (single, "c"),
        (repeatable, "d"),
        (repeatable, "b"),
    ):
        requests = with_request(requests, Request(row, argument))
    assert [(r.row is single, r.argument) for r in requests] == [(True, "c"), (False, "d"), (False, "b")]


def test_a_report_takes_the_place_of_the_module(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--memory-report"]) == SUCCESS
    out, err = capsys.readouterr()
    assert out.startswith("Memory on each device, target linear, as partitioned\n")
    assert "func.func" not in out
    assert err.startswith(f"{program}: remark: no mesh and no shardings")


def test_the_module_goes_to_a_file(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = program.with_name("out.mlir")
    assert main([str(program), "--memory-report", "-o", str(target)]) == SUCCESS
    assert target.read_text() == PROGRAM
    assert capsys.readouterr().out.startswith("Memory on each device")
    assert main([str(program), "--memory-report", "-o", "-"]) == SUCCESS
    assert capsys.readouterr().out.endswith(PROGRAM)


def test_json_is_a_line(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(program), "--memory-report=linear", "--json"]) == SUCCESS
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out)["memory"]["target"] == "linear"


def test_a_report_a_chunk() -> None:
    source = f"{PROGRAM}// -----\n{BAD}// -----\n{PROGRAM}"
    outcome, log = sdy_opt(source, "--split-input-file", "--memory-report")
    parts = outcome.reports.split("// -----\n")
    assert [part.startswith("Memory on each device") for part in parts] == [True, False, True]
    assert not outcome.succeeded
    assert "error: " in log
    outcome, _ = sdy_opt(source, "--split-input-file", "--memory-report", "--json")
    lines = [json.loads(line) for line in outcome.reports.splitlines()]
    assert [line and list(line) for line in lines] == [["jax", "memory"], None, ["jax", "memory"]]


def test_failures_print_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text(BAD)
    assert main([str(path), "--memory-report"]) == FAILURE
    assert capsys.readouterr().out == ""


def test_a_mistake_in_the_program_is_told_in_words() -> None:
    calls_itself = PROGRAM.replace("return", "call @main(%arg0) : (tensor<8xf32>) -> ()\n    return")
    outcome, log = sdy_opt(calls_itself, "--memory-report")
    assert not outcome.succeeded
    assert "<stdin>:3:5: error: @main calls itself" in log


def test_rows_get_the_evidence_they_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Evidence] = []
    for needs in ({}, {"needs_record": True}):
        command = parse_command(["--sdy-note-name"])
        row = _row(seen=seen, **needs)
        run(replace_reports(command, row), PROGRAM, "-", lambda text: None)
    assert [e.record is None for e in seen] == [True, False]
    assert seen[0].after.attributes


def replace_reports(command: Any, row: ReportRow) -> Any:
    return replace(command, reports=(Request(row, "x"),))


def test_text_and_json_of_several() -> None:
    evidence = cast(Evidence, SimpleNamespace(target=None))
    single, repeatable = _row(), _row(is_repeatable=True)
    requests = (Request(single, "a"), Request(repeatable, "b"))
    assert reports_text(requests, evidence) == "about a\n\nabout b\n"
    line = reports_json((Request(repeatable, "b"), Request(repeatable, "c")), evidence)
    assert json.loads(line) == {"jax": NEWEST.name, "about": {"b": {"of": "b"}, "c": {"of": "c"}}}
