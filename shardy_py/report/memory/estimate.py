"""An estimate of what XLA allocates on each device for a propagated program, beside the upper bound of `report.py`.

Chains of elementwise ops, broadcasts and other cheap ops are fused into their consumers and not stored; a
fused op may write over an operand that dies. Collectives of the partitioner's plan have buffers of their own.
A buffer that is not needed at the same time as a result may be in the memory of that result.
docs/memory.md describes the model. Not here: bytes of one array (`spmd/tiling.py`), the plan (`spmd/walk.py`).

    estimate_memory(function, meshes).peak_bytes
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from shardy_py.layout import element_type
from shardy_py.ops import TABLE, Control, Storage, TensorType
from shardy_py.report.communication.spmd_program import block_of
from shardy_py.report.memory.canonical import is_widened, with_copies
from shardy_py.report.memory.schedule import Event, breadth_first
from shardy_py.sharding import Mesh
from shardy_py.spmd.model import Collective
from shardy_py.spmd.program import Block, Name, Step
from shardy_py.spmd.tiling import Tiling
from shardy_py.spmd.walk import Sent, plan_program

_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("broadcast_in_dim", "iota", "reshape", "transpose", "slice", "pad", "concatenate", "reverse"),
        *("dynamic_slice", "convert", "bitcast_convert", "select", "clamp", "compare"),
    )
)
"""Ops that XLA fuses into consumers although they are not elementwise."""

_FREE = frozenset(("stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim"))
"""Ops whose results are computed again in each consumer, whatever their number."""

_EXPENSIVE = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("divide", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "power"),
        *("remainder", "rsqrt", "sqrt", "cbrt", "tanh", "sine", "cosine", "tan", "atan2", "reduce"),
    )
)
"""Ops that XLA does not compute twice to fuse them into several consumers."""


_MOST_PLACED = 2_000
"""Buffers of larger programs are summed up instead of given places, which would take quadratic time."""

_WINDOWED = frozenset(("stablehlo.convolution", "stablehlo.reduce_window", "stablehlo.select_and_scatter"))


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on each device.

    arguments, results: of the entry function. aliased: of results in the memory of donated arguments.
    temporaries: at most at one time, without those in the memory of results.
    """

    arguments: int
    results: int
    aliased: int
    temporaries: int

    @property
    def peak_bytes(self) -> int:
        """Arguments and temporaries, as XLA's `argument_size + temp_size`."""
        return self.arguments + self.temporaries

    @property
    def total_bytes(self) -> int:
        """All that is allocated, results included: compare this with the memory of a device."""
        return self.peak_bytes + self.results - self.aliased


class _Buffer(NamedTuple):
    size: int
    start: int
    end: int


