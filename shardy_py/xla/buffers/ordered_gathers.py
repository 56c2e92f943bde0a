"""Gathers over devices in the order in which an op needs what they make: XLA:TPU copies the parts before.

    f32[8192,32] gathered to [65536,32], of which rows are looked up: each device copies its part into rows

XLA's layouts go back from the op that needs one through the gather, up to what has a layout of its own.
Source: openxla/xla, xla/service/layout_assignment.cc. Not here: which orders ops need (`needed_orders.py`),
those of other gathers (`tpu/gathered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shardy_py.ops import TABLE, OpRecord
from shardy_py.xla.buffers.needed_orders import TileOrder
from shardy_py.xla.spmd.program import Name, PlannedOp


def gathered_in_order(
    steps: Sequence[PlannedOp],
    needed: Mapping[int, Mapping[int, TileOrder]],
    shape: Callable[[Name], tuple[int, ...] | None],
    stored_name: Callable[[Name], Name],
) -> dict[int, dict[int, TileOrder]]:
    """Returns by the identity of a gather the orders of what it makes and reads, where all readers need one.

    needed: by that of a step, for each operand the order that it needs; of these one is enough.
    """
    wanted: dict[Name, set[TileOrder]] = {}
    for step in steps:
        for operand, order in needed.get(id(step), {}).items():
            if operand >= 0:
                wanted.setdefault(stored_name(step.operands[operand]), set()).add(order)
    found: dict[int, dict[int, TileOrder]] = {}
    for step in steps:
        orders = wanted.get(step.results[0], ()) if step.results else ()
        if len(orders) != 1 or not _gathers(step.record):
            continue
        (order,), held = orders, shape(step.operands[0])
        if held is not None and len(order.sizes) == len(held):
            found[id(step)] = {-1: order, 0: TileOrder(order.minor_to_major, held)}
    return found


def _gathers(record: OpRecord) -> bool:
    """True for a gather from devices that may be in any order."""
    collective = TABLE[record.name].collective
    is_gather = collective is not None and collective.kind == "all_gather"
    return is_gather and "minor_to_major" not in record.attributes
