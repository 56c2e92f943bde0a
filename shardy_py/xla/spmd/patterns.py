"""Ops that XLA recognizes together before it partitions, and plans as one.

Rotations, tensors padded with their own ends, and slices of padded tensors. Copies between the ops do not
matter. Source: openxla/xla, `PreprocessHlos` in xla/service/spmd/spmd_partitioner.cc. Not here: what is sent
for them (`rotations.py`, `windows.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import cached_property
from itertools import chain

from shardy_py.base.records import dataclass
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, reads_of
from shardy_py.xla.spmd.rotations import rotated, rotation, wrap, wrapped
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.windows import padded, slice_of_pad


@dataclass(frozen=True)
class Pattern:
    """Steps that are planned as one.

    last: the step with the result. source: the value that they start from. plan: what is sent, from that
    value. tiling: that the source must have; None: any.
    """

    last: PlannedOp
    source: Name
    plan: Callable[[HeldTensor], HeldTensor]
    tiling: Tiling | None = None

    def applies(self, source: Tiling) -> bool:
        """Returns whether the source has the tiling that the pattern needs."""
        return self.tiling is None or self.tiling == source


class PatternRole(Enum):
    """The role of an op in a pattern. COPY: a copy in HLO, whose sharding is that of the result."""

    SLICE = auto()
    PAD = auto()
    COPY = auto()


@dataclass(frozen=True, eq=False)
class Uses:
    """The steps of a block that may be in patterns. made: by their results, each with its role."""

    block: Block
    made: Mapping[Name, tuple[PlannedOp, PatternRole]]

    @cached_property
    def count(self) -> Mapping[Name, int]:
        """How often each value is used, in a region once."""
        return Counter(chain(self.block.results, *map(reads_of, self.block.steps)))

    def behind_copies(self, name: Name) -> tuple[Name, tuple[PlannedOp, ...]]:
        """The value of which copies, used once each, make a value, and these copies."""
        copies: tuple[PlannedOp, ...] = ()
        while name in self.made and self.count[name] == 1:
            step, part = self.made[name]
            if part is not PatternRole.COPY:
                break
            copies = (*copies, step)
            name = step.operands[0]
        return name, copies

    def only(self, name: Name, part: PatternRole) -> tuple[PlannedOp, ...] | None:
        """The step that makes a value used once, with the copies behind it; None: none has that role."""
        name, copies = self.behind_copies(name)
        if name not in self.made or self.count[name] != 1 or self.made[name][1] is not part:
            return None
        return (self.made[name][0], *copies)


Match = tuple[Pattern, tuple[PlannedOp, ...]]
"""A pattern, and its other steps than the last."""
Recognizer = Callable[[PlannedOp, "Uses"], Match | None]
"""Finds a pattern that a step ends."""


def rotation_of_slices(step: PlannedOp, inside: Uses) -> Match | None:
    """The end of a tensor before its front."""
    (target,) = step.targets
    parts = [inside.only(name, PatternRole.SLICE) for name in step.operands]
    if len(parts) != 2 or target is None or parts[0] is None or parts[1] is None:
        return None
    end, front = parts[0][0], parts[1][0]
    moved = rotation(step.record, [end.record, front.record])
    if moved is None or end.operands != front.operands:
        return None
    dimension, amount = moved

    def plan(value: HeldTensor) -> HeldTensor:
        return rotated(value, dimension, amount, target)

    return Pattern(step, end.operands[0], plan, target), (*parts[0], *parts[1])


def wrap_of_slices(step: PlannedOp, inside: Uses) -> Match | None:
    """A tensor between its own ends."""
    (target,) = step.targets
    if len(step.operands) != 3 or target is None:
        return None
    front, behind = (inside.only(step.operands[i], PatternRole.SLICE) for i in (0, 2))
    middle, copies = inside.behind_copies(step.operands[1])
    if front is None or behind is None or {front[0].operands, behind[0].operands} != {(middle,)}:
        return None
    found = wrap(step.record, (front[0].record, behind[0].record))
    if found is None or target.dimensions[found.dimension] == 1:
        return None
    return Pattern(step, middle, lambda value: wrapped(value, found, target)), (*front, *behind, *copies)


def slice_of_padding(step: PlannedOp, inside: Uses) -> Match | None:
    """A slice of a padded tensor."""
    (target,) = step.targets
    steps = inside.only(step.operands[0], PatternRole.PAD)
    if steps is None or target is None or target.is_replicated:
        return None
    padding = steps[0]
    if padding.targets != (target,):
        return None
    edges = slice_of_pad(padding.record, step.record, target)
    if edges is None:
        return None
    none = [0] * target.rank

    def plan(value: HeldTensor) -> HeldTensor:
        return padded(value, *edges, none, target)

    return Pattern(step, padding.operands[0], plan), steps
