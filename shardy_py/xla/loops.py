"""The passes on loops: which values they carry, and how those from outside are sharded."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py import ir
from shardy_py.dialects.sdy import ShardingConstraintOp
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.movements import replace_op
from shardy_py.graph.nesting import free_values, innermost_first
from shardy_py.graph.value_shardings import rank_of, sharding_of
from shardy_py.ops import TABLE, Control
from shardy_py.passes.communication_ops import identity_op
from shardy_py.sharding import TensorSharding
from shardy_py.xla.folding import narrowed


def drop_invariant_loop_values(module: ModuleOp) -> None:
    """`xla-drop-invariant-loop-values`: loops do not carry values that no iteration changes.

    before  while(%i = %a, %j = %b) ... { ... return %i, %2 }
    after   while(%j = %b) ... { ... return %2 }               %a is used from outside instead of %i
    """
    for loop in loops_in(module):
        end = ir.terminator_of(loop.regions[1])
        if end is None or SHARDING in loop.attributes:
            continue
        carried = zip(ir.operands_of(end), loop.regions[1].blocks[0].args, ir.operands_of(loop), strict=True)
        kept = [i for i, (value, *same) in enumerate(carried) if all(value is not s for s in same)]
        if 0 < len(kept) < len(ir.operands_of(loop)):
            _narrow(loop, end, kept)


def loops_in(module: ModuleOp) -> list[Operation]:
    """The loops of a module, inner ones first."""
    names = (name for name, row in TABLE.items() if row.control is Control.LOOP)
    return innermost_first(ir.find_ops(module, *names))


def _narrow(loop: Operation, end: Operation, kept: list[int]) -> None:
    replace_op(end, narrowed(end, kept, ()))
    regions = tuple(loop.detach_region(0) for _ in (0, 1))
    narrow = narrowed(loop, kept, kept, regions)
    ir.place_before(narrow, loop)
    places = {index: place for place, index in enumerate(kept)}
    for index in reversed(range(len(loop.results))):
        outside = ir.operands_of(loop)[index]
        if index in places:
            ir.replace_uses(loop.results[index], narrow.results[places[index]])
            continue
        ir.replace_uses(loop.results[index], outside)
        for block in (region.blocks[0] for region in regions):
            ir.replace_uses(block.args[index], outside)
            block.erase_arg(block.args[index])
    ir.erase(loop)


def open_free_loop_values(module: ModuleOp) -> None:
    """`xla-open-free-loop-values`: puts an open constraint between a sharded value and the loop that uses it.

    before  while(...) { ... add %a, %b ... }               %a is sharded and defined outside
    after   %c = sdy.sharding_constraint %a <@mesh, [{?}]>
        while(...) { ... add %c, %b ... }

    A closed sharding outside then does not bind the loop.
    """
    for loop in loops_in(module):
        inside = {id(inner) for inner in ir.walk_pre_order(loop, include_root=False)}
        for value in dict.fromkeys(free_values(loop)):
            sharding = sharding_of(value)
            if sharding is None:
                continue
            opened = TensorSharding.fully_open(sharding.mesh, rank_of(value.type))
            constraint = identity_op(ShardingConstraintOp, value, opened, loop.location)
            ir.place_before(constraint, loop)
            new = constraint.results[0]
            ir.replace_uses(value, new, only=lambda use, inside=inside: id(use.operation) in inside)
