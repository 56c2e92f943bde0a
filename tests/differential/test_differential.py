"""Random programs against the C++ Shardy, a few a mode; what fails is shrunk to a small program.

`SHARDY_DIFFERENTIAL=2000` runs as many a mode; `python -m tests.differential.run` prints a table instead.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.differential.modes import DIFFERENT, MODES, Mode, compare, run_ours
from tests.differential.programs import Width, wide_program
from tests.differential.reference_process import CRASHED, ReferenceProcess

COUNT = int(os.environ.get("SHARDY_DIFFERENTIAL", "5"))


@pytest.fixture(scope="module")
def process() -> Iterator[ReferenceProcess]:
    pytest.importorskip("jaxlib.mlir.ir", reason="jaxlib (extra: reference) is not installed")
    with ReferenceProcess() as process:
        yield process


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_mode(mode: Mode, process: ReferenceProcess) -> None:
    @settings(
        max_examples=COUNT,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False))
    def check(rng: random.Random) -> None:
        outcome, detail = compare(mode, mode.program(rng), process)
        assert outcome != DIFFERENT, detail

    check()


def test_programs_are_worth_comparing(process: ReferenceProcess) -> None:
    """They are valid, and come with what they promise."""
    texts = [mode.program(random.Random(seed)) for mode in MODES for seed in range(10)]
    for word in (
        "unreduced=",
        "func.call",
        "sharding_group",
        "manual_computation",
        "named_computation",
        "p1",
        ":(1)2",
        "while",
    ):
        assert any(word in text for text in texts), word
    assert all(process.run(text, "")[0] in ("", CRASHED) for text in texts)


@pytest.mark.parametrize("seed", range(10))
def test_pipeline_of_named_computations(seed: int) -> None:
    """C++ gives them their edges twice and then crashes; here the result verifies, and none is left."""
    text = wide_program(random.Random(seed), Width(named=True, calls=False))
    assert "named_computation" not in run_ours(text, (("sdy-propagation-pipeline", ""),))
