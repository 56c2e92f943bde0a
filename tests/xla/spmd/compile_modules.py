"""The child process of `compiled.partitioned`: modules as JSON in, HLO around spmd-partitioning as JSON out.

`python -m tests.xla.spmd.compile_modules FOLDER DEVICES`, with XLA's flags that dump into the folder. Modules
without a mesh of sdy have shardings of XLA (`mhlo.sharding`), which it takes as they are.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    folder, devices = Path(sys.argv[1]), int(sys.argv[2])
    import jax
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]

    client = jax.devices()[0].client
    options = compiler.get_compile_options(num_replicas=1, num_partitions=devices)
    options.executable_build_options.use_spmd_partitioning = True
    on = xla_client.DeviceList(tuple(jax.devices()))
    found: list[tuple[str, str, str]] = []
    logged = folder / "stderr"
    standard_error = os.dup(2)
    for module in json.load(sys.stdin):
        with logged.open("wb") as file:
            os.dup2(file.fileno(), 2)
            error = ""
            options.executable_build_options.use_shardy_partitioner = "sdy.mesh" in module
            try:
                with mlir.make_ir_context():
                    client.compile_and_load(ir.Module.parse(module), on, options)
            except Exception as stop:  # XLA has no type for the unknown custom call
                error = str(stop)
            os.dup2(standard_error, 2)
        texts = [_text(folder, which) for which in ("before_spmd-partitioning", "after_spmd-partitioning")]
        found.append((texts[0], texts[1], logged.read_text(errors="replace") + error))
        for file in folder.rglob("*.*"):
            if file.is_file():
                file.unlink()
    print(json.dumps(found))


def _text(folder: Path, which: str) -> str:
    return next((file.read_text() for file in sorted(folder.glob(f"*{which}*.txt"))), "")


if __name__ == "__main__":
    main()
