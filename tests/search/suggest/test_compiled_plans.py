"""Plans that the compiler of the device judges, by one that answers as a compiler does, and by a real one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shardy_py import Program, ShardyError
from shardy_py.cli.suggest import main
from shardy_py.xla.compilers import VARIABLE
from tests.search.suggest.test_suggest import LAYERS, TEXT
from tests.xla.compilers.fake import ANSWER, MEMORY, OUT_OF_MEMORY, interpreter


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.parse(TEXT)


def test_the_compiler_judges_the_last_plans(program: Program, tmp_path: Path) -> None:
    python = interpreter(tmp_path, ANSWER)
    suggestion = program.suggest(tries=5, target="h100", progress=False, compile=python)
    assert len(suggestion.verdicts) == len(suggestion.plans)
    held = MEMORY["argument"] + MEMORY["output"] + MEMORY["temp"]
    assert {each.memory_bytes for each in suggestion.verdicts} == {held}
    assert suggestion.fits
    assert "compiled: by the compiler of jax 0.10.2 for h100" in str(suggestion)
    assert suggestion.to_json()["plans"][0]["compiled"]["verdict"] == "fits"
    limited = program.suggest(tries=5, target="h100", progress=False, compile=python, memory="15MB")
    assert not limited.fits
    assert limited.verdicts[0].text == "does not fit"


def test_plans_that_a_compiler_rejects_come_last(tmp_path: Path) -> None:
    """It rejects the first program after the small one that is compiled before the search."""
    (tmp_path / "fails").mkdir()
    (tmp_path / "works").mkdir()
    fails = interpreter(tmp_path / "fails", {"error": OUT_OF_MEMORY})
    works, count = interpreter(tmp_path / "works", ANSWER), tmp_path / "count"
    script = tmp_path / "python"
    second = f"echo x >> {count}; [ $(wc -l < {count}) -eq 2 ]"
    script.write_text(f'#!/bin/sh\n{second} && exec {fails} "$@"\nexec {works} "$@"\n')
    script.chmod(0o755)
    suggestion = Program.parse(LAYERS).suggest(tries=10, target="h100", progress=False, compile=str(script))
    assert len(suggestion.plans) > 1
    *others, last = suggestion.verdicts
    assert all(each.text == "fits" for each in others)
    assert last.text.startswith("out of memory: the compiler for h100 runs out of memory")
    assert suggestion.plans[-1].cost.serial <= suggestion.plans[0].cost.serial


def test_without_a_compiler_the_search_does_not_begin(program: Program, tmp_path: Path) -> None:
    python = interpreter(tmp_path, {"missing": "compiler", "message": "no plugin"})
    with pytest.raises(ShardyError, match="the compiler for h100 is not installed"):
        program.suggest(tries=1 << 20, target="h100", progress=False, compile=python)
    for target in (None, "cpu"):
        with pytest.raises(ShardyError, match="compile: expected target= a GPU or a TPU"):
            program.suggest(tries=1, target=target, progress=False, compile=True)


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "model.mlir"
    source.write_text(TEXT)
    monkeypatch.setenv(VARIABLE, interpreter(tmp_path, ANSWER))
    assert main([str(source), "--tries", "3", "--target", "h100", "--compile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plans"][0]["compiled"]["verdict"] == "fits"
    assert main([str(source), "--compile"]) == 1
    assert "--compile needs --target" in capsys.readouterr().err


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no interpreter with a compiler")
def test_the_compiler_itself(program: Program) -> None:
    try:
        suggestion = program.suggest(tries=5, target="h100", progress=False, compile=True)
    except ShardyError as error:
        if "not installed" in str(error):
            pytest.skip(str(error))
        raise
    for plan, verdict in zip(suggestion.plans, suggestion.verdicts, strict=True):
        assert verdict.received_bytes == pytest.approx(plan.cost.received_bytes, rel=0.05)
        assert verdict.memory_bytes == pytest.approx(plan.cost.memory_bytes, rel=0.25)
