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
from shardy_py.sharding import Mesh
from shardy_py.spmd.model import Collective
from shardy_py.spmd.tiling import Tiling
from shardy_py.spmd.walk import Block, Name, Step, plan_program

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
    function: FuncOp, meshes: Mapping[str, Mesh], donated: Sequence[bool] = ()
) -> MemoryEstimate:
    """Returns the estimate for a function without calls whose shardings are propagated.

    donated: for each argument, whether a result may take its memory. meshes: by name.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    block = block_of(function, meshes)
    sent: dict[int, list[Collective]] = defaultdict(list)
    plan = plan_program(block)
    for each in plan.sent:
        sent[id(each.step)].append(each.collective)
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
    held = _Body(block, sent, again).temporaries(results)
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

    sent: the collectives of each step, by its identity. again: the last step that reads what was sent, by the
    key of the collective. alias: the value whose memory a value shares.
    """

    block: Block
    sent: Mapping[int, Sequence[Collective]]
    again: Mapping[Hashable, int]
    sizes: dict[Name, int] = field(default_factory=dict[Name, int])
    alias: dict[Name, Name] = field(default_factory=dict[Name, Name])
    steps: list[Step] = field(default_factory=list[Step])
    results: list[Name] = field(default_factory=list[Name])

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
                self.steps.append(step)

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
        last: dict[Name, int] = {}
        for moment, step in enumerate(steps):
            if not step.results or step.results[0] not in fused:
                last |= dict.fromkeys(needs[id(step)], moment)
        end = len(steps)
        moments = {id(step): moment for moment, step in enumerate(steps)}
        slots: list[_Slot] = [_Slot(size) for size in results]
        for slot, name in zip(slots, carried, strict=False):
            slot.busy.append((-1, last.get(name, -1)))
        combined = self._combined(steps, moments)
        buffers: list[_Buffer] = []
        roots: dict[Name, int] = {}
        for position, name in enumerate(self.results):
            roots.setdefault(name, position)
        holders: dict[Name, _Holder] = {}
        for moment, step in enumerate(steps):
            if step.results and step.results[0] in fused:
                continue
            buffers += [
                _Buffer(_received(each), moment, self._needed_until(each, moment, moments, combined))
                for each in self.sent.get(id(step), ())
            ]
            inner = self._inner(step)
            if inner:
                buffers.append(_Buffer(inner, moment, moment))
            dying = [name for name in needs[id(step)] if last[name] == moment and name in holders]
            for result in step.results:
                if result in self.alias:
                    continue
                finish = end if result in roots else last.get(result, moment)
                size = self.sizes[result]
                reused = next((name for name in dying if holders[name].size == size), None)
                if reused is not None and self._in_place(step):
                    dying.remove(reused)
                    holder = holders.pop(reused)
                    holder.end = finish
                else:
                    holder = _Holder(size, moment, finish)
                holders[result] = holder
                holder.root = roots.get(result, holder.root)
        distinct = {id(holder): holder for holder in holders.values()}
        for holder in distinct.values():
            slot = slots[holder.root] if 0 <= holder.root < len(slots) else None
            if slot is None or not slot.take(holder.start, holder.end):
                buffers.append(_Buffer(holder.size, holder.start, holder.end))
        return _packed(buffers, slots)

    def _needed_until(
        self, sent: Collective, moment: int, moments: Mapping[int, int], combined: Mapping[int, int]
    ) -> int:
        """The step up to which the buffer of a collective is needed."""
        if sent.kind == "all_reduce":
            return combined.get(moment, moment)
        return max(moment, moments.get(self.again.get(sent.key, 0), 0))

    def _combined(self, steps: Sequence[Step], moments: Mapping[int, int]) -> dict[int, int]:
        """For steps with an all-reduce, the last step of those that XLA combines it with.

        All-reduces of as many devices, none of which needs another, become one, which starts when all of its
        operands are known.
        """
        depth: dict[Name, int] = defaultdict(int)
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for step in steps:
            level = max((depth[name] for name in self._reads(step)), default=0)
            reduces = [each for each in self.sent.get(id(step), ()) if each.kind == "all_reduce"]
            for each in reduces[:1]:
                groups[level, each.group_size].append(moments[id(step)])
            depth.update(dict.fromkeys(step.results, level + bool(reduces)))
        return {moment: group[-1] for group in groups.values() for moment in group}

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
        for step in steps:
            if len(step.results) != 1 or step.results[0] in returned or not self._is_producer(step):
                continue
            name, kind = step.results[0], step.record.name
            consumers = users[name]
            once = len(consumers) == 1 or kind not in _EXPENSIVE
            if kind == "stablehlo.constant" or (
                once and all(self._is_fused_into(kind, each) for each in consumers)
            ):
                found.add(name)
        return found

    def _is_producer(self, step: Step) -> bool:
        return not step.blocks and not self.sent.get(id(step)) and _is_cheap(step)

    def _is_consumer(self, step: Step) -> bool:
        is_reduction = step.record.name == "stablehlo.reduce"
        return not step.blocks and (_is_cheap(step) or is_reduction) and not self._gathers(step)

    def _is_fused_into(self, kind: str, step: Step) -> bool:
        """Whether an op is fused into a step; an expensive one not where its elements are read repeatedly."""
        is_repeated = step.record.name == "stablehlo.broadcast_in_dim" and kind in _EXPENSIVE
        return self._is_consumer(step) and not is_repeated

    def _gathers(self, step: Step) -> bool:
        """Whether operands of the step are sent, so that they are stored."""
        sent = self.sent.get(id(step), ())
        return any(each.kind != "all_reduce" for each in sent)

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
        body = _Body(inner, self.sent, self.again, dict(self.sizes))
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
    changes: dict[int, int] = defaultdict(int)
    by_size = sorted(slots, key=lambda slot: -slot.size)
    for each in sorted(buffers, key=lambda each: -each.size):
        fitting = (slot for slot in by_size if slot.size >= each.size)
        if each.size and not any(slot.take(each.start, each.end) for slot in fitting):
            changes[each.start] += each.size
            changes[each.end + 1] -= each.size
    held = peak = 0
    for moment in sorted(changes):
        held += changes[moment]
        peak = max(peak, held)
    return peak
