"""The ops that random programs shard, and how: `python -m tests.reshard.coverage N [--seed S]`.

A row an op, a column a kind of factor that shards some of its tensors after propagation, before reshards: the
number of programs where parts have one size, and where they have several. What has no count is never
partitioned by random programs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from xdsl.ir import Operation

from shardy_py import Options, Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.traits import data_flow, is_terminator
from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import name_of, record_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.propagation.rules import derive_rule
from shardy_py.sharding import FactorType
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import mesh_of
from tests.reshard.random import program

NO_RULE, FLOW = "no rule", "flow"
KINDS = {
    FactorType.PASS_THROUGH: "free",
    FactorType.REDUCTION: "reduced",
    FactorType.PERMUTATION: "permuted",
    FactorType.NEED_REPLICATION: "whole",
}
COLUMNS = (*KINDS.values(), NO_RULE, FLOW)
Row = tuple[str, str, bool]
"""The name of an op, the column, and whether the parts of a dimension have several sizes."""


def sharded_dimensions(source: Program, *, is_even: bool = False) -> Iterator[Row]:
    """The ops of the propagated program, each with the columns of its sharded dimensions.

    flow: dimensions of values that pass into regions, calls and back.
    """
    options = Options(update_non_divisible_input_output_shardings=is_even)
    module = propagate(source, options).program.module
    meshes, reader = meshes_of(module), ShardingReader()
    for op in walk_pre_order(module, include_root=False):
        if is_terminator(op) or op.name.startswith("builtin."):
            continue
        for dimension, kind, tensor in _dimensions(op):
            value = (*operands_of(op), *op.results)[tensor]
            sharding, shape = reader.of(value), tensor_type(value.type)
            if sharding is None or shape is None or not sharding.dimensions:
                continue
            parts = total_size(sharding.dimensions[dimension].axes, mesh_of(sharding, meshes))
            size = shape.shape[dimension]
            if parts > 1 and size is not None:
                yield name_of(op), kind, size % parts > 0


def _dimensions(op: Operation) -> Iterator[tuple[int, str, int]]:
    """Each dimension of an op's tensors with its kind, and the number of the tensor."""
    is_flow = data_flow(op) is not None or op.name == "func.call"
    rule = None if is_flow or op.name == "func.func" else derive_rule(record_of(op))
    for number, value in enumerate((*operands_of(op), *op.results)):
        tensor = tensor_type(value.type)
        for dimension in range(len(tensor.shape) if tensor is not None else 0):
            if rule is None:
                yield dimension, FLOW if is_flow else NO_RULE, number
                continue
            kinds = {rule.factors[factor].type for factor in rule.tensors[number][dimension]}
            yield dimension, KINDS[max(kinds, default=FactorType.PASS_THROUGH)], number


def counts(seeds: range) -> Counter[Row]:
    """How often programs have each op with each kind of sharded dimension."""
    found = Counter[Row]()
    for seed in seeds:
        try:
            found.update(set(sharded_dimensions(Program.parse(program(seed)), is_even=bool(seed % 2))))
        except ShardyError:
            continue
    return found


def main() -> int:
    """Prints the table: in how many programs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = counts(range(options.seed, options.seed + options.count))
    print(f"{'op':36}" + "".join(f"{column:>12}" for column in COLUMNS))
    for name in sorted({name for name, *_ in found}):
        cells = (f"{found[name, column, False]} + {found[name, column, True]}" for column in COLUMNS)
        print(f"{name:36}" + "".join(f"{cell if cell != '0 + 0' else '':>12}" for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
