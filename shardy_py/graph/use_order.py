"""The order of the uses of a value after MLIR's dialect conversion has seen a module.

The newest use stands first. The reader makes an op after what its regions hold, conversion takes it before
that, tries to fold it, and when it cannot, sets its operands anew: they become the newest uses. Propagation
visits users in that order.

    %0 = case ({ return %a }) on %a          uses of %a: case, return          afterwards: return, case
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue, Use

from shardy_py.ir import next_use, operands_of, walk_pre_order


def renew_uses(module: Operation) -> None:
    """Put the uses of each value in program order, an op before what its regions hold, the last one first.

    Only values that an op with regions takes can have them in another order.
    """
    positions: dict[int, int] = {}
    taken: dict[int, SSAValue] = {}
    for position, op in enumerate(walk_pre_order(module)):
        positions[id(op)] = position
        if op.regions:
            for value in operands_of(op):
                if (use := value.first_use) is not None and next_use(use) is not None:
                    taken[id(value)] = value
    for value in taken.values():
        for use in sorted(value.uses, key=lambda use: _place(use, positions)):
            value.remove_use(use)
            value.add_use(use)


def _place(use: Use, positions: dict[int, int]) -> tuple[int, int]:
    return positions[id(use.operation)], use.index
