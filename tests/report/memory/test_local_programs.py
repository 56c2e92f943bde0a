"""The memory of local programs beside a brute-force count of the local values alive at each op."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from shardy_py import Program, propagate
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.plain import tensor_type
from shardy_py.passes.pipelines import before_propagation_passes
from shardy_py.passes.runner import run_passes

DONATED = {"tf.aliasing_output", "jax.buffer_donor"}

HALO = """
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<30x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<16x30xf32>)
    -> (tensor<30x16xf32>, tensor<30x30xf32>) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<30x16xf32>
  %1 = stablehlo.slice %0 [1:29, 0:16] : (tensor<30x16xf32>) -> tensor<28x16xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.pad %1, %c, low = [2, 0], high = [0, 0], interior = [0, 0]
      : (tensor<28x16xf32>, tensor<f32>) -> tensor<30x16xf32>
  %3 = stablehlo.dot %2, %b : (tensor<30x16xf32>, tensor<16x30xf32>) -> tensor<30x30xf32>
  return %2, %3 : tensor<30x16xf32>, tensor<30x30xf32>
}
"""


def bytes_of(value: Any) -> int:
    type_ = tensor_type(value.type)
    assert type_ is not None
    widths = {"f32": 4, "bf16": 2, "i32": 4, "i64": 8, "i1": 1, "ui32": 4}
    return prod(size or 0 for size in type_.shape) * widths[type_.element]


def brute_force_peak(function: FuncOp) -> int:
    """The most bytes alive at one op: the values that it or a later op uses, or it makes.

    Arguments are alive throughout, but those that are donated only up to their last use.
    """
    ops = list(function.body.block.ops)
    place = {op: number for number, op in enumerate(ops)}
    given: Any = function.arg_attrs
    donated = [bool(DONATED & attributes.data.keys()) for attributes in given or ()]
    lives: list[tuple[Any, int, int]] = []
    for number, value in enumerate(function.body.block.args):
        end = max((place[use.operation] for use in value.uses), default=-1)
        lives.append((value, 0, end if donated and donated[number] else len(ops)))
    for op in ops:
        for value in op.results:
            end = max((place[use.operation] for use in value.uses), default=place[op])
            lives.append((value, place[op], end))
    return max(
        sum(bytes_of(value) for value, start, end in lives if start <= number <= end)
        for number in range(len(ops))
    )


@pytest.mark.parametrize("name", ["halo", "mlp_train", "transformer_forward", "priorities"])
def test_the_peak_is_that_of_brute_force(name: str, corpus: Callable[[str], str]) -> None:
    """Of programs without loops, branches and calls, which XLA inlines too."""
    module = parse_module(HALO if name == "halo" else corpus(name))
    local = propagate(Program(run_passes(module, before_propagation_passes()))).partition()
    (function,) = (op for op in local.program.module.ops if isinstance(op, FuncOp))
    (entry,) = local.memory().entries
    assert entry.peak.bytes.local_bytes == brute_force_peak(function)
