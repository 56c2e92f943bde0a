"""Rewrites of ops with regions: unused inputs are removed, regions that always run once are inlined."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.ir import Operation

from shardy_py.dialects.sdy import ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.dialects.sdy.interfaces import manual_axes
from shardy_py.dialects.stablehlo import op_class
from shardy_py.dialects.traits import constant_of, is_foldable_constant
from shardy_py.graph.symbols import meshes_of, module_of
from shardy_py.ir import inline_region, operands_of
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import common_mesh, resolve


def _remove_unused_inputs(op: Operation) -> bool:
    block = op.regions[0].blocks[0]
    used = [argument.first_use is not None for argument in block.args]
    if all(used):
        return False
    shardings = _shardings(op, "in_shardings")
    for argument in [a for a in block.args if a.first_use is None]:
        block.erase_arg(argument)
    op.operands = [value for value, is_used in zip(operands_of(op), used, strict=True) if is_used]
    kept = tuple(sharding for sharding, is_used in zip(shardings, used, strict=True) if is_used)
    op.properties["in_shardings"] = TensorShardingPerValueAttr(kept)
    return True


def _inline_over_axes_of_size_one(op: Operation) -> bool:
    shardings = (*_shardings(op, "in_shardings"), *_shardings(op, "out_shardings"))
    if shardings:
        mesh = common_mesh(shardings, meshes := meshes_of(module_of(op)))
        sizes = resolve(mesh, meshes).sizes if mesh is not None else {}
        if prod(sizes.get(axis, 1) for axis in manual_axes(op)) != 1:
            return False
    inline_region(op, op.regions[0], operands_of(op))
    return True


def _inline_chosen_branch(op: Operation) -> bool:
    """Replaces a case whose index is a constant by the branch that it chooses."""
    index = constant_of(operands_of(op)[0])
    if index is None or not is_foldable_constant(index):
        return False
    number = int(next(iter(cast(Any, index.properties["value"]).get_values())))
    if not 0 <= number < len(op.regions):
        return False
    inline_region(op, op.regions[number])
    return True


def _shardings(op: Operation, name: str) -> tuple[TensorSharding, ...]:
    return cast(TensorShardingPerValueAttr, op.properties[name]).data


REGION_REWRITES: tuple[Rewrite, ...] = (
    Rewrite(ManualComputationOp, _remove_unused_inputs),
    Rewrite(ManualComputationOp, _inline_over_axes_of_size_one),
    Rewrite(op_class("case"), _inline_chosen_branch),
)