def estimate_memory(
    function: FuncOp,
    meshes: Mapping[str, Mesh],
    donated: Sequence[bool] = (),
    *,
    is_breadth_first: bool = False,
) -> MemoryEstimate:
    """Returns the estimate for a function without calls whose shardings are propagated.

    donated: for each argument, whether a result may take its memory. meshes: by name. is_breadth_first: ops
    start as early as they can, as XLA schedules for the host, so that weights are gathered at once; otherwise
    they run in program order.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    block = block_of(function, meshes)
    sent: dict[int, list[Sent]] = defaultdict(list)
    plan = plan_program(block)
    for each in plan.sent:
        sent[id(each.step)].append(each)
    again = {each.collective.key: id(each.step) for each in plan.merged}
    sizes = [_size(value.type, value.tiling) for value in block.arguments]
    types = _types(block)
    results = [
        _size(types.get(name), target) for name, target in zip(block.results, block.targets, strict=True)
    ]
    free = [size for size, gives in zip(sizes, donated, strict=False) if gives]
    aliased = 0
    for size in results:
        if size in free:
            free.remove(size)
            aliased += size
    held = _Body(block, sent, again, is_breadth_first).temporaries(results)
    return MemoryEstimate(sum(sizes), sum(results), aliased, held)


def _size(type_: TensorType | None, tiling: Tiling | None) -> int:
    """The bytes of a tensor on each device."""
    if type_ is None:
        return 0
    shape = tuple(size or 0 for size in type_.shape)
    local = shape if tiling is None else tiling.local_shape(shape)
    return -(-prod(local) * element_type(type_.element).bits // 8)


def _types(block: Block) -> dict[Name, TensorType | None]:
    found: dict[Name, TensorType | None] = {value.name: value.type for value in block.arguments}
    for step in block.steps:
        found |= zip(step.results, step.record.results, strict=False)
    return found


@dataclass
class _Body:
    """One block: which values are stored, and how long.

    sent: the collectives of each step, by its identity. originals: by that of a step with copied operands, that
    of the step in the program. again: the last step that reads what was sent, by the
    key of the collective. alias: the value whose memory a value shares.
    """

    block: Block
    sent: dict[int, list[Sent]]
    again: Mapping[Hashable, int]
    is_breadth_first: bool
    sizes: dict[Name, int] = field(default_factory=dict[Name, int])
    alias: dict[Name, Name] = field(default_factory=dict[Name, Name])
    steps: list[Step] = field(default_factory=list[Step])
    results: list[Name] = field(default_factory=list[Name])
    originals: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        for value in self.block.arguments:
            self.sizes[value.name] = _size(value.type, value.tiling)
        self._inline(self.block)
        self.results = [self.stored_name(name) for name in self.block.results]

    def stored_name(self, name: Name) -> Name:
        """The value whose memory holds a value."""
        while name in self.alias:
            name = self.alias[name]
        return name

    def _inline(self, block: Block) -> None:
        """Lists steps; regions that always run once are part of the block around them."""
        for step in block.steps:
            triples = zip(step.results, step.record.results, step.targets, strict=False)
            self.sizes |= {name: _size(type_, tiling) for name, type_, tiling in triples}
            row = TABLE[step.record.name]
            if step.blocks and row.control in (Control.MANUAL, Control.REGION, Control.ASYNC):
                (inner,) = step.blocks
                self.alias |= {
                    value.name: name for value, name in zip(inner.arguments, step.operands, strict=False)
                }
                self._inline(inner)
                self.alias |= zip(step.results, inner.results, strict=False)
            elif self._is_alias(step):
                self.alias |= zip(step.results, step.operands, strict=False)
                if row.storage is Storage.ALIAS and not row.is_wire:
                    self.steps.append(step)
            else:
                self._list_with_copies(step)

    def _list_with_copies(self, step: Step) -> None:
        sent = self.sent.get(id(step), [])
        on_host = self.is_breadth_first
        *copies, made = with_copies(step, [each.operand for each in sent], on_host=on_host)
        for copy in copies:
            is_wide = copy.record.name == "stablehlo.convert"
            self.sizes[copy.results[0]] = self.sizes.get(copy.operands[0], 0) * (1 + is_wide)
        if on_host and is_widened(step):
            self.sizes |= {name: 2 * self.sizes[name] for name in step.results}
        self.steps += [*copies, made]
        if made is not step:
            self.sent[id(made)] = sent
            self.originals[id(made)] = id(step)

    def _is_alias(self, step: Step) -> bool:
        """Whether each result is its operand under another name."""
        row = TABLE[step.record.name]
        is_free = row.is_wire or row.storage is Storage.ALIAS or step.record.name == "stablehlo.reshape"
        pairs = zip(step.operands, step.results, strict=False)
        same = all(self.sizes.get(name) == self.sizes[result] for name, result in pairs)
        return is_free and same and not self.sent.get(id(step)) and bool(step.results)

    def temporaries(self, results: Sequence[int], carried: Sequence[Name] = ()) -> int:
        """The bytes of values beyond arguments and results at the moment that most are alive.

        results: the sizes of the memory for results. carried: the arguments that are in it at first.
        """
        live = self._live()
        steps = [step for step in self.steps if not step.results or not live.isdisjoint(step.results)]
        fused = self._fused(steps)
        needs = self._needs(steps, fused)
        stored = [step for step in steps if not step.results or step.results[0] not in fused]
        events = self._events(stored, needs)
        if self.is_breadth_first:
            events = breadth_first(self._combined(events))
        moments = {id(event.step): moment for moment, event in enumerate(events) if event.sent is None}
        moments |= {self.originals[step]: moments[step] for step in self.originals if step in moments}
        last = {name: moment for moment, event in enumerate(events) for name in event.reads}
        end = len(events)
        slots: list[_Slot] = [_Slot(size) for size in results]
        for slot, name in zip(slots, carried, strict=False):
            slot.busy.append((-1, last.get(name, -1)))
        buffers: list[_Buffer] = []
        roots: dict[Name, int] = {}
        for position, name in enumerate(self.results):
            roots.setdefault(name, position)
        holders: dict[Name, _Holder] = {}
        for moment, event in enumerate(events):
            step = event.step
            inner = 0 if step is None or event.sent is not None else self._inner(step)
            if inner:
                buffers.append(_Buffer(inner, moment, moment))
            reads = dict.fromkeys(event.reads)
            dying = [name for name in reads if last[name] == moment and name in holders]
            for made in event.makes:
                if made in self.alias:
                    continue
                finish = end if made in roots else last.get(made, moment)
                if event.sent is not None:
                    finish = self._needed_until(event.sent, finish, moments)
                size = self.sizes[made]
                reused = next((name for name in dying if holders[name].size == size), None)
                if reused is not None and step is not None and event.sent is None and self._in_place(step):
                    dying.remove(reused)
                    holder = holders.pop(reused)
                    holder.end = finish
                else:
                    holder = _Holder(size, moment, finish)
                holders[made] = holder
                holder.root = roots.get(made, holder.root)
        distinct = {id(holder): holder for holder in holders.values()}
        for holder in distinct.values():
            slot = slots[holder.root] if 0 <= holder.root < len(slots) else None
            if slot is None or not slot.take(holder.start, holder.end):
                buffers.append(_Buffer(holder.size, holder.start, holder.end))
        return _packed(buffers, slots)

    def _events(self, steps: Sequence[Step], needs: Mapping[int, list[Name]]) -> list[Event]:
        """What runs, in program order: what is sent of operands before their step, sums of results after it."""
        events: list[Event] = []
        for step in steps:
            sent: list[Name] = []
            sums: list[Collective] = []
            for number, each in enumerate(self.sent.get(id(step), ())):
                if each.collective.kind == "all_reduce":
                    sums.append(each.collective)
                    continue
                name = (id(step), "sent", number)
                operand = each.operand
                source = [self.stored_name(step.operands[operand])] if operand >= 0 else needs[id(step)]
                is_wide = self.is_breadth_first and is_widened(step)
                self.sizes[name] = _received(each.collective) * (1 + is_wide)
                events.append(Event(step, (*source, *sent[-1:]), (name,), each.collective))
                sent.append(name)
            parts = [(name, "parts") for name in step.results] if sums else [*step.results]
            if sent and step.record.name in _WINDOWED:
                # What comes from neighbours and the operand are put together in memory of their own.
                joined = (id(step), "joined")
                self.sizes[joined] = sum(self.sizes[name] for name in (*needs[id(step)][:1], *sent))
                events.append(Event(None, (*needs[id(step)], *sent), (joined,)))
                events.append(Event(step, (joined, *needs[id(step)][1:]), tuple(parts)))
            else:
                events.append(Event(step, (*needs[id(step)], *sent), tuple(parts)))
            if sums:
                # A sum of which a device keeps a part is computed whole, and the part taken where it is used.
                whole = [max(sums[0].held_bytes, self.sizes[step.results[0]])] if len(parts) == 1 else []
                whole = whole or [self.sizes[name] for name in step.results]
                self.sizes |= zip(parts, whole, strict=True)
                self.sizes |= zip(step.results, whole, strict=True)
                kind = (sums[0].kind, sums[0].element_type, sums[0].group, sums[0].group_size)
                events.append(Event(None, tuple(parts), step.results, kind=kind))
        return events

    def _combined(self, events: Sequence[Event]) -> list[Event]:
        """Sums of one kind, none of which needs another, become one, as XLA combines all-reduces."""
        depth: dict[Name, int] = defaultdict(int)
        groups: dict[Hashable, list[Event]] = defaultdict(list)
        others: list[Event] = []
        for event in events:
            level = max((depth[name] for name in event.reads), default=0)
            if event.kind is not None:
                groups[level, event.kind].append(event)
            else:
                others.append(event)
            depth.update(dict.fromkeys(event.makes, level + (event.kind is not None)))
        sums = (
            Event(None, tuple(n for e in group for n in e.reads), tuple(n for e in group for n in e.makes))
            for group in groups.values()
        )
        return [*others, *sums]

    def _needed_until(self, sent: Collective, moment: int, moments: Mapping[int, int]) -> int:
        """The event up to which the buffer of a collective is needed."""
        return max(moment, moments.get(self.again.get(sent.key, 0), 0))

    def _live(self) -> set[Name]:
        live = set[Name](self.results)
        for step in reversed(self.steps):
            if not step.results or not live.isdisjoint(step.results):
                live.update(self._reads(step))
        return live

    def _reads(self, step: Step) -> list[Name]:
        names = [*step.operands, *(name for inner in step.blocks for name in _captured(inner))]
        return [self.stored_name(name) for name in names]

    def _fused(self, steps: Iterable[Step]) -> set[Name]:
        """The values that are computed in their consumers."""
        users: dict[Name, list[Step]] = defaultdict(list)
        for step in steps:
            for name in dict.fromkeys(self._reads(step)):
                users[name].append(step)
        returned = set(self.results)
        found: set[Name] = set()
        roots: dict[int, frozenset[int]] = {}
        broadcast = {
            step.results[0]
            for step in steps
            if step.record.name == "stablehlo.broadcast_in_dim" and self.sizes.get(step.operands[0], 0) > 8
        }
        for step in reversed(list(steps)):
            roots[id(step)] = frozenset((id(step),))
            if len(step.results) != 1 or step.results[0] in returned or not self._is_producer(step):
                continue
            name, kind = step.results[0], step.record.name
            consumers = users[name]
            into = frozenset[int]().union(*(roots[id(each)] for each in consumers))
            once = len(into) == 1 or kind not in _EXPENSIVE
            is_plain = TABLE[kind].elementwise(step.record) and broadcast.isdisjoint(step.operands)
            if kind == "stablehlo.constant" or (
                once and all(self._is_fused_into(kind, each, is_plain=is_plain) for each in consumers)
            ):
                found.add(name)
                roots[id(step)] = into
        return found

    def _is_producer(self, step: Step) -> bool:
        return not step.blocks and not self.sent.get(id(step)) and _is_cheap(step)

    def _is_consumer(self, step: Step) -> bool:
        is_reduction = step.record.name == "stablehlo.reduce"
        return not step.blocks and (_is_cheap(step) or is_reduction) and not self._gathers(step)

    def _is_fused_into(self, kind: str, step: Step, *, is_plain: bool) -> bool:
        """Whether an op is fused into a step; an expensive one not where its elements are read repeatedly."""
        if step.record.name == "stablehlo.reduce" and not is_plain and kind not in _FREE:
            return False
        is_repeated = step.record.name == "stablehlo.broadcast_in_dim" and kind in _EXPENSIVE
        return self._is_consumer(step) and not is_repeated

    def _gathers(self, step: Step) -> bool:
        """Whether operands of the step are sent, so that they are stored."""
        sent = self.sent.get(id(step), ())
        return any(each.collective.kind != "all_reduce" for each in sent)

    def _in_place(self, step: Step) -> bool:
        row = TABLE[step.record.name]
        return row.storage is Storage.IN_PLACE or row.control is Control.LOOP or row.elementwise(step.record)

    def _needs(self, steps: Iterable[Step], fused: set[Name]) -> dict[int, list[Name]]:
        """The stored values that each step reads, through those fused into it."""
        through: dict[Name, list[Name]] = {}
        found: dict[int, list[Name]] = {}
        for step in steps:
            names = dict.fromkeys(
                stored for name in self._reads(step) for stored in through.get(name, (name,))
            )
            found[id(step)] = [*names]
            if step.results and step.results[0] in fused:
                through[step.results[0]] = [*names]
        return found

    def _inner(self, step: Step) -> int:
        """The temporaries of the regions of a step, one of which runs at a time."""
        return max((self._region(step, inner) for inner in step.blocks), default=0)

    def _region(self, step: Step, inner: Block) -> int:
        body = _Body(inner, self.sent, self.again, self.is_breadth_first, dict(self.sizes))
        sizes = [self.sizes[name] for name in step.results]
        is_loop = TABLE[step.record.name].control is Control.LOOP
        carried = [value.name for value in inner.arguments] if is_loop else []
        returns = sizes if len(inner.results) == len(sizes) else []
        return body.temporaries(returns, carried if returns else ())


@dataclass
class _Holder:
    """Memory for values, from a step to another; root: the result that is in it in the end, -1 for none."""

    size: int
    start: int
    end: int
    root: int = -1


@dataclass
class _Slot:
    """The memory of a result and the periods in which it is taken."""

    size: int
    busy: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def take(self, start: int, end: int) -> bool:
        """Takes it for a period, if it is free."""
        if any(start <= until and since <= end for since, until in self.busy):
            return False
        self.busy.append((start, end))
        return True


def _is_cheap(step: Step) -> bool:
    row = TABLE[step.record.name]
    is_constant = step.record.name == "stablehlo.constant"
    return is_constant or step.record.name in _MOVES or row.elementwise(step.record)


def _received(collective: Collective) -> int:
    """The bytes of the buffer that a collective writes."""
    gathers = collective.kind == "all_gather"
    return collective.held_bytes * (collective.group_size if gathers else 1)


def _captured(block: Block) -> Iterable[Name]:
    for step in block.steps:
        yield from step.operands
        for inner in step.blocks:
            yield from _captured(inner)
    yield from block.results


def _packed(buffers: Sequence[_Buffer], slots: Sequence[_Slot]) -> int:
    """The bytes of buffers that do not fit into the memory of results, the largest first."""
    by_size = sorted(slots, key=lambda slot: -slot.size)
    left: list[_Buffer] = []
    for each in sorted(buffers, key=lambda each: -each.size):
        fitting = (slot for slot in by_size if slot.size >= each.size)
        if each.size and not any(slot.take(each.start, each.end) for slot in fitting):
            left.append(each)
    return _best_fit(left) if len(left) <= _MOST_PLACED else _most_alive(left)


def _best_fit(buffers: Sequence[_Buffer]) -> int:
    """The end of the memory in which each buffer has a place, as XLA gives them places: the largest first.

    Each is where the least is left free beside those that are alive at the same time.
    """
    placed: list[tuple[int, _Buffer]] = []
    total = 0
    for each in sorted(buffers, key=lambda b: (-b.size, b.start - b.end, b.start)):
        busy = sorted((at, at + b.size) for at, b in placed if b.start <= each.end and each.start <= b.end)
        at, best, gap = 0, -1, 0
        for low, high in busy:
            if low - at >= each.size and (best < 0 or low - at < gap):
                best, gap = at, low - at
            at = max(at, high)
        at = at if best < 0 else best
        placed.append((at, each))
        total = max(total, at + each.size)
    return total


def _most_alive(buffers: Sequence[_Buffer]) -> int:
    """The bytes of the buffers that are alive at the same time, at most."""
    changes: dict[int, int] = defaultdict(int)
    for each in buffers:
        changes[each.start] += each.size
        changes[each.end + 1] -= each.size
    held = peak = 0
    for moment in sorted(changes):
        held += changes[moment]
        peak = max(peak, held)
    return peak
