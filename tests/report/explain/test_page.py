"""The page on explanations is true: its program gives what it shows, its Python code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.report.explain import WhyNot
from shardy_py.report.explain.explanation import KINDS
from tests.report.explain.removing import explained


@pytest.fixture(name="page")
def fixture_page(root: Path) -> str:
    return (root / "docs" / "explain.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_what_it_shows(page: str) -> None:
    (program,) = blocks(page, "mlir")
    module = parse_module(program)
    explainer = explained(module)
    shown, _, why = re.findall(
        r"```\n(.*?)```", re.sub(r"```(mlir|python)\n.*?```", "", page, flags=re.DOTALL), re.DOTALL
    )
    text = f"{explainer.explain(explainer.names.table.find('%1'))}\n"
    assert text.startswith(shown.removesuffix("  ...\n"))
    reasons = WhyNot(explainer).reasons(explainer.names.table.find("w2"), 0, "model")
    assert f"{reasons}\n" == why


def test_code(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks(page, "mlir")
    (code,) = blocks(page, "python")
    exec(code, {"text": program})
    assert "dim 0 is sharded along data" in capsys.readouterr().out


def test_every_reason_is_there(page: str) -> None:
    table = page.split("| reason |")[1].split("\n\n")[0]
    assert set(
        re.findall(r"`([\w -]+)`", "\n".join(line.split("|")[1] for line in table.split("\n")[2:]))
    ) == {*KINDS} - {"unknown"}
