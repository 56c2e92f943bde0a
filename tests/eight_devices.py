"""What JAX does with eight devices, which a process has only if it asks for them before it starts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.with_jax import run_with_jax

UNOPTIMIZED = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def compile_flags(devices: int = 8) -> str:
    """XLA's flags for so many devices of the host, and programs that are compiled but not run.

    Machine code is not optimized; HLO, of which shardings, collectives and buffers are read, is the same.
    """
    return f"--xla_force_host_platform_device_count={devices} {UNOPTIMIZED}"


def run_on_eight_devices(script: str, given: Any = None) -> Any:
    """What `script`, which compiles programs but runs none, prints, as JSON; `given` is what it reads.

    Skips without JAX.
    """
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    environment = {"XLA_FLAGS": compile_flags(), "JAX_PLATFORMS": "cpu"}
    run = run_with_jax(["-c", script], json.dumps(given).encode(), environment)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)
