"""Partitioning does the same work for eight devices and for a million; see `benchmarks/partitioning.py`."""

from __future__ import annotations

import cProfile
import re
from math import prod
from typing import Any

from shardy_py import Program, Result, propagate
from shardy_py.api.local_program import LocalProgram
from shardy_py.base.session import SESSION
from shardy_py.mlir.ir import find_ops

TABLE = re.compile(r"= dense<[^:]*?> : tensor<((?:\d+x)*)\w+>")


def _program(data: int) -> str:
    """Reductions, reshards, positions and paddings along axes of size 8 and `data`."""
    rows, wide, columns = (
        f"tensor<{n}xf32>" for n in (f"{8 * data}x64", f"{8 * data}x128", f"64x{8 * data}")
    )
    return f"""
sdy.mesh @mesh = <["x"={data}, "y"=8]>
func.func @main(%x: {rows} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
                %w: tensor<64x128xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"y"}}]>}}) -> (tensor<128xf32>, {columns}) {{
  %0 = stablehlo.dot %x, %w : ({rows}, tensor<64x128xf32>) -> {wide}
  %1 = stablehlo.iota dim = 0 : {wide}
  %2 = stablehlo.add %0, %1 : {wide}
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : ({wide}, tensor<f32>) -> tensor<128xf32>
  %4 = sdy.sharding_constraint %x <@mesh, [{{"x", "y"}}, {{}}]> : {rows}
  %5 = stablehlo.tanh %4 : {rows}
  %6 = stablehlo.transpose %5, dims = [1, 0] : ({rows}) -> {columns}
  return %3, %6 : tensor<128xf32>, {columns}
}}
"""  # noqa: E501


def _convolutions(data: int) -> str:
    image = f"tensor<{data}x32x4x2xf32>"
    form = "dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}"
    counts = "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    type_ = f"({image}, tensor<3x3x2x2xf32>) -> {image}"
    return f"""
sdy.mesh @mesh = <["x"={data}, "y"=8]>
func.func @main(%x: {image} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}, {{}}, {{}}]>}}, %k: tensor<3x3x2x2xf32>) -> {image} {{
  %0 = stablehlo.convolution(%x, %k) {form} {counts} : {type_}
  %1 = stablehlo.convolution(%0, %k) {form} {counts} : {type_}
  return %1 : {image}
}}
"""  # noqa: E501


def _partitioned(result: Result) -> tuple[LocalProgram, int]:
    """The local program, and how many calls it took."""
    made: list[LocalProgram] = []
    profile = cProfile.Profile()
    profile.runcall(lambda: made.append(result.partition()))
    stats: Any = profile.getstats()
    return made[0], sum(entry.callcount for entry in stats)


def _largest_table(text: str) -> int:
    """The elements of the largest constant or list of devices."""
    return max((prod(map(int, match[1].split("x")[:-1])) for match in TABLE.finditer(text)), default=0)


def test_work_and_text_do_not_grow_with_devices() -> None:
    SESSION.clear()  # so that none of these programs is the one before which tables are emptied
    few_devices = propagate(Program.parse(_program(8))).partition()  # fills memo tables, too
    assert _largest_table(few_devices.text()) == 64
    (few, few_calls), (many, many_calls) = (
        _partitioned(propagate(Program.parse(_program(data)))) for data in (32, 131_072)
    )
    assert (few.devices, many.devices) == (256, 1_048_576)
    assert many_calls < 1.02 * few_calls
    text = many.text()
    assert len(text) < 1.1 * len(few.text())
    assert _largest_table(text) == 0
    assert "replica_group_mesh_axes" in text


def test_permutes_between_the_same_devices_share_their_pairs() -> None:
    """StableHLO lists them device by device: they are made, verified and kept once for all ops."""
    local = propagate(Program.parse(_convolutions(512))).partition()
    permutes = list(find_ops(local.program.module, "stablehlo.collective_permute"))
    pairs = {id(op.properties["source_target_pairs"]) for op in permutes}
    assert (len(permutes), len(pairs)) == (4, 2)
