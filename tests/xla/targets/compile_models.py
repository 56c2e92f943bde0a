"""Compiles the programs of a set for a GPU or TPU, without one, and keeps what became of them.

    python -m tests.xla.targets.compile_models lower SET cuda|tpu > texts.json
    python -m tests.xla.targets.compile_models compile TARGET texts.json SET COMPILED
    python -m tests.xla.targets.compile_models merge TARGET COMPILED ...

SET: one of tests/xla/spmd (`jax`, `parallel`, `kinds`, `flax`, ...), or `large`, of tests/xla/buffers.
TARGET: h100, v5e, v5p, v6e. The second runs in an environment of its own: jax, jaxlib and the compiler of one
release: jax-cuda12-plugin and jax-cuda12-pjrt, or libtpu (`jax[tpu]`); for GPUs ../shared/targets
describes the device. It writes a line for each program, and goes on where it stopped. The third puts them
into `compiled_TARGET.json`: by set and program, the collectives (kind -> ops, runs, bytes of results), which
`hlo/collectives/` counts, also in the conditions of loops, and the bytes that are allocated.
KEEP=FOLDER keeps the HLO and the compiler's dumps.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from shardy_py.hlo.collectives import collectives_of
from shardy_py.hlo.text import read_module
from shardy_py.xla.compilers.ahead_of_time import ENVIRONMENT, results_without_shardings

TARGETS = Path(__file__).parents[4] / "shared" / "targets"
DEVICES = 8
TOPOLOGIES = {"v5e": "v5e:2x4", "v5p": "v5p:2x2x2", "v6e": "v6e:2x4"}


def lowered(set_: str, platform: str = "cuda") -> Iterator[tuple[str, str]]:
    """The programs of a set as JAX lowers them for a platform, by name; eight devices are needed."""
    import jax

    if set_ == "large":
        large = import_module("tests.xla.buffers.on_large")
        yield from ((name, large.lowered(name, platform).as_text()) for name in large.LARGE)
        return
    for name, (function, arguments, results) in import_module(f"tests.xla.spmd.{set_}_models").programs():
        jitted = function
        if not hasattr(function, "lower"):
            jitted = jax.jit(function) if results is None else jax.jit(function, out_shardings=results)
        yield name, jitted.trace(*arguments).lower(lowering_platforms=(platform,)).as_text()


def compiled(target: str, text: str, folder: str = "") -> dict[str, Any]:
    """What the compiler of a target makes of a program; GPUs: without autotuning."""
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
    from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]

    devices = _devices(target, text)
    flags: dict[str, Any] = {} if target in TOPOLOGIES else {"xla_gpu_autotune_level": 0}
    if folder:
        flags["xla_dump_to"] = folder
    places = {device.id: number for number, device in enumerate(devices[0].client.devices())}
    order = np.array([places.get(device.id, device.id) for device in devices])
    options = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=len(devices),
        device_assignment=order.reshape(1, len(devices)),
        env_options_overrides=flags,  # pyright: ignore[reportArgumentType]
    )
    build = options.executable_build_options
    build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = results_without_shardings(text)
    with mlir.make_ir_context():
        made: Any = devices[0].client.compile(
            ir.Module.parse(text),
            executable_devices=xla_client.DeviceList(tuple(devices)),
            compile_options=options,
        )
    hlo = "\n".join(module.to_string() for module in made.hlo_modules())
    if folder:
        Path(folder, "final.hlo").write_text(hlo)
    memory = made.get_compiled_memory_stats()
    sizes = {
        part: getattr(memory, f"{part}_size_in_bytes") for part in ("argument", "output", "alias", "temp")
    }
    return {"collectives": counted(hlo), "memory": sizes}


def _devices(target: str, text: str) -> Any:
    """The devices of a target, on a TPU in the order in which JAX gives them to the mesh of the program."""
    import numpy as np
    from jax.experimental import topologies

    if target not in TOPOLOGIES:
        description = (TARGETS / "h100.txtpb").read_text()
        found = topologies.get_topology_desc(
            platform="cuda", topology_name=target, topology=f"1x1x{DEVICES}", target_config=description
        )
        return np.array(found.devices)
    found = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[target])
    axes = re.search(r"sdy\.mesh @\w+ = <\[([^\]]+)\]>", text)
    sizes = [int(size) for size in re.findall(r"=(\d+)", axes[1])] if axes else [DEVICES]
    return topologies.make_mesh(found, sizes, tuple(f"axis{i}" for i in range(len(sizes)))).devices.ravel()


def counted(hlo: str) -> dict[str, tuple[int, int, int]]:
    """By kind ops, runs, and bytes of results in all runs."""
    found: dict[str, tuple[int, int, int]] = {}
    for each in collectives_of(read_module(hlo)):
        kind = each.kind.replace("_", "-")
        ops, runs, size = found.get(kind, (0, 0, 0))
        found[kind] = ops + 1, runs + each.runs, size + each.runs * each.made_bytes
    return found


def compile_all(target: str, texts: dict[str, str], set_: str, made: Path) -> None:
    """Adds a line for each program that the file does not have: set, name, and its figures, or the error."""
    done = {tuple(json.loads(line)[:2]) for line in made.read_text().splitlines()} if made.exists() else set()
    for name, text in texts.items():
        if (set_, name) in done:
            continue
        folder = os.path.join(os.environ["KEEP"], target, set_, name) if "KEEP" in os.environ else ""
        if folder:
            os.makedirs(folder, exist_ok=True)
        try:
            answer = compiled(target, text, folder)
        except Exception as error:  # of the compiler, whose classes are its own
            answer = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        with made.open("a") as file:
            print(json.dumps([set_, name, answer]), file=file)


@cache
def compiled_sets(target: str) -> dict[str, dict[str, Any]]:
    """What the compiler of a target made of the sets of tests/xla/spmd: by set and program."""
    place = Path(__file__).parent / f"compiled_{target}.json"
    return json.loads(place.read_text()) if place.exists() else {}


def merge(target: str, files: list[str]) -> None:
    """Puts lines of compiled programs into the file of a target: a line for each program."""
    sets = compiled_sets(target)
    for file in files:
        for line in Path(file).read_text().splitlines():
            set_, name, answer = json.loads(line)
            if "error" not in answer:
                sets.setdefault(set_, {})[name] = answer
    rows = [
        (set_, f"  {json.dumps(name)}: {json.dumps(of)}")
        for set_, each in sets.items()
        for name, of in each.items()
    ]
    parts = [
        f"{json.dumps(set_)}: {{\n" + ",\n".join(row for _, row in own) + "\n}"
        for set_, own in groupby(rows, lambda row: row[0])
    ]
    place = Path(__file__).parent / f"compiled_{target}.json"
    place.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    os.environ.update({**ENVIRONMENT, "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}"})
    command, subject, *rest = sys.argv[1:]
    if command == "lower":
        print(json.dumps(dict(lowered(subject, rest[0]))))
    elif command == "compile":
        compile_all(subject, json.loads(Path(rest[0]).read_text()), rest[1], Path(rest[2]))
    else:
        merge(subject, rest)
