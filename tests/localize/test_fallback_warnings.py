"""Every gather that a pass of the partitioner inserts has a warning with op, line and bytes: random programs.

Reshards that follow from the shardings of the program are those of `sdy-insert-explicit-reshards`; the passes
around it gather only what they cannot partition.
"""

from __future__ import annotations

import re
from math import prod

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py import Options, Program, propagate
from shardy_py.base.errors import ShardyError, collected_warnings
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.pipelines import partitioner_passes
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of
from tests.reshard.random import program
from tests.run.interpret.custom_functions import register

PASSES = (
    "sdy-gather-whole-tensors",
    "sdy-split-mesh-changes",
    "sdy-resolve-permutation-factors",
    "sdy-pad-for-divisibility",
)
MESSAGE = re.compile(r"'[\w.]+' op is not partitioned: .*; \d+ bytes are whole")


def gathers(module: ModuleOp) -> dict[int, set[object]]:
    """Reshards and all-gathers after which tensors have fewer parts: their and their users' places."""
    meshes, reader, found = meshes_of(module), ShardingReader(), dict[int, set[object]]()
    for op in walk_pre_order(module):
        if not isinstance(op, (sdy.ReshardOp, sdy.AllGatherOp)):
            continue
        sides = [reader.of(value) for value in (operands_of(op)[0], op.results[0])]
        counts = [
            prod(total_size(d.axes, mesh_of(s, meshes)) for d in s.dimensions) if s is not None else 1
            for s in sides
        ]
        if counts[1] < counts[0]:
            users = [use.operation for use in op.results[0].uses]
            found[id(op)] = {place_of(user) for user in (op, *users)}
    return found


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_gathers_of_fallbacks_have_warnings(first: int) -> None:
    """Each is at the place of an op that a warning of the same pass names."""
    register()
    for seed in range(first, first + 10):
        try:
            options = Options(update_non_divisible_input_output_shardings=bool(seed % 2))
            module = propagate(Program.parse(program(seed)), options).program.module
        except ShardyError:
            continue
        for call in partitioner_passes():
            before = gathers(module)
            with collected_warnings() as warnings:
                call.run(module)
            assert all(MESSAGE.fullmatch(warning.what) for warning in warnings)
            if call.row.name in PASSES:
                after = gathers(module)
                known = {warning.where for warning in warnings}.union(*before.values())
                missing = [after[op] for op in after.keys() - before.keys() if known.isdisjoint(after[op])]
                assert not missing, (seed, call.row.name, missing)


SORTED = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<ROWSx8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{ROW}, {"x"}]>})
    -> (tensor<ROWSx8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{ROW}, {"x"}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<ROWSx8xf32>) -> tensor<ROWSx8xf32>
  return %0 : tensor<ROWSx8xf32>
}
"""


@pytest.mark.parametrize(
    ("rows", "row", "warned"), [(4, "", False), (4, '"y"', False), (1, "", True), (2, '"y"', True)]
)
def test_axes_that_move_to_another_dimension_are_no_gather(rows: int, row: str, *, warned: bool) -> None:
    """The axes of the sorted dimension go to the rows, if there are as many: each device sorts a part."""
    local = propagate(Program.parse(SORTED.replace("ROWS", str(rows)).replace("ROW", row))).partition()
    kinds = {total.key for total in local.communication().by_kind if total.cost.bytes}
    assert kinds == ({"all_gather"} if warned else {"all_to_all"})
    assert len(local.warnings) == warned
    assert local.prove()
