"""Collectives because a dimension is not divisible by its axes: the divisor, and sizes and axes that fit.

    6 is not divisible by 4 ("model"): pad it to 8 where it is created, or shard it along "data" of size 2

A reshape that splits a dimension, of heads say, keeps those axes only that divide the new major dimension.
JAX cannot express sub-axes, so that results are not sharded along what is left. Not here: dimensions that are
padded (`padding.py`), whether another annotation helps (`remedies.py`).
"""

from __future__ import annotations

from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from shardy_py.api import Result
from shardy_py.check.rule import listed
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.report.communication import CollectiveUse
from shardy_py.search.advice.padded_rewrite import IndivisibleSplit, indivisible_splits
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.spelling import string_literal


def indivisible(result: Result, use: CollectiveUse) -> str:
    """Returns which dimension its axes do not divide, and what would; "" if that is not why data moves."""
    op = use.cause.made_for
    if op is None:
        return ""
    reader, meshes = ShardingReader(), Symbols(result.program.module).meshes()
    if isinstance(op, ReturnOp):
        found = (_dropped(value, reader) for value in operands_of(op))
        moved = {name for name, _ in use.axes}
        return next((words for names, words in found if moved & names), "")
    sharding = reader.of(operands_of(op)[0]) if operands_of(op) else None
    if sharding is None or not set(use.axis_names) & _names(sharding):
        return ""
    mesh = mesh_of(sharding, meshes)
    splits = indivisible_splits(op, (sharding, *(None for _ in (*operands_of(op)[1:], *op.results))), mesh)
    return next((_words(split, sharding, mesh) for split in splits), "")


def _names(sharding: TensorSharding) -> set[str]:
    return {axis.name for dimension in sharding.dimensions for axis in dimension.axes}


def _words(split: IndivisibleSplit, sharding: TensorSharding, mesh: Mesh) -> str:
    size, axes = split.size, split.axes
    taken = _names(sharding) - {axis.name for axis in axes}
    fitting = [
        f"{string_literal(axis.name)} of size {axis.size}"
        for axis in mesh.axes
        if axis.size > 1 and not size % axis.size and axis.name not in taken
    ]
    others = f", or shard it along {listed(fitting)}" if fitting else ""
    given = listed(map(str, axes))
    fact = f"{size} is not divisible by {split.parts} ({given})"
    return f"{fact}: pad it to {split.padded} where it is created{others}"


def _dropped(value: SSAValue, reader: ShardingReader) -> tuple[set[str], str]:
    """The sub-axes of what a function returns, by name, and the reason why its results lose them."""
    sharding = reader.of(value)
    dimensions = () if sharding is None else sharding.dimensions
    found = [axis for dimension in dimensions for axis in dimension.axes if axis.sub_axis is not None]
    names = listed(map(str, found))
    words = f"JAX cannot express sub-axes such as {names} in out_shardings: constrain the result to whole "
    return {str(axis).replace(chr(34), "") for axis in found}, f"{words}axes that divide its dimensions"
