"""Remedies followed in JAX functions help in what XLA compiles: a sample of `follow_remedies.py`."""

from __future__ import annotations

import pytest

from tests.with_jax import run_with_jax

SAMPLE = ("results_64", "padded_16", "memory")
"""Edits of arguments and results, constraints, a rewrite, and a change for memory."""
OTHERS = ("mlp_wrong_down_4096", "experts", "embedding", "router_64", "grouped_x")


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_remedies_help_in_what_xla_compiles(names: tuple[str, ...]) -> None:
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    run = run_with_jax(["-m", "tests.search.advice.follow_remedies", *names])
    printed = run.stdout.decode()
    assert run.returncode == 0, printed + run.stderr.decode()
    assert f"of {len(names)} programs help" in printed
    assert ("ok  memory: " in printed) == ("memory" in names)
