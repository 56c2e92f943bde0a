"""The tour of examples/ runs, and shows what its file shows."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


def outputs_of(notebook: Any) -> Iterator[Any]:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield from cell["outputs"]


def joined(value: Any) -> Any:
    """Texts of a file are lists of lines."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "".join(value)
    if isinstance(value, dict):
        return {key: joined(each) for key, each in value.items()}
    return [joined(each) for each in value] if isinstance(value, list) else value


def test_the_file_has_outputs_without_errors_and_scripts() -> None:
    stored = json.loads((EXAMPLES / "tour.ipynb").read_text())
    outputs = [*outputs_of(stored)]
    assert outputs
    assert {each["output_type"] for each in outputs} == {"execute_result", "stream"}
    assert not [cell for cell in stored["cells"] if cell["cell_type"] == "code" and not cell["outputs"]]
    html = ["".join(each["data"].get("text/html", "")) for each in outputs if "data" in each]
    assert sum(map(bool, html)) >= 10
    assert not any("<script" in text or "http" in text for text in html)
    assert any("image/svg+xml" in each.get("data", ()) for each in outputs)


@pytest.mark.filterwarnings("ignore")  # those of Jupyter's own packages
def test_the_tour_runs_as_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(name)
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    made = runpy.run_path(str(EXAMPLES / "make_tour.py"))
    stored = json.loads((EXAMPLES / "tour.ipynb").read_text())
    found = json.loads(made["text_of"](made["executed"]()))
    assert joined(found["cells"]) == joined(stored["cells"])
