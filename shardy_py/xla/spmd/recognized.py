"""The patterns in a block: steps that XLA's partitioner plans as one.

Not here: the patterns (`patterns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.xla.spmd.facet import SentRow
from shardy_py.xla.spmd.patterns import Pattern, Uses
from shardy_py.xla.spmd.program import Block, Name


def patterns_of(block: Block, rows: Sequence[SentRow]) -> dict[Name, Pattern]:
    """Returns the patterns in a block, by the results of their steps, which are used nowhere else.

    rows: of its steps.
    """
    found: dict[Name, Pattern] = {}
    inside: Uses | None = None
    for step, row in zip(block.steps, rows, strict=True):
        for recognize in row.patterns:
            inside = inside or _uses(block, rows)
            match = recognize(step, inside)
            if match is not None:
                pattern, steps = match
                found |= dict.fromkeys((each.results[0] for each in (step, *steps)), pattern)
    return found


def _uses(block: Block, rows: Sequence[SentRow]) -> Uses:
    pairs = zip(block.steps, rows, strict=True)
    return Uses(
        block, {step.results[0]: (step, row.part) for step, row in pairs if row.part and step.results}
    )
