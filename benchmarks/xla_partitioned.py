"""Writes what XLA's SPMD partitioner makes of a program: `xla_partitioned.py FILE DEVICES DIRECTORY`.

FILE: StableHLO with shardings of sdy. XLA propagates and partitions it for so many devices of the CPU; the
HLO module before and after the partitioner is dumped to DIRECTORY. Needs jax. XLA reads its flags once, so
each program needs a process of its own, and compiles on after the dump: `bytes_sent.py` ends it.
"""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path
from typing import Any


def main(file: str, count: int, directory: str) -> None:
    flags = f"--xla_force_host_platform_device_count={count} --xla_dump_to={directory}"
    os.environ["XLA_FLAGS"] = f"{flags} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.*spmd.*"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jaxlib.mlir import ir

    data = Path(file).read_bytes()
    text = (gzip.decompress(data) if file.endswith(".gz") else data).decode()
    devices = jax.devices()[:count]
    options: Any = compiler.get_compile_options(1, count, np.arange(count).reshape(1, count))
    build = options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = [True]
    build.allow_spmd_sharding_propagation_to_parameters = [True]
    client: Any = devices[0].client
    with mlir.make_ir_context():
        client.compile_and_load(ir.Module.parse(text), xla_client.DeviceList(tuple(devices)), options)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
