"""Lint rules on known faults of XLA's partitioner: programs whose results it gets wrong.

Each names the report of the fault; a rule goes when no release that is followed has it. Not here: what costs
time or memory (`communication_rules.py`, `rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.api import Result
from shardy_py.check.finding import Finding
from shardy_py.check.rule import Limits, finding_of, rule
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.scalars import Scalars
from shardy_py.sharding.spelling import string_literal

_UPDATE = "dynamic_update_slice"


@rule(
    *("SDY013", "lost-update", "XLA loses an update that starts out of range"),
    why="A start out of range is moved to where the update fits; XLA's partitioner drops the update instead.",
    help="Start the update where it fits.",
    level="error",
)
def _find_lost_updates(result: Result, limits: Limits) -> Iterator[Finding]:
    scalars = Scalars()
    is_by_xla = limits.partitioner == "xla" or result.source.taken.is_compiled
    for value in result.values.of_op(_UPDATE) if is_by_xla and limits.partitioner != "shardy" else ():
        operand, update, *starts = operands_of(value.entry.op)
        whole, part, sharding = tensor_type(operand.type), tensor_type(update.type), value.entry.sharding
        if whole is None or part is None or sharding is None:
            continue
        sizes = zip(whole.shape, part.shape, sharding.dimensions, strict=True)
        for number, (start, (size, of_update, dimension)) in enumerate(zip(starts, sizes, strict=True)):
            known = scalars.of(start)
            if known is None or size is None or of_update is None or not dimension.axes:
                continue
            last = size - of_update
            if last > 0 and not 0 <= known <= last:
                axes = ", ".join(string_literal(axis.name) for axis in dimension.axes)
                message = (
                    f"the update starts at {known} of dimension {number}, sharded along {axes}, but fits "
                )
                message += f"from 0 to {last}: XLA's partitioner drops it instead of moving it"
                place = 0 if known < 0 else last
                yield finding_of(
                    value, message, f"start it at {place}, where it is moved to (openxla/xla#49118)"
                )
