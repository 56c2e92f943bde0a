"""Plans that are printed are pasted, traced and compiled, and send what was promised: see `pasting.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ("moe", "mapped")


def _paste(*names: str) -> None:
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    command = [sys.executable, "-m", "tests.search.suggest.pasting", *names]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "BAD" not in run.stdout
    assert all(f"ok  {name}: " in run.stdout for name in names)


def test_plans_send_what_was_promised() -> None:
    _paste(*SAMPLE)


@pytest.mark.slow
def test_plans_of_all_functions_send_what_was_promised() -> None:
    _paste()
