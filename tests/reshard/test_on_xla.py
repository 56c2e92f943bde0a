"""Local programs run on XLA's CPU devices as in the simulator; more: `python -m tests.reshard.on_xla`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.reshard.executables import Execution, executed
from tests.reshard.on_xla import ENVIRONMENT, Compared, Worker, difference, whole
from tests.reshard.on_xla import executed as compared

DOT = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<8x6xf32>, tensor<i32>) {
  %0 = stablehlo.dot %a, %b : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.tanh %0 : tensor<8x6xf32>
  %2 = stablehlo.constant dense<3> : tensor<i32>
  return %1, %2 : tensor<8x6xf32>, tensor<i32>
}
"""  # noqa: E501

LAPACK = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<4x3xf32> {
  %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], api_version = 4 : i32, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k], [i, l]) {i=4, j=3, k=3, l=3} need_replication={j, k, l}, custom>} : (tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<4x3xf32>)
  return %0#1 : tensor<4x3xf32>
}
"""  # noqa: E501

PARALLEL = """
func.func @each(%a: tensor<2xi32>) -> (tensor<2xi32>, tensor<ui32>) {
  %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %1 = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<2xi32>) -> tensor<2xi32>
  %id = stablehlo.ID : tensor<ui32>
  return %0, %id : tensor<2xi32>, tensor<ui32>
}
func.func @main() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %2:4 = "interpreter.run_parallel"(%0, %1) {programs = GRID} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<ui32>, tensor<2xi32>, tensor<ui32>)
  check.expect_eq_const %2#3, dense<1> : tensor<ui32>
  return
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    pytest.importorskip("jaxlib", reason="JAX is not installed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        worker = Worker()
        yield worker
        worker.stop()


def _execution(replicas: int) -> Execution:
    grid, name = (
        ("[[@each, @each]]", "partition_id") if replicas == 1 else ("[[@each], [@each]]", "replica_id")
    )
    (execution,) = executed(PARALLEL.replace("GRID", grid).replace("ID", name), "test")
    return execution


def test_the_local_program_runs_on_devices_of_jax(worker: Worker) -> None:
    found = worker.run(partial(whole, DOT, "dot"))
    assert (found.devices, found.results, found.fault) == (8, 2, "")
    assert found.error < 1e-6


def test_calls_of_lapack_run_on_devices_of_jax(worker: Worker) -> None:
    """XLA's process crashed: JAX loads LAPACK only for ops that it lowers itself."""
    found = worker.run(partial(whole, LAPACK, "lapack"))
    assert (found.devices, found.results, found.fault) == (2, 1, "")


@pytest.mark.parametrize("replicas", [1, 2])
def test_functions_of_executable_tests_run_on_devices(worker: Worker, replicas: int) -> None:
    execution = _execution(replicas)
    assert [array.tolist() for array in execution.inputs] == [[[1, 2], [3, 4]]]
    assert [array.tolist() for array in execution.results] == [[[4, 6], [4, 6]], [0, 1]]
    assert worker.run(partial(compared, execution)) == Compared(2, 2)
    other = replace(execution, results=(execution.results[0] + 1, execution.results[1]))
    assert worker.run(partial(compared, other)).fault == "results [0] differ"


def test_a_process_that_ends_is_replaced(worker: Worker) -> None:
    assert worker.run(_exit).fault == "XLA aborts"
    assert worker.run(Compared) == Compared()


def _exit() -> Compared:
    import os

    os._exit(1)


def test_differences() -> None:
    ones = np.ones(3, np.float32)
    assert difference(ones, ones) == 0
    assert difference(ones, ones * 2) == 1
    assert difference(ones.astype(np.int32), ones) == np.inf
    assert difference(np.array([1, 2]), np.array([1, 3])) == np.inf
    assert difference(np.array([np.nan, 2.0]), np.array([np.nan, 2.0])) == 0
    assert difference(np.array([np.nan, 2.0]), np.array([1.0, 2.0])) == np.inf
