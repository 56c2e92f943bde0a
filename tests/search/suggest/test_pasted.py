"""Plans that are printed are pasted, traced and compiled, and send what was promised: see `pasting.py`."""

from __future__ import annotations

import pytest

from tests.with_jax import run_with_jax

SAMPLE = ("mapped",)


def _paste(*names: str) -> None:
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    run = run_with_jax(["-m", "tests.search.suggest.pasting", *names])
    printed = run.stdout.decode()
    assert run.returncode == 0, printed + run.stderr.decode()
    assert "BAD" not in printed
    assert all(f"ok  {name}: " in printed for name in names)


def test_plans_send_what_was_promised() -> None:
    _paste(*SAMPLE)


@pytest.mark.slow
def test_plans_of_all_functions_send_what_was_promised() -> None:
    _paste()
