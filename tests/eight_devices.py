"""What JAX does with eight devices, which a process has only if it asks for them before it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def run_on_eight_devices(script: str, given: Any = None) -> Any:
    """What `script` prints, as JSON; `given` is what it reads. Skips without JAX."""
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    run = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(given),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
