"""One of several processes that run a local program: `python -m tests.reshard.in_processes PORT COUNT INDEX`.

Each has `DEVICES` CPU devices of the `COUNT` times as many. Prints a line of JSON with what it found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module

import numpy as np

from shardy_py import Program, propagate
from shardy_py.api.local_program import LocalProgram
from shardy_py.base.errors import ShardyError
from shardy_py.ops.compute import Array

DEVICES = 4
PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<7x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<12x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot %a, %b : (tensor<7x12xf32>, tensor<12x6xf32>) -> tensor<7x6xf32>
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<7x12xf32>) -> tensor<12x7xf32>
  return %0, %1 : tensor<7x6xf32>, tensor<12x7xf32>
}
"""  # noqa: E501
"""A product summed inside a process, a transpose exchanged between the two, and 7 rows split unevenly."""


def main(port: str, count: str, index: str) -> None:
    """Joins the other processes, runs the program on all their devices, prints the errors."""
    jax = import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", DEVICES)
    jax.distributed.initialize(f"localhost:{port}", num_processes=int(count), process_id=int(index))
    local = propagate(Program.parse(PROGRAM)).partition()
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in ((7, 12), (12, 6))]
    devices: list[object] = jax.devices()
    expected = local.run(inputs).arrays
    errors = [
        max(map(_error, local.run_on_jax(inputs, devices=each).arrays, expected))
        for each in (None, devices[::-1], [*devices[::2], *devices[1::2]])
    ]
    found = {
        "devices": len(devices),
        "errors": errors,
        "few": _message(propagate(Program.parse(PROGRAM.replace('"x"=2', '"x"=1'))).partition(), inputs),
        "twice": _message(local, inputs, [devices[0]] * len(devices)),
    }
    print(json.dumps(found))


def _error(got: Array, expected: Array) -> float:
    return float(np.max(np.abs(got - expected)))


def _message(local: LocalProgram, inputs: list[Array], devices: list[object] | None = None) -> str:
    run: Callable[..., object] = local.run_on_jax
    try:
        run(inputs, devices=devices)
    except ShardyError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
