"""The memory of a computation whose ops are in order: which values share it, and how long they need it.

Loops and branches are parts of the computation around them, where their ops have moments of their own. Values
that loops carry, and what is updated in place, are in one memory. The memory of results holds other values
while it is free; of what is left, an op may write over an operand that dies. Source: openxla/xla,
xla/service/buffer_assignment.cc, xla/hlo/utils/hlo_live_range.cc, xla/service/heap_simulator. Not here:
orders (`schedule.py`), places (`packing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Storage
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.held import HeldMemory, Period, ResultMemory
from shardy_py.xla.buffers.packing import Buffer, have_places, packed, packed_in_order, summed
from shardy_py.xla.buffers.schedule import Event, is_in_loop
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp

PLACE = 16 << 10
"""The bytes between buffers in HBM, on TPUs."""


@dataclass
class Assignment:
    """Assigns memory to the values that events make.

    events: in their order. sizes: bytes of values. results: the values that are returned; memory: the bytes
    of the memory for each; none in branches that return others. carried: for each the argument that is in it
    at first; None for none. alias: the values that are others under another name. inner: the computations
    that an event runs, one after the other. until: the number of the event up to which what a collective
    receives is needed, at least. together: for what is received by one op with others, that op.
    receives_apart: whether what is received is never in the memory of results, as on TPUs: a result that is
    received is copied. is_wrapped: whether an event is in a computation of its own, whose memory XLA
    chooses behind that of the one around it. place: the bytes of which the places of buffers are multiples.
    """

    events: Sequence[Event]
    sizes: Mapping[Name, int]
    results: Sequence[Name]
    memory: Sequence[int]
    carried: Sequence[Name | None]
    alias: Mapping[Name, Name]
    inner: Callable[[Event], Sequence[Assignment]]
    until: Callable[[PlannedCollective], int] = lambda sent: -1
    together: Callable[[Event], Hashable] = lambda event: None
    receives_apart: bool = False
    is_wrapped: Callable[[Event], bool] = lambda event: False
    place: int = 1

    def temporaries(self) -> tuple[int, tuple[Buffer, ...]]:
        """The bytes of values beyond arguments and results, and what is alive when most is."""
        slots, held = self.held()
        if not have_places(held):
            return summed(held, slots)
        results = ResultMemory(slots)
        inside = {period.name: slot for slot in slots for period in slot.periods}
        left: list[HeldMemory] = []
        for each in sorted(held, key=lambda each: (-each.size, each.order)):
            preferred = [inside[name] for name in each.periods[0].over if name in inside]
            slot = results.take(each, preferred) if each.size and not each.is_apart else None
            if slot is None:
                left.append(each)
            else:
                inside |= dict.fromkeys((period.name for period in each.periods), slot)
        place = packed_in_order if self.receives_apart else packed
        return place(_written_over(left), self.place)

    def held(self) -> tuple[list[HeldMemory], list[HeldMemory]]:
        """The memory of results, and of values that are not in it: each of its own so far."""
        slots = [HeldMemory(size, []) for size in self.memory]
        holding = _Holding()
        holding.hold(self, slots, -1, 0)
        held = [each for each in holding.found if each.periods]
        return slots, [each for each in held if not _is_constant(each)] if self.receives_apart else held

    @cached_property
    def regions(self) -> list[Sequence[Assignment]]:
        """The computations that each event runs."""
        return [self.inner(event) for event in self.events]

    @cached_property
    def length(self) -> int:
        """The number of moments."""
        inner = sum(region.length for regions in self.regions for region in regions)
        return inner + sum(map(_moments, self.events))


def _is_copy(held: HeldMemory) -> bool:
    """True for the memory of a copy in another order."""
    event = held.event
    return event is not None and event.step is None and event.sent is None and not event.sums


def _is_constant(held: HeldMemory) -> bool:
    return held.step is not None and STORED.of(held.step.record.name).is_constant


def _is_written(event: Event) -> bool:
    """True for an op that writes a part of a value, as a scatter does."""
    step = event.step
    return step is not None and event.sent is None and TABLE[step.record.name].storage is Storage.IN_PLACE


def _makes_one(event: Event) -> bool:
    """True for an event that makes one value, which is neither sent nor an operand that is changed."""
    return len(event.makes) == 1 and event.sent is None and not event.is_update


def _moments(event: Event) -> int:
    """The moments of an event: after one that makes several values, XLA takes them one by one."""
    return 1 + (len(event.makes) if len(event.makes) > 1 else 0)


@dataclass
class _Block:
    """A computation with the moments of its events, of the starts of what each runs, and of its end.

    number: its own, as names of values are. last: the moment at which a value is read last.
    """

    of: Assignment
    start: int
    number: int
    moments: list[int] = field(init=False, default_factory=list[int])
    starts: list[list[int]] = field(init=False, default_factory=list["list[int]"])
    end: int = field(init=False)
    last: dict[Name, int] = field(init=False, default_factory=dict[Name, int])

    def __post_init__(self) -> None:
        end, last = self.start, self.last
        for event, regions in zip(self.of.events, self.of.regions, strict=True):
            starts: list[int] = []
            for region in regions:
                starts.append(end)
                end += region.length
            self.starts.append(starts)
            self.moments.append(end)
            for name in event.reads:
                last[name] = end
            end += _moments(event)
        self.end = end


@dataclass
class _Holding:
    """The memory of the values of computations, beside that of the results of the outermost."""

    found: list[HeldMemory] = field(default_factory=list[HeldMemory])
    _count: int = 0
    _blocks: int = 0

    def hold(self, of: Assignment, slots: Sequence[HeldMemory], before: int, start: int) -> None:
        """Notes the memory of what a computation makes.

        slots: the memory of its results. before, start: when the arguments are there, and its first moment.
        """
        block = _Block(of, start, self._blocks)
        self._blocks += 1
        first, self._count = self._count, self._count + 2 * len(of.events)
        orders = _post_order(of.events, of.results)
        for number, event in enumerate(of.events):
            if of.is_wrapped(event):
                orders[number] += len(orders)
        if start == 0 and before < 0:
            _order_results(of, slots, orders)
        roots = dict(zip(of.results[::-1], slots[::-1], strict=False)) if slots else {}
        holders: dict[Name, HeldMemory] = {}
        for name, made, slot in zip(of.carried, of.results, slots, strict=False):
            if name is not None:
                until = block.end if name == made else block.last.get(name, before)
                slot.periods.append(Period(before, until, (block.number, name), in_place=True))
                holders[name] = slot
        together: dict[Hashable, int] = {}
        for number, event in enumerate(of.events):
            moment = block.moments[number]
            op = of.together(event)
            since = moment if op is None else together.setdefault(op, moment)
            order = first + orders[number]
            if _makes_one(event) and not block.starts[number]:  # nearly all
                name = event.makes[0]
                if name not in roots and name not in of.alias:
                    holders[name] = self._new(block, event, (since, moment), order)
                    continue
            made = self._made(block, number, since, roots, holders, order)
            for region, at in zip(of.regions[number], block.starts[number], strict=True):
                self.hold(region, made if region.memory else (), at, at)

    def _new(self, block: _Block, event: Event, at: tuple[int, int], order: int) -> HeldMemory:
        """New memory for the one value that an event makes beside results. at: from when; when it runs."""
        (made,), sizes, over = event.makes, block.of.sizes, event.over_at(0)
        size = sizes[made]
        names = tuple([(block.number, name) for name in over if sizes.get(name) == size]) if over else ()
        since, moment = at
        period = Period(since, block.last.get(made, moment), (block.number, made), names, made)
        held = HeldMemory(size, [period], order, event, is_part=event.is_part)
        self.found.append(held)
        return held

    def _made(
        self,
        block: _Block,
        number: int,
        since: int,
        roots: Mapping[Name, HeldMemory],
        holders: dict[Name, HeldMemory],
        order: int,
    ) -> list[HeldMemory]:
        """Gives memory to what an event makes: that of the result or of an operand, or new."""
        event, sizes, moment = block.of.events[number], block.of.sizes, block.moments[number]
        reads = dict.fromkeys(event.reads) if event.is_update else ()
        dying = {name for name in reads if block.last[name] == moment and name in holders}
        if block.of.receives_apart and block.starts[number]:
            # What a loop starts with is copied from a constant.
            dying = {name for name in dying if not _is_constant(holders[name])}
        known: dict[tuple[int, int], tuple[tuple[Name, ...], tuple[Name, ...]]] = {}
        found: list[HeldMemory] = []
        is_part = len(event.makes) > 1
        for position, made in enumerate(event.makes):
            if made in block.of.alias:
                found.append(HeldMemory(0, []))
                continue
            finish = block.end if made in roots else block.last.get(made, moment)
            if event.sent is not None and (needed := block.of.until(event.sent)) >= 0:
                finish = max(finish, block.moments[needed])
            every = event.over_at(position)
            key = id(every) if len(every) > 1 else position, sizes[made]
            if key not in known:  # many results are often over the same
                own = tuple([name for name in every if sizes.get(name) == sizes[made]])
                # Names of another computation may be the same.
                known[key] = own, tuple([(block.number, name) for name in own])
            over, names = known[key]
            taken = next((name for name in over if name in dying), None) if event.updates(position) else None
            if taken is not None:
                dying.remove(taken)
                held = holders.pop(taken)
            else:
                is_apart = block.of.receives_apart and event.sent is not None
                in_tuple = is_part or event.is_part
                held = HeldMemory(sizes[made], [], order, event, is_part=in_tuple, is_apart=is_apart)
                self.found.append(held)
            held.is_shared = held.is_shared or event.updates(position)
            if block.starts[number] and event.is_update:
                # On TPUs it ends where the condition starts: the live ranges that XLA:TPU writes say so.
                starts = block.starts[number][: 1 if block.of.receives_apart else None]
                _enter_loop(held, (block.number, taken), starts)
            in_place = event.is_update and (
                bool(block.starts[number])
                or (taken is not None and (_is_written(event) or is_in_loop(taken)))
            )
            held.periods.append(Period(since, finish, (block.number, made), names, made, in_place))
            slot = roots.get(made)
            if slot is not None and held.is_apart:
                slot.periods.append(Period(block.end, block.end))
            elif slot is not None and slot is not held:
                held.move_to(slot)
                held = slot
            holders[made] = held
            found.append(held)
        return found


def _enter_loop(held: HeldMemory, name: Name, starts: Sequence[int]) -> None:
    """Ends what a loop starts with, or a copy of it, where the last of some of its computations starts."""
    for number, period in enumerate(held.periods):
        if period.name == name:
            held.periods[number] = period._replace(end=starts[-1])
            return
    held.periods.append(Period(starts[0], starts[-1]))


def _order_results(of: Assignment, slots: Sequence[HeldMemory], orders: Sequence[int]) -> None:
    """Notes the places of results in the program, or of the arguments in whose memory they are."""
    made: dict[Name, int] = {}
    read: dict[Name, int] = {}
    wanted, carried_names = {*of.results}, {*of.carried}
    for event, order in zip(of.events, orders, strict=True):
        if not wanted.isdisjoint(event.makes):
            made |= dict.fromkeys(event.makes, order)
        if not carried_names.isdisjoint(event.reads):
            for name in event.reads:
                read[name] = min(order, read.get(name, order))
    for position, (name, slot) in enumerate(zip(of.results, slots, strict=False)):
        carried = of.carried[position] if position < len(of.carried) else None
        slot.order = made.get(name, 2 * len(orders)) if carried is None else read.get(carried, -1)


def _post_order(events: Sequence[Event], results: Sequence[Name]) -> list[int]:
    """The place of each event among those that the results need, each after what it reads."""
    makers = {name: number for number, event in enumerate(events) for name in event.makes}
    orders = [-1] * len(events)
    count = 0
    wanted = [*range(len(events) - 1, -1, -1), *(makers[name] for name in results[::-1] if name in makers)]
    entered = [False] * len(events)
    while wanted:
        number = wanted.pop()
        if orders[number] >= 0:
            continue
        if entered[number]:
            orders[number] = count
            count += 1
            continue
        entered[number] = True
        wanted.append(number)
        for name in reversed(events[number].reads):
            maker = makers.get(name, number)
            if not entered[maker]:
                wanted.append(maker)
    return orders


def _written_over(held: Sequence[HeldMemory]) -> list[HeldMemory]:
    """The memory of values of which some are written over others, whose last readers they are.

    Of a value and that with a part written over it nothing else shares the memory. Source: openxla/xla,
    xla/service/heap_simulator/heap_simulator.cc (buffers of several values).
    """
    single = {each.periods[0].name: each for each in held if len(each.periods) == 1 and not each.is_shared}
    updates = {name: each.periods[0].over[0] for name, each in single.items() if _updates(each)}
    several = updates.keys() | updates.values()  # the values of memory that has several in any case
    for each in sorted(single.values(), key=lambda each: (each.periods[0].start, each.periods[0].end)):
        period = each.periods[0]
        is_update = period.name in updates
        if period.name in several and not is_update:
            continue
        for name in period.over[:1] if is_update else period.over:
            other = single.get(name)
            if other is None or other.size != each.size or _is_copy(other):
                continue
            if not is_update and (other.is_part or other.is_apart):
                continue
            if name in several and not is_update:
                continue
            if other.periods[-1].end == period.start:
                each.move_to(other)
                single[period.name] = other
                del single[name]
                break
    return [each for each in held if each.periods]


def _updates(held: HeldMemory) -> bool:
    """True for a value that is another one with a part written over."""
    event = held.event
    if event is None or event.is_update or not isinstance(event.step, PlannedOp):
        return False
    return bool(held.periods[0].over) and _is_written(event)
