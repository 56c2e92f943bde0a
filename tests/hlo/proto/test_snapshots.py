"""Snapshots of a run that XLA itself dumped: `--xla_dump_hlo_unoptimized_snapshots`."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shardy_py import Program

STORED = Path(__file__).parent / "data" / "run.hlo_unoptimized_snapshot.pb"
STEP = "import jax, jax.numpy as jnp; jax.jit(lambda x: jnp.tanh(x @ x))(jax.numpy.ones((8, 8)))"


def test_a_stored_snapshot_of_a_run() -> None:
    text = str(Program.load(STORED))
    assert "%arg0: tensor<8x16xf32>, %arg1: tensor<16x4xf32>" in text
    assert "stablehlo.tanh" in text


@pytest.mark.slow
@pytest.mark.skipif(find_spec("jax") is None, reason="needs jax")
def test_the_snapshots_of_this_jaxlib(tmp_path: Path) -> None:
    flags = f"--xla_dump_to={tmp_path} --xla_dump_hlo_unoptimized_snapshots"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", STEP], check=True, env=environment)
    text = str(Program.load(tmp_path))
    assert "stablehlo.dot_general" in text
