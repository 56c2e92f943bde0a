"""Reports share what is planned and stored: none changes what another finds, in either order."""

from __future__ import annotations

from collections.abc import Callable

from shardy_py import Program, Result, propagate
from shardy_py.report.time.counted import PlannedFacts
from shardy_py.xla.buffers.on_chips import chip_block

PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(
    %a: tensor<16x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, jax.buffer_donor = true},
    %w: tensor<32x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<16x32xbf16> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%j = %i, %x = %a) : tensor<i32>, tensor<16x32xbf16>
  cond {
    %p = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %k = stablehlo.add %j, %one : tensor<i32>
    %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<32x32xbf16>) -> tensor<32x32xbf16>
    %d = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0]
        : (tensor<16x32xbf16>, tensor<32x32xbf16>) -> tensor<16x32xbf16>
    %e = stablehlo.exponential %d : tensor<16x32xbf16>
    %s = stablehlo.add %e, %x : tensor<16x32xbf16>
    stablehlo.return %k, %s : tensor<i32>, tensor<16x32xbf16>
  }
  %0 = stablehlo.tanh %r#1 : tensor<16x32xbf16>
  %1 = stablehlo.multiply %0, %r#1 : tensor<16x32xbf16>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"x"}]> : tensor<16x32xbf16>
  return %2 : tensor<16x32xbf16>
}
"""
REPORTS: dict[str, Callable[[Result], object]] = {
    "memory": lambda result: result.memory("tpu-v5p"),
    "time": lambda result: result.time("tpu-v5p"),
    "memory of layouts": lambda result: result.memory("tpu", partitioner="xla"),
}


def _result() -> Result:
    return propagate(Program.parse(PROGRAM, as_compiled=True), progress=False)


def test_no_report_changes_another() -> None:
    alone = {name: str(make(_result())) for name, make in REPORTS.items()}
    for order in ([*REPORTS], [*REPORTS][::-1]):
        result = _result()
        assert {name: str(REPORTS[name](result)) for name in order} == alone
        assert str(REPORTS[order[0]](result)) == alone[order[0]]


def test_what_is_stored_and_planned_is_made_once() -> None:
    result = _result()
    program = result.forecasts.planned_by_xla
    (function,) = program.entries
    _ = result.memory("tpu-v5p").estimate
    block, facts = chip_block(program, function, "tpu"), PlannedFacts.of(program, function)
    _ = str(result.time("tpu-v5p"))
    assert chip_block(program, function, "tpu") is block
    assert PlannedFacts.of(program, function) is facts
    assert block.block is facts.block
