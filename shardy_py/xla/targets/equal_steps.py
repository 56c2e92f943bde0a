"""Facts that equal steps of a planned program share, found once for all layers that repeat them.

Not here: the nodes that steps become (`build.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.ops import TABLE, TensorType
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.targets.parts import shape_of

LocalType = Callable[["TensorType | None", "Tiling | None"], "TensorType | None"]


@dataclass(slots=True, eq=False)
class EqualSteps:
    """Steps of one record and equal tilings, none of which runs regions of its own.

    number: of this kind of step. type: of what a device has of the result, shape: of the whole; None for
    steps with several results or none, and for others than tensors. is_written: whether they are collectives
    that the program itself has. merged: whether XLA merges them; None: it depends on their regions.
    read: the types of operands of which they read all, by the identities of types that nodes keep, with
    the shape of what they make where it is not of `type`.
    """

    number: int
    type: TensorType | None
    shape: Shape | None
    is_written: bool
    merged: bool | None
    read: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])

    @staticmethod
    def of(step: PlannedOp, number: int, local: LocalType) -> EqualSteps:
        """Returns the facts of a step. local: makes the type of a part."""
        record = step.record
        is_one = len(step.results) == 1
        whole = record.results[0] if is_one else None
        op = source_op(step)
        merged = None if op is None or op.regions else is_dead_when_unused(op)
        return EqualSteps(
            number,
            local(whole, step.targets[0]) if is_one else None,
            None if whole is None else shape_of(whole),
            is_one and TABLE[record.name].collective is not None,
            merged,
        )

    def merges(self, step: PlannedOp) -> bool:
        """True if XLA merges a step with others that are equal."""
        if self.merged is None or step.source is None or not step.results:
            op = source_op(step)
            return op is not None and bool(step.results) and is_dead_when_unused(op)
        return self.merged
