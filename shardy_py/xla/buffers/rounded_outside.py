"""The values of f32 that XLA:TPU stores in bf16, as only the fusion that makes them reads them exactly.

    y = x + b; z = tanh(y); w = product(y, ...)     one fusion makes y and z: y is stored in bf16

XLA:TPU propagates bf16 once more behind its fusions. What reads a value in the fusion that makes it has it in
f32, so that only readers in others count. Source: openxla/xla,
xla/hlo/transforms/bfloat16_propagation.cc, and the stored values of 466 programs.

Not here: values that nothing reads exactly, before there are fusions (`xla/targets/rounding.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.local_sizes import measured
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.rounding import Reading, reading

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_WIDE, _NARROW = "f32", "bf16"
_ELSEWHERE = -2
"""Instead of the number of a fusion: what reads the results of a block."""


def round_outside(
    block: StoredBlock,
    events: Sequence[Event],
    members: Mapping[int, Sequence[PlannedOp]],
    groups: Sequence[int],
    kept: Collection[Name],
) -> None:
    """Notes the types and sizes of values of the events of a block that are stored in bf16.

    events: before those of one fusion are one. members: by the identity of a step, what is computed in it.
    groups: by event, the number of its fusion, -1 of no fusion. kept: the values that others read.
    """
    search = _Search(block, groups, members, {*kept})
    for number in range(len(events) - 1, -1, -1):
        search.add(number, events[number])
    for name in search.narrow:
        block.types[name] = type_ = replace(block.types[name], element=_NARROW)
        block.sizes[name] = measured(type_, block.setting.target)


@dataclass
class _Search:
    """exact: what something behind reads exactly. outside: by value the fusions that do; of kept ones any."""

    block: StoredBlock
    groups: Sequence[int]
    members: Mapping[int, Sequence[PlannedOp]]
    exact: set[Name]
    outside: dict[Name, set[int]] = field(default_factory=dict[Name, set[int]], init=False)
    narrow: set[Name] = field(default_factory=set[Name], init=False)

    def __post_init__(self) -> None:
        self.outside |= {name: {_ELSEWHERE} for name in self.exact}

    def add(self, number: int, event: Event) -> None:
        """Adds the event before those that were added."""
        steps = self.members.get(id(event.step), ()) if event.sent is None else ()
        group = self.groups[number]
        if not steps or event.step.blocks or len(event.makes) != 1 or event.makes != event.step.results:
            for name in event.reads:
                self._note(name, group)
            return
        (made,) = event.makes
        type_ = self.block.types.get(made)
        is_fused = group >= 0 and type_ is not None and type_.element == _WIDE
        if is_fused and self.outside.get(made, set()) <= {group}:
            self.narrow.add(made)
        self._add_members(steps, {*event.reads}, group)

    def _add_members(self, steps: Sequence[PlannedOp], stored: Collection[Name], group: int) -> None:
        inside = set[Name]()
        types, stored_name = self.block.types, self.block.stored_name
        found = set[Name]()
        for step in reversed(steps):
            is_last = step is steps[-1]
            made = step.results[0] if step.results else None
            is_exact = made in self.exact if is_last else made in inside
            given = types.get(stored_name(step.operands[0])) if step.operands else None
            how = reading(step.record, given, types.get(made))
            if how is Reading.NOT or (how is Reading.AS_READ and not is_exact):
                continue
            for name in map(stored_name, step.operands):
                (found if name in stored else inside).add(name)
        for name in stored:
            # A copy in another order is not known by the name that members read.
            if name in found or not self._is_read(name, steps):
                self._note(name, group)

    def _is_read(self, name: Name, steps: Sequence[PlannedOp]) -> bool:
        return any(name == self.block.stored_name(each) for step in steps for each in step.operands)

    def _note(self, name: Name, group: int) -> None:
        self.exact.add(name)
        self.outside.setdefault(name, set()).add(group)
