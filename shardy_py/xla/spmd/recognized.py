"""The patterns in a block: steps that XLA's partitioner plans as one.

Not here: the patterns (`patterns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from shardy_py.xla.spmd.facet import SentRow
from shardy_py.xla.spmd.patterns import Pattern, Uses
from shardy_py.xla.spmd.program import Block, Name


def patterns_of(block: Block, rows: Sequence[SentRow]) -> dict[Name, Pattern]:
    """Returns the patterns in a block, by the results of their steps, which are used nowhere else.

    rows: of its steps.
    """
    found: dict[Name, Pattern] = {}
    inside: Uses | None = None
    pairs = zip(block.steps, rows, strict=True)
    for step, row in compress(pairs, [row.patterns for row in rows]):  # few
        for recognize in row.patterns:
            inside = inside or _uses(block, rows)
            match = recognize(step, inside)
            if match is not None:
                pattern, steps = match
                found |= dict.fromkeys((each.results[0] for each in (step, *steps)), pattern)
    return found


def _uses(block: Block, rows: Sequence[SentRow]) -> Uses:
    pairs = compress(zip(block.steps, rows, strict=True), [row.part for row in rows])
    return Uses(
        block, {step.results[0]: (step, row.part) for step, row in pairs if row.part and step.results}
    )
