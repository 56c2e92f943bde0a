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
