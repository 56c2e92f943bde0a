"""Hoists constants to the start of the function or computation around them, and merges equal ones.

Constants of the sdy dialect are never moved: that is what they are for.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UnknownLoc, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation

from shardy_py.dialects.traits import is_isolated
from shardy_py.ir import erase, place_at_start, replace_uses, take_out


def hoist_constants(constants: Iterable[Operation]) -> bool:
    """Hoists `constants`, in program order, and merges equal ones; returns whether any changed.

    One behind constants at the start of its block stays there; others go before all of them.
    """
    first_of: dict[tuple[int, str, Attribute, Attribute], Operation] = {}
    placed: set[int] = set()
    changed = False
    for op in constants:
        block = op.parent
        assert block is not None
        home = _home(block)
        key = (id(home), op.name, op.properties["value"], op.results[0].type)
        same = first_of.get(key)
        if same is not None:
            replace_uses(op.results[0], same.results[0])
            erase(op)
            same.location = UnknownLoc()
            changed = True
            continue
        first = home.first_op
        previous = op.prev_op
        if first is not op and not (block is home and previous is not None and id(previous) in placed):
            if block is not home:
                op.location = UnknownLoc()
            take_out(op)
            place_at_start(op, home)
            changed = True
        first_of[key] = op
        placed.add(id(op))
    return changed


def _home(block: Block) -> Block:
    """The first block of the region that constants in `block` are hoisted to."""
    while True:
        parent, region = block.parent_op(), block.parent
        assert parent is not None
        assert region is not None
        # The regions of unregistered ops may be isolated.
        if is_isolated(parent) or isinstance(parent, UnregisteredOp) or parent.parent is None:
            return region.blocks[0]
        block = parent.parent
