"""Runs programs as XLA compiles them for the CPU, in a process of its own.

    results = compiled_results(text, [x, y], devices=8)

On one device, shardings are removed; several devices run what Shardy partitions. Each op rounds its result.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from typing import Any

from shardy_py.ops.compute import Array
from tests.with_jax import run_with_jax


def compiled_results(text: str, inputs: Sequence[Array], devices: int = 1) -> tuple[list[Array], float]:
    """Returns the results, and the seconds that the second run took.

    inputs: of @main, which has no tokens.

    Raises:
        AssertionError: JAX fails.
    """
    # With as few threads as processors, LAPACK's custom calls can wait for each other for ever.
    flags = f"--xla_force_host_platform_device_count={max(devices, 8)}"
    environment = {"XLA_FLAGS": f"{flags} --xla_allow_excess_precision=false", "JAX_PLATFORMS": "cpu"}
    run = run_with_jax(["-m", __name__], pickle.dumps((text, list(inputs), devices)), environment)
    assert run.returncode == 0, f"exit code {run.returncode} {run.stderr.decode()[-3000:]}"
    return pickle.loads(run.stdout)


def _without_shardings(module: Any) -> None:
    """Removes meshes, shardings and constraints."""
    from jaxlib.mlir import ir

    erased: list[Any] = []

    def visit(op: Any) -> Any:
        name = op.name
        if name == "sdy.sharding_constraint":
            op.results[0].replace_all_uses_with(op.operands[0])
        if name in ("sdy.sharding_constraint", "sdy.sharding_group", "sdy.mesh"):
            erased.append(op)
        for key in ("sdy.sharding", "sdy.sharding_rule"):
            if key in op.attributes:
                del op.attributes[key]
        for key in ("arg_attrs", "res_attrs"):
            if key in op.attributes:
                del op.attributes[key]
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in erased:
        op.erase()


def _main() -> None:
    from time import perf_counter

    import jax
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax
    from jax._src.sharding_impls import GSPMDSharding
    from jax.sharding import SingleDeviceSharding
    from jaxlib.lapack import _lapack
    from jaxlib.mlir import ir

    _lapack.initialize()
    text, inputs, count = pickle.load(sys.stdin.buffer)
    devices = jax.devices()[:count]
    options = compiler.get_compile_options(1, count)
    options.executable_build_options.use_spmd_partitioning = count > 1
    options.executable_build_options.use_shardy_partitioner = count > 1
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        (main,) = (op for op in module.body.operations if str(op.attributes["sym_name"]) == '"main"')
        shapes = [tuple(ir.RankedTensorType(x).shape) for x in main.type.results]
        if count == 1:
            _without_shardings(module)
        code = mlir.module_to_bytecode(module)
    executable = devices[0].client.compile_and_load(code, _jax.DeviceList(tuple(devices)), options)
    placed, returned = (
        [GSPMDSharding(devices, sharding) for sharding in found]
        if found
        else [SingleDeviceSharding(devices[0])] * number
        for found, number in (
            (executable.get_parameter_shardings(), len(inputs)),
            (executable.get_output_shardings(), len(shapes)),
        )
    )
    arrays = [jax.device_put(x, sharding) for x, sharding in zip(inputs, placed, strict=True)]
    for _ in range(2):
        start = perf_counter()
        columns = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
        made = [
            np.asarray(jax.make_array_from_single_device_arrays(*parts))
            for parts in zip(shapes, returned, columns, strict=True)
        ]
        seconds = perf_counter() - start
    sys.stdout.buffer.write(pickle.dumps((made, seconds)))


if __name__ == "__main__":
    _main()
