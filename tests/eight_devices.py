"""What JAX does with eight devices, which a process has only if it asks for them before it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_UNOPTIMIZED = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def compile_flags(devices: int = 8) -> str:
    """XLA's flags for so many devices of the host, and programs that are compiled but not run.

    Machine code is not optimized; HLO, of which shardings, collectives and buffers are read, is the same.
    """
    return f"--xla_force_host_platform_device_count={devices} {_UNOPTIMIZED}"


def run_on_eight_devices(script: str, given: Any = None) -> Any:
    """What `script`, which compiles programs but runs none, prints, as JSON; `given` is what it reads.

    Skips without JAX.
    """
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    environment = {
        **os.environ,
        "XLA_FLAGS": compile_flags(),
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
