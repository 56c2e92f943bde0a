"""What loops use of their surroundings.

free_loop_values     what a loop only carries along is used from outside
open_free_values     what a loop uses from outside goes through an open constraint

StableHLO's canonicalization, and XLA's round_trip_common/open_while_free_vars_sharding.cc.
Not here: the steps around them (`xla.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, Region

from shardy_py.dialects.sdy import ShardingConstraintOp, TensorShardingAttr
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.rewiring import replace_op
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.ir import (
    build_operation,
    erase,
    find_ops,
    free_values,
    innermost_first,
    operands_of,
    place_before,
    replace_uses,
    terminator_of,
)
from shardy_py.sharding import TensorSharding

WHILE = "stablehlo.while"


def free_loop_values(module: ModuleOp) -> None:
    """Take out of each loop what every turn hands on unchanged: it is used from outside instead."""
    for loop in innermost_first(find_ops(module, WHILE)):
        end = terminator_of(loop.regions[1])
        if end is None or SHARDING in loop.attributes:
            continue
        carried = zip(operands_of(end), loop.regions[1].blocks[0].args, operands_of(loop), strict=True)
        kept = [index for index, (value, *same) in enumerate(carried) if all(value is not s for s in same)]
        if 0 < len(kept) < len(operands_of(loop)):
            _keep(loop, end, kept)


def _keep(loop: Operation, end: Operation, kept: list[int]) -> None:
    """Let a loop carry these of its values only."""
    replace_op(end, _with_operands(end, kept, ()))
    regions = tuple(loop.detach_region(0) for _ in (0, 1))
    made = _with_operands(loop, kept, [loop.results[index].type for index in kept], regions)
    place_before(made, loop)
    places = {index: place for place, index in enumerate(kept)}
    for index in reversed(range(len(loop.results))):
        outside = operands_of(loop)[index]
        stays = index in places
        replace_uses(loop.results[index], made.results[places[index]] if stays else outside)
        for block in () if stays else (region.blocks[0] for region in regions):
            replace_uses(block.args[index], outside)
            block.erase_arg(block.args[index])
    erase(loop)


def _with_operands(
    op: Operation, kept: list[int], types: Sequence[Attribute], regions: Sequence[Region] = ()
) -> Operation:
    operands = [operands_of(op)[index] for index in kept]
    location = cast(Any, op).location
    return build_operation(
        op.__class__, operands, types, dict(op.properties), dict(op.attributes), location, regions=regions
    )


def open_free_values(module: ModuleOp) -> None:
    """Put an open constraint between a sharded value and the loop that uses it from outside."""
    for loop in innermost_first(find_ops(module, WHILE)):
        for value in dict.fromkeys(free_values(loop)):
            sharding = sharding_of(value)
            if sharding is None:
                continue
            opened = TensorSharding.fully_open(sharding.mesh, rank_of(value.type))
            properties: dict[str, Attribute] = {"sharding": TensorShardingAttr(opened)}
            location = cast(Any, loop).location
            made = build_operation(ShardingConstraintOp, [value], [value.type], properties, {}, location)
            place_before(made, loop)
            replace_uses(value, made.results[0], only=lambda use, loop=loop: _is_inside(use.operation, loop))


def _is_inside(op: Operation, outer: Operation) -> bool:
    around = op.parent_op()
    while around is not None and around is not outer:
        around = around.parent_op()
    return around is outer
