"""The buffers of one block: its events in the order of XLA, the buffers that they need, and how long.

Planned collectives have buffers of their own. An op may write over an operand that dies, and a buffer that is
not needed beside a result be in its memory. Not here: what runs on the host (`host.py`), what is fused for
chips (`fusion.py`), orders (`schedule.py`), places (`packing.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.aliases import Aliases
from shardy_py.xla.buffers.as_made import MadeResults
from shardy_py.xla.buffers.assignment import PLACE, Assignment
from shardy_py.xla.buffers.canonical import canonical, is_narrowed_after, note_added
from shardy_py.xla.buffers.dependence import needed
from shardy_py.xla.buffers.events import events_of
from shardy_py.xla.buffers.host import host_events
from shardy_py.xla.buffers.host_invariants import left_by, repeats
from shardy_py.xla.buffers.host_program import HostProgram
from shardy_py.xla.buffers.host_sends import sent_before
from shardy_py.xla.buffers.host_steps import HostSteps
from shardy_py.xla.buffers.in_order import copied_in_order, ends_of, stored_in_order, taken_by
from shardy_py.xla.buffers.inferred_layouts import InferredLayouts
from shardy_py.xla.buffers.library import held_types
from shardy_py.xla.buffers.local_sizes import LocalSizes, measured
from shardy_py.xla.buffers.reshaped_orders import reorders
from shardy_py.xla.buffers.schedule import Event, breadth_first_combined, least_memory
from shardy_py.xla.buffers.settings import CompileSetting
from shardy_py.xla.buffers.sliced_products import with_sliced_products
from shardy_py.xla.buffers.storing import StoringKinds
from shardy_py.xla.buffers.tile_orders import Copies, note_orders, spreads_product
from shardy_py.xla.buffers.vmem import VmemValues
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, reads_of
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.model import RoundedValues

if TYPE_CHECKING:
    from shardy_py.xla.buffers.fusion import Fusion


@dataclass
class StoredBlock:
    """One block: which values are stored, and how long.

    sent: the collectives of each step, by its identity. originals: by that of a step with copied operands,
    that of the step in the program. again: the last step that reads what was sent, by the key of the
    collective; merged: by step, what it reads that was sent before. types, sizes: of values on each device.
    joined: for what is sent by one op with others, that op, by the identity of the collective.
    alias: the value whose memory a value shares. host_bytes: of values in memory of the host. is_entry:
    whether it is that of the entry computation. kinds: of the records of the program. rounded: values of f32
    that are stored in bf16; narrowed: the type that a collective sends, if that is another, by its identity.
    """

    block: Block
    sent: dict[int, list[Sent]]
    again: Mapping[Hashable, int]
    setting: CompileSetting
    measure: LocalSizes
    merged: Mapping[int, Sequence[Sent]] = field(default_factory=dict[int, "Sequence[Sent]"])
    types: dict[Name, TensorType] = field(default_factory=dict[Name, TensorType])
    sizes: dict[Name, int] = field(default_factory=dict[Name, int])
    alias: Aliases = field(default_factory=Aliases)
    steps: list[PlannedOp] = field(default_factory=list[PlannedOp])
    results: list[Name] = field(default_factory=list[Name])
    originals: dict[int, int] = field(default_factory=dict[int, int])
    host_bytes: int = 0
    is_entry: bool = True
    joined: Mapping[int, int] = field(default_factory=dict[int, int])
    kinds: StoringKinds = field(default_factory=StoringKinds)
    rounded: RoundedValues = field(default_factory=RoundedValues)
    narrowed: Mapping[int, str] = field(default_factory=dict[int, str])
    in_vmem: VmemValues = field(default_factory=VmemValues, init=False)
    in_order: Copies = field(default_factory=dict[int, "Mapping[Name, Name]"], init=False)
    returned: dict[Name, Name] = field(default_factory=dict[Name, Name], init=False)
    """The copies of values that the program returns in another order."""
    _passed: dict[Name, Name] = field(default_factory=dict[Name, Name], init=False)
    """By the result of a step that holds back what reads it: the name of no bytes that it makes."""
    _barriers: set[Name] = field(default_factory=set[Name], init=False)
    _copies: dict[Hashable, Sequence[Name]] = field(
        default_factory=dict[Hashable, "Sequence[Name]"], init=False
    )
    _layouts: InferredLayouts = field(init=False)
    _made: MadeResults = field(init=False)
    _reordered: list[PlannedOp] = field(default_factory=list[PlannedOp], init=False)
    """Steps whose operands are in other orders; kept, since names of values have their identities."""
    _regions: dict[int, list[Assignment]] = field(default_factory=dict[int, "list[Assignment]"], init=False)
    _insides: dict[int, StoredBlock] = field(default_factory=dict[int, "StoredBlock"], init=False)
    """The regions of steps, by their identities."""
    most_alive: int | None = field(default=None, init=False)
    """The most bytes of values that are alive at once, for the order of TPUs; None until it is found."""
    _events: Sequence[Event] | None = field(default=None, init=False)
    _program: HostProgram | None = field(default=None, init=False)
    """The ops on the host, once they are listed."""

    def __post_init__(self) -> None:
        self._layouts = InferredLayouts(self.alias)
        self._made = MadeResults(self.setting, self.kinds, self.measure, self.rounded.made)
        for value in self.block.arguments:
            self._note(value.name, value.type, value.tiling)
        self._inline(self.block)
        self.results = [self.stored_name(name) for name in self.block.results]
        if self.setting.on_tpu:
            self.in_order = note_orders(self)

    def stored_name(self, name: Name) -> Name:
        """The value whose memory holds a value."""
        return self.alias.root(name)

    def _inline(self, block: Block) -> None:
        """Lists steps; regions that always run once are part of the block around them."""
        on_host, kinds, note, listed = self.setting.on_host, self.kinds.of, self._note, self.steps.append
        in_any_order, is_rounded = self.setting.on_tpu, bool(self.rounded.made)
        steps = with_sliced_products(block, self.sent_for, self.originals) if in_any_order else block.steps
        first, own = 0, self._made.note(steps, self.types, self.sizes)
        for last in (*[number for number, kind in enumerate(own) if kind is None], len(steps)):
            self.steps += steps[first:last]  # nearly all: steps whose results are stored as they are
            if on_host:
                self._layouts.pass_on(steps[first:last], own[first:last])
            if last == len(steps):
                break
            step, first = steps[last], last + 1
            kind = kinds(step.record)
            if on_host and (kind.is_transpose or kind.row.keeps_layout_of is not None):
                self._layouts.note(step, kind)
            for name, type_, tiling in zip(step.results, step.record.results, step.targets, strict=False):
                note(name, type_, tiling)
            if kind.is_to_host:
                self.host_bytes += sum(self.sizes[name] for name in step.results)
                self.sizes |= dict.fromkeys(step.results, 0)
            if step.blocks and kind.is_inlined:
                (inner,) = step.blocks
                self.alias |= {
                    value.name: name for value, name in zip(inner.arguments, step.operands, strict=False)
                }
                self._inline(inner)
                self.alias |= zip(step.results, inner.results, strict=False)
            elif self.setting.on_tpu and kind.row.is_free and spreads_product(self, step):
                self.alias |= zip(step.results, step.operands, strict=False)
            elif (
                kind.is_alias
                or (kind.row.is_free and not on_host)
                or (is_rounded and kind.is_conversion and self._is_of_one_type(step))
            ) and self._is_alias(step):
                self.alias |= zip(step.results, step.operands, strict=False)
                holds_back = kind.row.holds_back
                if holds_back and on_host:
                    self._barriers.update(step.results)
                elif holds_back:
                    passed = (id(step), "passed")  # a name of no bytes
                    self.sizes[passed] = 0
                    self._passed |= dict.fromkeys(step.results, passed)
                if holds_back or kind.is_renaming:
                    listed(step)
            elif kind.row.is_rewritten and not in_any_order:
                self._list_with_copies(step)
            else:
                listed(step)

    def _is_of_one_type(self, step: PlannedOp) -> bool:
        """True if a conversion converts nothing: its operand is stored rounded to what it makes."""
        own = self.types.get(self.stored_name(step.operands[0])), self.types.get(step.results[0])
        return own[0] is not None and own[1] is not None and own[0].element == own[1].element

    def makes(self, step: PlannedOp) -> tuple[Name, ...]:
        """The values that a step makes: of one that holds back others only the name that lets them pass."""
        passed = self._passed.get(step.results[0]) if self._passed and step.results else None
        return step.results if passed is None else (passed,)

    def _list_with_copies(self, step: PlannedOp) -> None:
        """Lists a step with the copies that are added to it."""
        sent, on_host = self.sent_for(step), self.setting.on_host
        operands = [each.operand for each in sent]
        operands += sent_before(step, self.merged.get(id(step), ()), self.stored_name) if on_host else ()
        read = self._in_layouts(step)
        own = (self.types.get(self.stored_name(name)) for name in read.operands)
        is_product = on_host and self.kinds.of(read.record).row.is_product
        held = held_types(read.record, own, self.types.get(read.results[0]), sent) if is_product else ()
        found = canonical(read, operands, held, on_host=on_host, is_entry=self.is_entry)
        wide = 1 + (on_host and is_narrowed_after(read, held))
        for made, own in zip(found.step.results, step.results, strict=True):
            self.sizes[made] = self.sizes[own] * wide
            if own in self.types:
                self.types[made] = replace(self.types[own], element="f32") if wide > 1 else self.types[own]
        note_added((*found.before, *found.after), self.types, self.sizes, self.stored_name)
        self._list_once(each.step for each in found.before)
        self.steps += [found.step, *(each.step for each in found.after)]
        if found.step is not step:
            self.originals[id(found.step)] = id(step)

    def _in_layouts(self, step: PlannedOp) -> PlannedOp:
        """The step, which knows whether its operands are in order."""
        if all(map(self._layouts.is_in_order, step.operands)):
            return step
        self._reordered.append(replace(step, reads_in_order=False))
        return self._reordered[-1]

    def _list_once(self, steps: Iterable[PlannedOp]) -> None:
        """Lists copies of operands; equal copies of a value are one."""
        for step in steps:
            sources = tuple(self.stored_name(name) for name in step.operands)
            key = step.record.name, step.record.results, str(step.record.attributes), sources
            first = self._copies.setdefault(key, step.results) if sources else step.results
            if first is step.results:
                self.steps.append(step)
            else:
                self.alias |= zip(step.results, first, strict=True)

    def _note(self, name: Name, type_: TensorType | None, tiling: Tiling | None) -> None:
        """Notes what a device holds of a value."""
        local, self.sizes[name] = self.measure.of(type_, tiling)
        if local is None:
            return
        if name in self.rounded.made and local.element == "f32":
            self.sizes[name] = measured(local := replace(local, element="bf16"), self.setting.target)
        self.types[name] = local

    def sent_for(self, step: PlannedOp) -> Sequence[Sent]:
        """The collectives of a step."""
        number = id(step)
        if self.originals:
            number = self.originals.get(number, number)
        return self.sent.get(number, ())

    def _is_alias(self, step: PlannedOp) -> bool:
        """True if each result has the size of its operand, and nothing is sent or in another order."""
        moves = self.sent_for(step) or (self.setting.sends_apart and reorders(step, self.types))
        pairs = zip(map(self.stored_name, step.operands), step.results, strict=False)
        return bool(step.results) and not moves and all(self.sizes.get(a) == self.sizes[b] for a, b in pairs)

    def scheduled(self, *, saves_reads: bool = False) -> tuple[list[Event], dict[int, list[PlannedOp]]]:
        """The events in program order; and by the identity of a step, what is computed in it."""
        groups = self.fusion.groups(saves_reads=saves_reads)
        stored = [step for step in self.fusion.steps if id(step) in groups]
        return events_of(self, stored, groups), {number: group.members for number, group in groups.items()}

    @cached_property
    def fusion(self) -> Fusion:
        """The fusion of the steps that are needed, on chips."""
        from shardy_py.xla.buffers.fusion import Fusion  # modules that the host does not need

        _, steps, reads = self._needed()
        kept = [*self.results, *self.returned, *stored_in_order(self)]
        rest = [*map(self.sent_for, steps)], kept, self.kinds, reads, self.setting.on_tpu, self.types
        return Fusion(steps, self.sizes, *rest, joins=self.setting.as_compiled)

    def assignment(self, results: Sequence[int], carried: Sequence[Name | None] = ()) -> Assignment:
        """The values in memory, beyond arguments and results.

        results: the sizes of the memory for results. carried: as of `Assignment`.
        """
        events = self.events_in_order(results, carried)
        if room := self.setting.room_in_vmem:
            from shardy_py.xla.buffers.fetched import with_fetches  # needed for some TPUs only

            events = with_fetches(self, events, room, taken_by(self, carried))
        listed = () if self.setting.on_host else enumerate(events)  # there, events read what was sent before
        numbers = {id(event.step): number for number, event in listed if event.sent is None}
        numbers |= {own: numbers[step] for step, own in self.originals.items() if step in numbers}
        return Assignment(
            *(events, self.sizes, self.results, results, carried, self.alias, self.regions),
            lambda sent: numbers.get(self.again.get(sent.key, 0), -1),
            lambda event: self.joined.get(id(event.sent)),
            receives_apart=self.setting.on_tpu,
            place=PLACE if self.setting.on_tpu else 1,
        )

    def events_in_order(self, results: Sequence[int], carried: Sequence[Name | None]) -> Sequence[Event]:
        """The events in the order of XLA, before values are fetched. results, carried: see `assignment`."""
        if self._events is None:
            self._events = copied_in_order(self, results, carried)
        return self._events

    def on_host(self, sizes: Sequence[int]) -> list[Event]:
        """The events on the host, in program order; notes which values the results are."""
        events = host_events(self._host_program(sizes), self.results)
        self.results = [self.stored_name(name) for name in self.results]
        return events

    def _host_program(self, sizes: Sequence[int]) -> HostProgram:
        """The ops on the host; notes which values the results are."""
        if self._program is not None:
            return self._program
        known = self.types, self.sizes, self.alias, partial(measured, target=self.setting.target)
        program = HostProgram(*known, barriers=self._barriers)
        steps = HostSteps(program, self.sent, self.merged, self.originals)
        _, needed, _ = self._needed()
        steps.add_all(needed, lambda step: self._captured(step, program) if step.blocks else ())
        sent, known = self.sent.get(id(None), ()) if self.is_entry else (), len(sizes)
        self.results = [
            steps.result(n, name, sent, sizes[n] if n < known else 0)
            for n, name in enumerate(self.block.results)
        ]
        self._program = program
        return program

    def _captured(self, step: PlannedOp, program: HostProgram) -> Iterable[Name]:
        """The values that regions of a step read, once what is moved out of a loop is."""
        moved = self._moved_out(step, program)
        captured = dict.fromkeys(chain(*[inner.awaited for inner in step.blocks], moved))
        return [name for name in captured if moved.get(name, True)]

    def _moved_out(self, step: PlannedOp, program: HostProgram) -> dict[Name, bool]:
        """Moves what a loop computes of unchanged values before it: what that makes, if it is read inside."""
        if not repeats(step):
            return {}
        body = self._insides[id(step.blocks[-1])] = self._inside(step.blocks[-1])
        inside = body._host_program([self.sizes[name] for name in step.results])
        moved, made = left_by(inside, body.block)
        self.types.update((name, body.types[name]) for name in made if name in body.types)
        self.sizes.update((name, body.sizes[name]) for name in made if name in body.sizes)
        program.ops += [op._replace(reads=tuple(map(self.stored_name, op.reads))) for op in moved]
        return made

    def ordered(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events of the block in the order in which the device runs them."""
        if self.setting.on_host:
            return breadth_first_combined(events, self.results)
        if not self.setting.on_tpu:
            return least_memory(events, self.sizes)
        from shardy_py.xla.buffers.tpu.order import in_tpu_order  # modules that other targets do not need

        return in_tpu_order(self, events)

    def _needed(self) -> tuple[set[Name], Sequence[PlannedOp], Sequence[Sequence[Name]]]:
        """The values that something needs; the steps that make them or have effects, and what each reads."""
        steps, own = self.steps, self.alias.keys().isdisjoint
        makes = [*map(self.makes, steps)] if self._passed else [step.results for step in steps]
        reads = [
            each.operands if own(each.operands) and not each.blocks else self._reads(each) for each in steps
        ]
        live, kept = needed({*self.results, *self.returned}, makes, reads)
        found = (steps, reads) if kept is None else ([steps[n] for n in kept], [reads[n] for n in kept])
        return live, *found

    def _reads(self, step: PlannedOp) -> Sequence[Name]:
        """The stored names of what a step reads, which are known once all steps are listed."""
        names = reads_of(step)
        found = [self.stored_name(name) for name in names]
        return [*found, *self.waited_for(names)] if self._passed else found

    def waited_for(self, names: Iterable[Name]) -> Iterable[Name]:
        """The values that the readers of these values wait for."""
        for name in names:
            while name in self.alias:
                if name in self._passed:
                    yield self._passed[name]
                name = self.alias[name]

    def regions(self, event: Event) -> list[Assignment]:
        """The regions of an event, which run one after the other."""
        step = event.step
        if step is None or not step.blocks or event.sent is not None:
            return []
        if id(step) not in self._regions:
            ends = [(self.inside(each), ends_of(self, step, each)) for each in step.blocks]
            self._regions[id(step)] = [inside.assignment(*own) for inside, own in ends]
        return self._regions[id(step)]

    def with_vmem(self, room: int) -> StoredBlock:
        """The block with so many bytes of VMEM, in which any op may make its values."""
        found = copy(self)
        found.setting = replace(self.setting, room_in_vmem=room, any_in_vmem=True)
        found.sizes, found.in_vmem, found._regions = {**self.sizes}, copy(self.in_vmem), {}
        found._insides = {number: inner.with_vmem(room) for number, inner in self._insides.items()}
        return found

    def inside(self, inner: Block) -> StoredBlock:
        """A region of a step of the block, with what is known of the values from outside that it reads."""
        if id(inner) not in self._insides:
            self._insides[id(inner)] = self._inside(inner)
        return self._insides[id(inner)]

    def _inside(self, inner: Block) -> StoredBlock:
        read = {name: name if name in self.types else self.stored_name(name) for name in inner.captured}
        return StoredBlock(
            *(inner, self.sent, self.again, self.setting, self.measure, self.merged),
            {name: self.types[stored] for name, stored in read.items() if stored in self.types},
            {name: self.sizes[stored] for name, stored in read.items() if stored in self.sizes},
            is_entry=False,
            joined=self.joined,
            kinds=self.kinds,
            rounded=self.rounded,
            narrowed=self.narrowed,
        )

    def regions_in_order(self, step: PlannedOp) -> list[tuple[StoredBlock, Sequence[Event]]]:
        """The regions of a step, each with its events in order, before values are fetched."""
        inside = [(self.inside(inner), ends_of(self, step, inner)) for inner in step.blocks]
        return [(inner, inner.events_in_order(*ends)) for inner, ends in inside]
