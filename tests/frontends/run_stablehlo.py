"""Programs run on the CPU: by the compiler that JAX has, or without compiling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest


def run(program: Any, arguments: Sequence[Any]) -> list[Any]:
    """What the program gives for these arrays."""
    jax = pytest.importorskip("jax", reason="JAX is not installed: nothing runs StableHLO")
    xla_client = pytest.importorskip("jax._src.lib").xla_client
    # Loads LAPACK, without which its custom calls end the process.
    pytest.importorskip("jaxlib.lapack").prepare_lapack_call("getrf_ffi", np.float32)
    devices = jax.devices("cpu")[:1]
    options = xla_client.CompileOptions()
    # Programs of a few ops run once: compiling takes the time.
    options.executable_build_options.debug_options.xla_backend_optimization_level = 0
    options.executable_build_options.debug_options.xla_llvm_disable_expensive_passes = True
    with jax.enable_x64(True):
        executable = devices[0].client.compile_and_load(
            program.text().encode(), xla_client.DeviceList(tuple(devices)), options
        )
        buffers = [jax.device_put(argument, devices[0]) for argument in arguments]
        shards = executable.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [np.asarray(shard[0]) for shard in shards]


def interpreted(program: Any, arguments: Sequence[Any]) -> list[Any]:
    """What our interpreter gives, which is compared with XLA elsewhere."""
    return list(program.run(arguments).arrays)
