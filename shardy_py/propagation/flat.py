"""A program as propagation sees it: numbered slots that hold shardings, numbered steps that relate them.

A slot is a place where a sharding is kept: an op's result, a function's argument or result, a data-flow edge.
A step is an op, edge or barrier with a rule; it reads and writes its slots. For

    %0 = stablehlo.add %arg0, %arg1         slots 1: %arg0, 2: %arg1, 3: %0       step 0: slots (1, 2, 3)

Slot 0 stands for what cannot be sharded. Plain data: `build.py` makes it from IR, `propagation/` works on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shardy_py.ops import Role
from shardy_py.sharding import ShardingRule, TensorSharding

UNSHARDABLE = 0
"""The slot of values that no sharding can be attached to; nothing is ever written to it."""


@dataclass(frozen=True, slots=True)
class ManualBoundary:
    """A data-flow edge at the border of a manual computation.

    outer: the in- or out-sharding at that place; the edge keeps the free axes inside it.
    is_argument: whether the edge is of a block argument: its sharding is the inner one, its source outside.
    """

    outer: TensorSharding
    manual_axes: tuple[str, ...]
    is_argument: bool


@dataclass(frozen=True, slots=True)
class StepKind:
    """All that propagation needs to know of a step beside its slots; equal for alike ops.

    rule: None for an op that has none and is only there to be erased.
    has_shared_operand: whether an operand that is no scalar has other uses.
    barrier_direction: the direction that a BARRIER lets pass, as `Direction` numbers it.
    is_edge: identity rules of edges are never conservative.
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
        """Whether the step is a propagation barrier."""
        return self.role is Role.BARRIER


@dataclass(frozen=True, slots=True)
class Notified:
    """A member of a sharding group: its slot and the steps to wake when the group's sharding changes."""

    slot: int
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReturnedValue:
    """A value that the main function returns: its slot, the slot of the function's result, and the rule."""

    slot: int
    result_slot: int
    rule: ShardingRule


@dataclass(slots=True)
class Liveness:
    """Ops that are dead or will be once dead ones are erased; the driver of C++ erases them on the way.

    remaining_uses: by step, the uses of its results that are left.
    operands: by step, one entry an operand: the step that defines it, or -1; a number for the value.
        Operands in regions count too, but for those of ops that die on their own.
    nested: by step, the steps in its regions, which go with it.
    users: by such number, the steps that use the value, one entry a use; users without a step have numbers
        below 0.
    reads: by step that uses such a value, the numbers of those of its operands that are no scalars.
    shared_elsewhere: steps with another operand that is shared for good.
    """

    remaining_uses: dict[int, int] = field(default_factory=dict[int, int])
    operands: dict[int, tuple[tuple[int, int], ...]] = field(
        default_factory=dict[int, tuple[tuple[int, int], ...]]
    )
    nested: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    users: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    reads: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    shared_elsewhere: set[int] = field(default_factory=set[int])


@dataclass(slots=True)
class FlatProgram:
    """Slots and steps of one module.

    shardings: by slot, the sharding it holds at first.
    ranks: by slot.
    step_slots: by step, the slots of operands, then of results, as the rule orders them.
    step_kinds: by step, an index into `kinds`.
    notified: by slot, the steps that are put back to work when it changes, in this order.
    unnotified: by slot, steps that read it but are not put back to work.
    siblings: by slot, the slots of the other results of its op: they become open when it is first sharded.
    groups: by slot, the other members of its sharding group.
    returned: what the main function returns.
    liveness: the dead ops, None if there are none.
    kind_numbers: the index of each kind.
    """

    shardings: list[TensorSharding | None] = field(default_factory=lambda: [None])
    ranks: list[int] = field(default_factory=lambda: [0])
    step_slots: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    step_kinds: list[int] = field(default_factory=list[int])
    kinds: list[StepKind] = field(default_factory=list[StepKind])
    notified: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    unnotified: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    siblings: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    groups: dict[int, tuple[Notified, ...]] = field(default_factory=dict[int, tuple[Notified, ...]])
    returned: tuple[ReturnedValue, ...] = ()
    liveness: Liveness | None = None
    kind_numbers: dict[StepKind, int] = field(default_factory=dict[StepKind, int])

    def kind_number(self, kind: StepKind) -> int:
        """The index of `kind` in `kinds`, added if it is new."""
        number = self.kind_numbers.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        return number

    def unshared(self, kind: int) -> int:
        """The kind that differs from kind number `kind` by having no shared operand."""
        return self.kind_number(replace(self.kinds[kind], has_shared_operand=False))

    @staticmethod
    def of_steps(
        shardings: Sequence[TensorSharding | None], steps: Sequence[tuple[StepKind, tuple[int, ...]]]
    ) -> FlatProgram:
        """A program from the shardings of slots 1, 2, ... and steps in order; for tests and small studies.

        Every step is notified of changes of its slots, the maker of a value first, then its users, the last
        one first.
        """
        program = FlatProgram([None, *shardings])
        program.ranks = [0, *(s.rank if s else 0 for s in shardings)]
        readers: list[list[int]] = [[] for _ in program.shardings]
        for step, (kind, slots) in enumerate(steps):
            program.step_slots.append(slots)
            program.step_kinds.append(program.kind_number(kind))
            made = slots[len(kind.rule.operands) :] if kind.rule else ()
            for slot in dict.fromkeys(slots):
                readers[slot].insert(0, step) if slot in made else readers[slot].append(step)
        for slot, found in enumerate(readers):
            makers = [s for s in found if _makes(steps[s], slot)]
            program.notified.append((*makers, *(s for s in reversed(found) if s not in makers)))
        return program


def _makes(step: tuple[StepKind, tuple[int, ...]], slot: int) -> bool:
    kind, slots = step
    return kind.rule is not None and slot in slots[len(kind.rule.operands) :]
