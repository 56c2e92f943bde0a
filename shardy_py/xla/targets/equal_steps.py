"""Facts that equal steps of a planned program share, found once for all layers that repeat them.

Not here: the nodes that steps become (`build.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.ops import TABLE, TensorType
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.parts import shape_of

LocalType = Callable[["TensorType | None", "Tiling | None"], "TensorType | None"]


@dataclass(slots=True, eq=False)
class EqualSteps:
    """Steps of one record and equal tilings, none of which runs regions of its own.

    number: of this kind of step. type: of what a device has of the result, shape: of the whole; None for
    steps with several results or none, and for others than tensors. is_written: whether they are collectives
    that the program itself has. merged: whether XLA merges them; None: it depends on their regions.
    read: the types of operands of which they read all, by the identities of types that nodes keep, with
    the shape of what they make where it is not of `type`. with_regions: whether XLA merges steps of any kind,
    by the identity of the op that they are of, whose regions are searched once.
    """

    number: int
    type: TensorType | None
    shape: Shape | None
    is_written: bool
    merged: bool | None
    with_regions: dict[int, bool]
    read: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])

    @staticmethod
    def of(step: PlannedOp, number: int, local: LocalType, with_regions: dict[int, bool]) -> EqualSteps:
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
            with_regions,
        )

    def merges(self, step: PlannedOp) -> bool:
        """True if XLA merges a step with others that are equal."""
        if self.merged is None or step.source is None or not step.results:
            op = source_op(step)
            if op is None or not step.results:
                return False
            if id(op) not in self.with_regions:
                self.with_regions[id(op)] = is_dead_when_unused(op)
            return self.with_regions[id(op)]
        return self.merged


class SentPlaces:
    """Places of collectives among those of their step: of equal steps, those at equal places are equal."""

    def __init__(self, needed: Mapping[int, Sequence[Sent]]) -> None:
        """needed: the collectives of each step, by its identity."""
        self._places = {id(each): place for own in needed.values() for place, each in enumerate(own)}
        self._kinds: dict[int, int] = {}  # of steps by identity: their records and targets, as a number
        self._numbers: dict[Hashable, int] = {}

    def key(self, sent: Sent) -> Hashable:
        """The key that parts a collective from others of one value that have the same shapes and devices.

        Those of equal steps are equal at equal places; the plan has merged others that are equal.
        """
        if sent.step is None:
            return sent.number
        return self._kind(sent.step), self._places.get(id(sent), -1)

    def _kind(self, step: PlannedOp) -> int:
        kind = self._kinds.get(id(step))
        if kind is None:  # once a step, not for each of the many that one with many results sends
            key = id(step.record), *map(id, step.targets)
            kind = self._kinds[id(step)] = self._numbers.setdefault(key, len(self._numbers))
        return kind
