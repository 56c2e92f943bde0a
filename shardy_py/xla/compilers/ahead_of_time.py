"""Compiles a program for a device that is not there, in an interpreter with JAX and the device's compiler.

    python ahead_of_time.py REQUEST ANSWER

REQUEST: a JSON file with the program as StableHLO, the platform, its topology and mesh, and options. ANSWER:
the file for the HLO, the memory, and the versions, or for the error. It imports nothing of this package,
which that interpreter need not have.
"""
# pyright: basic, reportPrivateImportUsage=false, reportArgumentType=false, reportAttributeAccessIssue=false

import json
import os
import sys
from pathlib import Path

ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
"""So that no device is looked for, and several processes may compile at once."""
_MEMORY = ("argument", "output", "alias", "temp")


def answer(request: dict[str, object]) -> dict[str, object]:
    """The compiled program, or why there is none."""
    try:
        import jax
    except ImportError as error:
        return {"missing": "jax", "message": str(error)}
    versions = {"jax": jax.__version__}
    try:
        devices = _devices(request)
    except (NotImplementedError, RuntimeError) as error:
        return {"missing": "compiler", "message": str(error), "versions": versions}
    except ValueError as error:
        return {"error": str(error), "versions": versions}
    try:
        return {**_compiled(request, devices), "versions": versions}
    except jax.errors.JaxRuntimeError as error:
        return {"error": str(error), "versions": versions}
    except (AttributeError, ImportError, TypeError) as error:  # of another release of JAX
        return {"missing": "release", "message": f"{type(error).__name__}: {error}", "versions": versions}


def _devices(request):
    """The devices of a topology, in the order of the mesh."""
    import numpy as np
    from jax.experimental import topologies

    found = topologies.get_topology_desc(platform=request["platform"], **request["topology"])
    sizes = tuple(request["mesh"])
    count = int(np.prod(sizes))
    if len(found.devices) != count:
        raise ValueError(f"the topology has {len(found.devices)} devices, the mesh {count}")
    try:
        return topologies.make_mesh(found, sizes, [f"axis{i}" for i in range(len(sizes))]).devices.ravel()
    except (NotImplementedError, ValueError):  # of meshes that do not fit the torus
        return np.array(found.devices)


def results_without_shardings(text):
    """For each result of the program whether XLA chooses its sharding, and with it the layout, as for JAX."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        symbols = ir.SymbolTable(module.operation)
        main = symbols["main"]
        count = len(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
        known = "res_attrs" in main.attributes
        found = ir.ArrayAttr(main.attributes["res_attrs"]) if known else [{}] * count
        return ["sdy.sharding" not in str(each) for each in found] or [True]


def _compiled(request, devices):
    """The compiled program and its memory, by what JAX itself calls to compile."""
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    places = {device.id: number for number, device in enumerate(devices[0].client.devices())}
    order = np.array([places.get(device.id, device.id) for device in devices])
    options = compiler.get_compile_options(
        num_replicas=1,
        num_partitions=len(devices),
        device_assignment=order.reshape(1, len(devices)),
        env_options_overrides=request["options"],
    )
    build = options.executable_build_options
    build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_output = results_without_shardings(request["program"])
    with mlir.make_ir_context():
        made = devices[0].client.compile(
            ir.Module.parse(request["program"]),
            executable_devices=xla_client.DeviceList(tuple(devices)),
            compile_options=options,
        )
    memory = made.get_compiled_memory_stats()
    return {
        "hlo": "\n".join(module.to_string() for module in made.hlo_modules()),
        "memory": {part: getattr(memory, f"{part}_size_in_bytes") for part in _MEMORY},
    }


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    source, target = sys.argv[1:]
    Path(target).write_text(json.dumps(answer(json.loads(Path(source).read_text()))))
