"""Constants rise to the start of the function or computation around them, equal ones become one.

Constants of the sdy dialect stay where they are: that is what they are for.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Block, Operation

from shardy_py.ir import erase, place_at_start, replace_uses, take_out

CONSTANTS = frozenset({"stablehlo.constant", "chlo.constant"})
"""The ops that may be moved and merged."""

_ISOLATED = frozenset(
    {"builtin.module", "func.func", "sdy.manual_computation", "sdy.named_computation", "builtin.unregistered"}
)
"""Ops whose regions see nothing from outside, or may not."""


def raise_constants(constants: Iterable[Operation]) -> bool:
    """Move `constants`, in program order, to where they belong, and merge equal ones; whether any changed.

    One that stands behind constants at the start already stays there; others go before all of them.
    """
    known: dict[tuple[int, str, Attribute, Attribute], Operation] = {}
    placed: set[int] = set()
    changed = False
    for op in constants:
        block = op.parent
        assert block is not None
        home = _home(block)
        key = (id(home), op.name, op.properties["value"], op.results[0].type)
        same = known.get(key)
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
        known[key] = op
        placed.add(id(op))
    return changed


def _home(block: Block) -> Block:
    """The first block of the region that constants in `block` rise to."""
    while True:
        parent = block.parent_op()
        assert parent is not None
        if parent.name in _ISOLATED or parent.parent is None:
            region = block.parent
            assert region is not None
            return region.blocks[0]
        assert parent.parent is not None
        block = parent.parent
