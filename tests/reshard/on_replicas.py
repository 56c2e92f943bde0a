"""Runs a local function on replicas: processes that XLA's partitioner does not see as partitions.

    results = run_on_replicas(text, "main", parts, 2)

JAX itself runs partitions only (`shardy_py/frontends/jax_devices.py`); its client also compiles for replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from shardy_py.ops.compute import Array


def run_on_replicas(text: str, function: str, parts: Sequence[Array], count: int) -> list[Array]:
    """Returns the results of all replicas, [replicas, *local]; parts: [1 or replicas, *local]."""
    jax: Any = import_module("jax")
    xla_client: Any = import_module("jaxlib.xla_client")
    devices = jax.devices()[:count]
    options = xla_client.CompileOptions()
    options.num_replicas = count
    module, client = _entry(text, function), devices[0].client
    executable = client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
    mesh = jax.sharding.Mesh(np.array(devices), ("replicas",))
    placed = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("replicas"))
    arguments = [jax.device_put(_flat(part, count), placed) for part in parts]
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.stack([np.asarray(part) for part in each]) for each in results]


def _entry(text: str, function: str) -> Any:
    """The module with the function as its `@main`, the others private."""
    ir: Any = import_module("jaxlib.mlir.ir")
    context = import_module("jax._src.interpreters.mlir").make_ir_context()
    with context:
        module = ir.Module.parse(text)
        for op in module.body.operations:
            if ir.StringAttr(op.attributes["sym_name"]).value == function:
                op.attributes["sym_name"] = ir.StringAttr.get("main")
            else:
                op.attributes["sym_visibility"] = ir.StringAttr.get("private")
    return module


def _flat(part: Array, count: int) -> Array:
    """The parts one after the other along their first dimension."""
    every = np.broadcast_to(part, (count, *part.shape[1:]))
    return every.reshape((count * part.shape[1], *part.shape[2:]))
