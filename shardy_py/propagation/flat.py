"""The flat program: numbered slots that hold shardings, and numbered steps that relate them.

A slot is the place of one sharding: an op's result, a function's argument or result, a data-flow edge. A step
is an op, edge or barrier with a rule; it reads and writes its slots.

    %0 = stablehlo.add %arg0, %arg1         slots 1: %arg0, 2: %arg1, 3: %0       step 0: slots (1, 2, 3)

Slot 0 is for values that cannot be sharded. Plain data without IR: `propagation/graph/build.py` builds it
from a module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import IntFlag

from shardy_py.base.records import dataclass
from shardy_py.ops import Role
from shardy_py.sharding import ShardingRule, TensorSharding


class Direction(IntFlag):
    """The directions in which axes may propagate through an op: forward is from operands to results."""

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


Directions = tuple[Direction, ...]
"""The direction of each factor of a rule."""


UNSHARDABLE = 0
"""The slot of values that cannot have a sharding; never written."""


@dataclass(frozen=True, slots=True)
class ManualBoundary:
    """A data-flow edge at the boundary of a manual computation.

    outer: its in- or out-sharding; only its free axes propagate.
    is_argument: True for a block argument, whose sharding is inside and source outside; False for a result.
    """

    outer: TensorSharding
    manual_axes: tuple[str, ...]
    is_argument: bool


@dataclass(frozen=True, slots=True)
class StepKind:
    """A step without its slots; the same for ops with equal types and attributes.

    rule: None for an op without a rule, which is a step only because it is dead.
    has_shared_operand: whether an operand that is not a scalar has other uses.
    barrier_direction: the allowed direction of a BARRIER, a value of `Direction`.
    is_edge: whether it is a data-flow edge; edges are never conservative.
    """

    rule: ShardingRule | None
    role: Role = Role.OTHER
    is_elementwise: bool = False
    has_shared_operand: bool = False
    barrier_direction: int = 3
    boundary: ManualBoundary | None = None
    is_edge: bool = False

    @property
    def is_barrier(self) -> bool:
        """Returns whether the step is a propagation barrier."""
        return self.role is Role.BARRIER


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a sharding group: its slot and the steps to enqueue when the group's sharding changes."""

    slot: int
    dependents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReturnedValue:
    """A value that the main function returns: its slot, the slot of the result, and their identity rule."""

    slot: int
    result_slot: int
    rule: ShardingRule


@dataclass(slots=True)
class Liveness:
    """The dead ops: those without uses and effects, and those used by dead ops only.

    MLIR's greedy driver erases them when it visits them, so they take part in propagation until then.

    remaining_uses: by step, the number of uses of its results.
    operands: by step, for each operand the defining step, or -1, and the number of the value. Operands of
        nested ops count too, except for nested ops that are dead themselves.
    nested: by step, the steps in its regions, which are erased with it.
    users: by number of the value, the steps that use it, once per use; negative for users that are no steps.
    reads: by step that uses such a value, the numbers of its operands that are not scalars.
    shared_elsewhere: the steps with a shared operand that is not among these values.
    """

    remaining_uses: dict[int, int] = field(default_factory=dict[int, int])
    operands: dict[int, list[tuple[int, int]]] = field(default_factory=dict[int, list[tuple[int, int]]])
    nested: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    users: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    reads: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    shared_elsewhere: set[int] = field(default_factory=set[int])


@dataclass(slots=True)
class FlatProgram:
    """The slots and steps of one module.

    shardings: by slot, its initial sharding.
    ranks: by slot.
    step_slots: by step, the slots of operands, then of results, in the order of the rule.
    step_kinds: by step, an index into `kinds`.
    dependents: by slot, the steps to enqueue when it changes, in this order.
    other_readers: by slot, the steps that read it and are not enqueued.
    siblings: by slot, the slots of all results of its op: the others become open when it is first sharded.
    groups: by slot, its member of a sharding group, and all members of the group.
    returned: the values that the main function returns.
    liveness: the dead ops, None if there are none.
    kind_numbers: the index of each kind.
    """

    shardings: list[TensorSharding | None] = field(default_factory=lambda: [None])
    ranks: list[int] = field(default_factory=lambda: [0])
    step_slots: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    step_kinds: list[int] = field(default_factory=list[int])
    kinds: list[StepKind] = field(default_factory=list[StepKind])
    dependents: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    other_readers: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    siblings: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    groups: dict[int, tuple[GroupMember, tuple[GroupMember, ...]]] = field(
        default_factory=dict[int, tuple[GroupMember, tuple[GroupMember, ...]]]
    )
    returned: tuple[ReturnedValue, ...] = ()
    liveness: Liveness | None = None
    kind_numbers: dict[StepKind, int] = field(default_factory=dict[StepKind, int])

    def other_members(self, slot: int) -> Iterator[GroupMember]:
        """Yields the other members of the sharding group of a slot, if it is in one."""
        if slot in self.groups:
            own, members = self.groups[slot]
            yield from (member for member in members if member is not own)

    def kind_number(self, kind: StepKind) -> int:
        """The index of `kind` in `kinds`, added if it is new."""
        number = self.kind_numbers.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        return number
