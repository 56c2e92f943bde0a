"""The passes on loops: which values they carry, and how those from outside are sharded."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue, Use

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.sdy import ShardingConstraintOp
from shardy_py.mlir.holders import SHARDING
from shardy_py.mlir.movements import replace_op
from shardy_py.mlir.nesting import free_values_inside, innermost_first
from shardy_py.mlir.value_shardings import rank_of, sharding_of
from shardy_py.ops import TABLE, Control
from shardy_py.passes.export.communication_ops import identity_op
from shardy_py.sharding import TensorSharding
from shardy_py.xla.prepare.folding import narrowed


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
    loops = loops_in(module)
    uses = _UsesByLoop(loops)
    # A constraint takes the place of a value in inner loops, and uses it where they are: the order stays.
    free = free_values_inside(module)
    for loop in loops:
        with ir.operands_set_together():
            for value in free[id(loop)]:
                sharding = sharding_of(value)
                if sharding is None:
                    continue
                opened = TensorSharding.fully_open(sharding.mesh, rank_of(value.type))
                constraint = identity_op(ShardingConstraintOp, value, opened, loop.location)
                ir.place_before(constraint, loop)
                for use in uses.taken(value, loop):
                    ir.replace_operand(use.operation, use.index, constraint.results[0])
                uses.add(value, constraint)


class _UsesByLoop:
    """The uses of values by the innermost loop around each, newest first; inner loops lose theirs first.

    A value that n loops use has its uses read once, not once a loop.
    """

    def __init__(self, loops: list[Operation]) -> None:
        self._loops = set(loops)
        self._uses: dict[SSAValue, dict[Operation | None, deque[Use]]] = {}

    def taken(self, value: SSAValue, loop: Operation) -> Iterable[Use]:
        """The uses of a value in a loop, all of which get another value."""
        if value not in self._uses:
            found = self._uses[value] = defaultdict(deque)
            for use in value.uses:
                found[self._around(use.operation)].append(use)
        return self._uses[value].pop(loop, ())

    def add(self, value: SSAValue, op: Operation) -> None:
        """Notes that an op, made last, uses a value that others were taken of."""
        uses = self._uses[value].setdefault(self._around(op), deque())
        uses.appendleft(next(iter(value.uses)))

    def _around(self, op: Operation) -> Operation | None:
        """The innermost loop around an op, which is not that loop itself; None outside of loops."""
        around = op.parent_op()
        while around is not None and around not in self._loops:
            around = around.parent_op()
        return around
