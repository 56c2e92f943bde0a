"""Remedies followed in JAX functions help in what XLA compiles: a sample of `follow_remedies.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ("results_64", "padded_16", "memory")
"""Edits of arguments and results, constraints, a rewrite, and a change for memory."""
OTHERS = ("mlp_wrong_down_4096", "experts", "embedding", "router_64", "grouped_x")


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_remedies_help_in_what_xla_compiles(names: tuple[str, ...]) -> None:
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    command = [sys.executable, "-m", "tests.search.advice.follow_remedies", *names]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"of {len(names)} programs help" in run.stdout
    assert ("ok  memory: " in run.stdout) == ("memory" in names)
