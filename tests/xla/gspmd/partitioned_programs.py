"""Runs programs propagated here and exported for GSPMD on eight devices beside JAX's own; run as a script.

Prints a line of JSON for each program: whether all results are equal, and whether they have equal shardings.
"""

from __future__ import annotations

import json
import os
from typing import Any

COUNT = 3
"""The programs of `dumped_programs.py` without Python callbacks."""


def main() -> None:
    """Compare program by program."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np

    from shardy_py import Program, propagate
    from tests.xla.gspmd.dumped_programs import lowered_programs

    random = np.random.default_rng(0)
    for lowered in lowered_programs(jax)[:COUNT]:
        shapes = [argument.shape for argument in jax.tree.leaves(lowered.in_avals)]
        arguments = [random.standard_normal(shape).astype("float32") for shape in shapes]
        compiled = lowered.compile()
        expected = jax.tree.leaves(compiled(*map(jax.device_put, arguments, _inputs(jax, compiled))))
        options = {"add_missing_sharding_to_control_flow": True}
        program = propagate(Program.parse(lowered.as_text())).program
        written = program.run("xla-sdy-stablehlo-export-pipeline", **options).text()
        results = _run(jax, written, arguments, [value.shape for value in expected])
        pairs = list(zip(results, expected, strict=True))
        is_equal = all(np.allclose(ours, theirs, atol=1e-4) for ours, theirs in pairs)
        is_alike = all(o.sharding.is_equivalent_to(t.sharding, t.ndim) for o, t in pairs)
        print(json.dumps({"equal": is_equal, "alike": is_alike}))


def _inputs(jax: Any, compiled: Any) -> list[Any]:
    return jax.tree.leaves(compiled.input_shardings[0])


def _run(jax: Any, text: str, arguments: list[Any], shapes: list[Any]) -> list[Any]:
    """The results of a program with GSPMD's shardings, by GSPMD."""
    import numpy as np
    from jax._src.lib import xla_client  # pyright: ignore
    from jax._src.sharding_impls import GSPMDSharding
    from jaxlib import _hlo  # pyright: ignore

    devices = tuple(jax.devices())
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_partitions = build.num_partitions = len(devices)
    build.use_spmd_partitioning, build.use_shardy_partitioner = True, False
    assignment = xla_client.DeviceAssignment.create(np.arange(len(devices)).reshape(1, -1))
    options.device_assignment = build.device_assignment = assignment
    client = devices[0].client
    executable = client.compile_and_load(text.encode(), xla_client.DeviceList(devices), options)

    def shardings(protos: Any) -> list[Any]:
        return [GSPMDSharding(devices, _hlo.HloSharding.from_proto(proto)) for proto in protos]

    placed = map(jax.device_put, arguments, shardings(executable.get_parameter_shardings()))
    shards = executable.execute_sharded(list(placed)).disassemble_into_single_device_arrays()
    placements = shardings(executable.get_output_shardings())
    return list(map(jax.make_array_from_single_device_arrays, shapes, placements, shards))


if __name__ == "__main__":
    main()
