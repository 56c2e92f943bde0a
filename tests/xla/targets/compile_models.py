"""Compiles the programs of a set of tests/xla/spmd for H100, without one, and prints what became of them.

    python -m tests.xla.targets.compile_models lower SET > texts.json         in the environment of the tests
    python -m tests.xla.targets.compile_models compile texts.json > SET.json  in one with jax-cuda12-plugin

The second needs jax, jaxlib, jax-cuda12-plugin and jax-cuda12-pjrt of one release, and ../shared/targets for
the description of the device. Collectives are counted by `hlo/collectives/`, also in the conditions of
loops. Its results are in `compiled_h100.json`: by set,
and program, the collectives (kind -> ops, runs, bytes of results) and the bytes that are allocated.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from shardy_py.hlo.collectives import collectives_of
from shardy_py.hlo.text import read_module

TARGETS = Path(__file__).parents[4] / "shared" / "targets"
DEVICES = 8


def lowered(set_: str) -> dict[str, str]:
    """The programs of a set as JAX lowers them for GPUs, by name; eight devices are needed."""
    import jax

    found: dict[str, str] = {}
    for name, (function, arguments, results) in import_module(f"tests.xla.spmd.{set_}_models").programs():
        jitted = function
        if not hasattr(function, "lower"):
            jitted = jax.jit(function) if results is None else jax.jit(function, out_shardings=results)
        found[name] = jitted.trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
    return found


def compiled(texts: dict[str, str]) -> dict[str, Any]:
    """What XLA:GPU makes of programs, without autotuning."""
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]
    from jax.experimental import topologies

    description = (TARGETS / "h100.txtpb").read_text()
    topology = topologies.get_topology_desc(
        platform="cuda", topology_name="h100", topology=f"1x1x{DEVICES}", target_config=description
    )
    devices: Any = np.array(topology.devices)
    found: dict[str, Any] = {}
    for name, text in texts.items():
        options = compiler.get_compile_options(
            num_replicas=1,
            num_partitions=DEVICES,
            device_assignment=np.arange(DEVICES).reshape(1, DEVICES),
            env_options_overrides={"xla_gpu_autotune_level": 0},  # pyright: ignore[reportArgumentType]
        )
        options.executable_build_options.use_shardy_partitioner = True
        with mlir.make_ir_context():
            made: Any = devices[0].client.compile(
                ir.Module.parse(text),
                executable_devices=xla_client.DeviceList(tuple(devices)),
                compile_options=options,
            )
        hlo = "\n".join(module.to_string() for module in made.hlo_modules())
        memory = made.get_compiled_memory_stats()
        sizes = {
            part: getattr(memory, f"{part}_size_in_bytes") for part in ("argument", "output", "alias", "temp")
        }
        found[name] = {"collectives": counted(hlo), "memory": sizes}
    return found


def counted(hlo: str) -> dict[str, tuple[int, int, int]]:
    """By kind ops, runs, and bytes of results in all runs."""
    found: dict[str, tuple[int, int, int]] = {}
    for each in collectives_of(read_module(hlo)):
        kind = each.kind.replace("_", "-")
        ops, runs, size = found.get(kind, (0, 0, 0))
        found[kind] = ops + 1, runs + each.runs, size + each.runs * each.made_bytes
    return found


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    command, subject = sys.argv[1:]
    answer = lowered(subject) if command == "lower" else compiled(json.loads(Path(subject).read_text()))
    print(json.dumps(answer))
