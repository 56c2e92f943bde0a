"""The values of a block that something needs: its results, what makes them, and what ops with effects read.

>>> from shardy_py.ops import OpRecord
>>> from shardy_py.xla.spmd.facet import sent_row
>>> from shardy_py.xla.spmd.program import PlannedOp
>>> def step(read: str, made: str) -> PlannedOp:
...     return PlannedOp(OpRecord("stablehlo.abs", (), (), {}), (read,), (made,), ())
>>> steps = step("x", "y"), step("x", "unused"), step("unused", "too")
>>> rows = [sent_row(each.record) for each in steps]
>>> sorted(live_values(Block((), steps, ("y",), ()), rows))
['x', 'y']

Not here: what is sent for them (`walk.py`), steps that a device runs (`xla/buffers/stored.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, compress

from shardy_py.xla.spmd.facet import SentRow
from shardy_py.xla.spmd.program import Block, Name, reads_of


def live_values(block: Block, rows: Sequence[SentRow]) -> set[Name]:
    """Returns the names of the values that a block's results need, or its ops without results.

    rows: of its steps.
    """
    steps = block.steps
    live = {*block.results, *chain.from_iterable([step.operands for step in steps])}
    if any(map(live.isdisjoint, filter(None, [step.results for step in steps]))):
        return _of_some(block, rows)
    # Something reads what each step makes, so all steps are needed, as in most blocks.
    for step in compress(steps, [row.needs_all for row in rows]):
        live.update(step.results)
    for step in compress(steps, [step.blocks for step in steps]):
        live.update(reads_of(step))
    return live


def _of_some(block: Block, rows: Sequence[SentRow]) -> set[Name]:
    """As `live_values`, of a block with steps that nothing needs."""
    live = set[Name](block.results)
    is_dead, note = live.isdisjoint, live.update
    for step, row in zip(reversed(block.steps), reversed(rows), strict=True):
        results = step.results
        if results and is_dead(results):
            continue
        note(step.operands)
        if row.needs_all:
            note(results)
        if step.blocks:
            note(reads_of(step))
    return live
