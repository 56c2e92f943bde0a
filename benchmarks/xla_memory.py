"""The memory that XLA allocates for programs on devices of the host: JSON texts in, bytes out.

XLA_FLAGS=--xla_force_host_platform_device_count=8 python benchmarks/xla_memory.py < texts.json
"""

from __future__ import annotations

import json
import sys

import jax
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]


def main() -> None:
    devices = jax.devices()
    options = compiler.get_compile_options(num_replicas=1, num_partitions=len(devices))
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = True
    on = xla_client.DeviceList(tuple(devices))
    found: list[int] = []
    for text in json.load(sys.stdin):
        with mlir.make_ir_context():
            made = devices[0].client.compile_and_load(ir.Module.parse(text), on, options)
        stats = made.get_compiled_memory_stats()
        held = stats.argument_size_in_bytes + stats.temp_size_in_bytes
        found.append(held + stats.output_size_in_bytes - stats.alias_size_in_bytes)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
