"""A partitioned program as timed nodes: groups of fused ops, collectives, loops and branches.

Nodes are those that the memory estimate schedules (`xla/buffers/stored.py`), in program order, with the
nodes whose values they read. Not here: intervals (`interval.py`), the report (`report.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Literal, cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from shardy_py.base.records import dataclass
from shardy_py.hardware import Hardware
from shardy_py.hardware.cost import CostModel
from shardy_py.mlir.ir import written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.ops import TABLE, Control, OpRecord, Storage, row_of
from shardy_py.report.communication.as_compiled import IssuedUses
from shardy_py.report.communication.by_xla import PlannedUses, is_written
from shardy_py.report.communication.collect import CollectiveUse, collectives_by_op
from shardy_py.report.time.counted import PlannedFacts
from shardy_py.report.time.local_work import NOTHING, DeviceWork, made_shape, read_shares, total_work
from shardy_py.report.time.matrix_products import product_of
from shardy_py.report.time.roofline import product_rate, slowest
from shardy_py.report.time.windows import product_seconds
from shardy_py.xla.buffers.collect import donated_arguments
from shardy_py.xla.buffers.on_chips import chip_block
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.from_program import SpmdProgram, source_op
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.of_program import CompiledProgram

Bound = Literal["compute", "memory", "communication", "loop", "branches"]


@dataclass(frozen=True, slots=True, eq=False)
class TimedNode:
    """The unit that runs at one time: a group of fused ops, a collective, a loop, or branches.

    name: of the op, or the kind of collective. bound: what takes its time. seconds: of one run, without the
    blocks inside. work, bytes: of each device in one run. axes: of a
    collective. times: its runs in one run of the block. inside: blocks that it runs, each `trips` times.
    after: the positions of the nodes that it needs. place: the location, or its text.
    """

    name: str
    bound: Bound
    seconds: float
    work: DeviceWork = NOTHING
    bytes: float = 0.0
    axes: tuple[str, ...] = ()
    times: float = 1.0
    inside: tuple[TimedBlock, ...] = ()
    trips: int = 1
    after: tuple[int, ...] = ()
    place: str | Attribute = ""
    use: CollectiveUse | None = None
    members: tuple[str, ...] = ()

    @property
    def location(self) -> str:
        """The text of the location: made when it is read, as tables show few nodes."""
        return self.place if isinstance(self.place, str) else location_text(self.place)

    def __reduce__(self) -> tuple[object, ...]:
        """The node with the text of its location, not the program."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return TimedNode, (*({**values, "place": self.location}.values()),)


@dataclass(frozen=True, slots=True, eq=False)
class TimedBlock:
    """The nodes of a function or region, each after those it needs."""

    nodes: tuple[TimedNode, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _TimedRecord:
    """The facts of a record that decide its time.

    is_in_place: whether a result is its operand, changed. is_read_in_part: whether that is so of an operand.
    is_collective: whether it exchanges data itself. product_rate: flop/s of products of its element type.
    """

    record: OpRecord
    is_in_place: bool
    is_read_in_part: bool
    is_collective: bool
    product_rate: float


@dataclass(frozen=True)
class Priced:
    """The collectives of a program with their costs: those that are planned, and by op those it has written.

    It does not depend on shardings, so programs that differ in shardings only can share it.
    """

    uses: PlannedUses
    written: Mapping[int, list[CollectiveUse]]

    @staticmethod
    def of(program: SpmdProgram, model: CostModel) -> Priced:
        """Reads a program."""
        only_written = program.is_planned
        table = program.values if only_written else None
        written = collectives_by_op(
            program.module, model, program.meshes, only_written=only_written, table=table
        )
        return Priced(PlannedUses(program, model), written)


class OpTimer:
    """The nodes of a function, one for each group of fused ops and each collective.

    priced: its collectives. made: what the compiler of the device makes of them; None: they are as
    partitioned. Raises a `ShardyError` for dynamic shapes and meshes of too many devices to list them.
    """

    def __init__(
        self,
        program: SpmdProgram,
        function: FuncOp,
        hardware: Hardware,
        priced: Priced,
        made: CompiledProgram | None = None,
    ) -> None:
        self.program = program
        self.function = function
        self.hardware = hardware
        self.facts = facts = PlannedFacts.of(program, function)
        self.main, self.plan = facts.block, facts.plan
        self.equal, self.sent = facts.equal, facts.sent
        self.uses, self.written = priced.uses, priced.written
        self.by_collective = {id(each.collective): each for each in self.plan.sent}
        self.timed: set[int] = set()
        self.issued = None if made is None else made.issued(function)
        """By what is planned the collective that does its work, as compiled."""
        self.has_windows = made is not None and hardware.windows is not None
        given = zip(self.main.arguments, donated_arguments(function), strict=True)
        self.kept = frozenset(value.name for value, is_donated in given if not is_donated)
        """The arguments that the caller keeps."""
        self._records: dict[int, _TimedRecord] = {}
        """By the identity of a record, which its facts keep."""

    def block(self) -> TimedBlock:
        """Returns the nodes."""
        return self._nodes(chip_block(self.program, self.function, self.hardware.target), 1)

    def _nodes(self, block: StoredBlock, runs: int) -> TimedBlock:
        """The nodes of a block that runs `runs` times in all."""
        events, members = block.scheduled(saves_reads=True)
        makers: dict[Name, int] = {}
        found: list[TimedNode] = []
        last = {name: event.step for event in events for name in event.reads}
        last |= dict.fromkeys((*block.results, *(self.kept if block.is_entry else ())), None)
        for event in events:
            before = {makers[name] for name in event.reads if name in makers}
            after = tuple(sorted(before) if len(before) > 1 else before)
            nodes = self._event(block, event, members, runs, last, after)
            is_of_step = event.step is not None and event.sent is None
            looped = not is_of_step and bool(nodes) and _is_looped(event)
            for node in nodes:
                found.append(node if node.after is after else _after(node, after))
                after = (len(found) - 1,)
            if looped and event.sent is not None:
                # The product reads shards as they come: it needs what the permutes do.
                makers |= {name: max(before) for name in event.makes if before}
                continue
            if looped:
                # The permutes send while their product computes.
                found[-1] = replace(
                    found[-1], after=tuple(sorted({i for b in before for i in found[b].after}))
                )
                found.append(TimedNode("loop", "memory", 0.0, after=(*sorted(before), len(found) - 1)))
            makers |= dict.fromkeys(event.makes, len(found) - 1)
        if block.is_entry:
            for each in self.sent.get(id(None), ()):
                name = block.results[each.operand] if 0 <= each.operand < len(block.results) else None
                after = (makers[name],) if name in makers else ()
                found.append(_after(self._collective(each, runs), after))
        return TimedBlock(tuple(found))

    def _event(
        self,
        block: StoredBlock,
        event: Event,
        members: Mapping[int, list[PlannedOp]],
        runs: int,
        last: Mapping[Name, object],
        after: tuple[int, ...],
    ) -> Sequence[TimedNode]:
        """The nodes of an event, of which most are one.

        last: by name, the step that reads it last; None: it is kept. after: the nodes that one needs.
        """
        if event.sent is not None:
            return (self._collective(self.by_collective[id(event.sent)], runs, after),)
        if event.step is None:
            return [self._collective(self.by_collective[id(each)], runs, after) for each in event.sums]
        step, inside = cast("PlannedOp", event.step), members[id(event.step)]
        own = self._written_in(inside) if self.written else []
        facts = self._facts_of(step.record)
        if not (own or facts.is_collective or facts.is_in_place):  # nearly all
            return (self._step(block, event, inside, runs, after),)
        self.timed.update(map(id, own))  # an op that is fused into several groups exchanges data once
        found: list[TimedNode] = []
        if own and not block.sent_for(step):
            found += [collective_node(use, 1.0) for use in own]
        if not facts.is_collective:
            copied = 2.0 * _copied(block, step, last) if facts.is_in_place else 0.0
            if copied:
                seconds = copied / self.hardware.memory_bytes_per_second
                found.append(TimedNode("copy", "memory", seconds, bytes=copied))
            found.append(self._step(block, event, inside, runs, after))
        elif not own or block.sent_for(step):
            found.append(TimedNode(step.record.name, "memory", 0.0))
        return found

    def _step(
        self,
        block: StoredBlock,
        event: Event,
        members: Sequence[PlannedOp],
        runs: int,
        after: tuple[int, ...] = (),
    ) -> TimedNode:
        step: PlannedOp = event.step
        op = source_op(step)
        place = "" if op is None else op.location
        name = step.record.name if op is None else written_name(op)
        if step.blocks:
            is_loop = TABLE[step.record.name].control is Control.LOOP
            trips = step.times if is_loop else 1
            inside = tuple(self._nodes(block.inside(each), runs * trips) for each in step.blocks)
            bound: Bound = "loop" if is_loop else "branches"
            return TimedNode(name, bound, 0.0, inside=inside, trips=trips, place=place, after=after)
        works, work_of, sent_for = self.facts.works, self.facts.work, block.sent_for
        work = total_work([works.get(id(each)) or work_of(each, sent_for(each)) for each in members])
        # XLA merges equal ops, and absorbs copies for another order of dimensions in layouts.
        is_extra = op is None or id(members[-1]) in self.equal
        size = 0.0 if is_extra else self._bytes(block, event, members)
        rate = self._facts_of(step.record).product_rate
        seconds, bound = slowest(self.hardware, rate, work, size)
        if self.has_windows and work.product_flops and size:
            windows = sum(self._windows(each, sent_for(each), rate) for each in members)
            seconds, bound = (windows, "compute") if windows > seconds else (seconds, bound)
        names = tuple([each.record.name for each in members[:-1]])
        return TimedNode(name, bound, seconds, work, size, (), 1.0, (), 1, after, place, None, names)

    def _windows(self, step: PlannedOp, sent: Sequence[Sent], rate: float) -> float:
        """The seconds of a product on a TPU; 0 for other steps."""
        flops = self.facts.work(step, sent).product_flops
        one = product_of(step.record, made_shape(step, sent), flops) if flops else None
        return 0.0 if one is None else product_seconds(one, rate, self.hardware)

    def _bytes(self, block: StoredBlock, event: Event, members: Sequence[PlannedOp]) -> float:
        """The bytes that a group reads and writes: of what it reads in part, that part."""
        step = members[-1]
        sizes, sent = block.sizes, block.sent_for(step)
        known, facts_of = self._records, self._facts_of
        facts = [known.get(id(each.record)) or facts_of(each.record) for each in members]
        is_in_part = True in [each.is_read_in_part for each in facts]
        if not (is_in_part or sent or facts[-1].is_in_place):  # nearly all
            reads = event.reads if len(event.reads) < 2 else dict.fromkeys(event.reads)
            return sum([sizes.get(n, 0) * 1.0 for n in reads]) + sum([sizes.get(n, 0) for n in event.makes])
        parts = self._parts_read(block, members) if is_in_part else {}
        gathered = {
            block.stored_name(step.operands[each.operand])
            for each in sent
            if each.operand >= 0 and each.collective.kind not in ("all_reduce", "collective_permute")
        }
        if facts[-1].is_in_place:
            changed = len(step.results)
            updates = sum(sizes.get(name, 0) for name in step.operands[changed:])
            replaced = set(_replaced(block, step))
            others = [name for name in event.reads if name not in replaced]
            return updates + sum(sizes.get(n, 0) * parts.get(n, 1.0) for n in dict.fromkeys(others))
        reads = (name for name in dict.fromkeys(event.reads) if name not in gathered)
        return sum(sizes.get(n, 0) * parts.get(n, 1.0) for n in reads) + sum(
            sizes.get(n, 0) for n in event.makes
        )

    def _parts_read(self, block: StoredBlock, members: Sequence[PlannedOp]) -> dict[Name, float]:
        """The part of each stored value that a group reads, at most."""
        parts: dict[Name, float] = {}
        for each in members:
            for name, share in zip(each.operands, read_shares(each.record), strict=False):
                stored = block.stored_name(name)
                parts[stored] = min(1.0, parts.get(stored, 0.0) + share)
        return parts

    def _written_in(self, steps: Iterable[PlannedOp]) -> list[CollectiveUse]:
        return [use for each in steps for use in self._written(each) if id(use) not in self.timed]

    def _written(self, step: PlannedOp) -> Sequence[CollectiveUse]:
        """The collectives of the program itself that a step is, or that it needs."""
        return self.written.get(id(step.source), ())

    def _facts_of(self, record: OpRecord) -> _TimedRecord:
        known = self._records.get(id(record))
        if known is None:
            shares = read_shares(record)
            known = self._records[id(record)] = _TimedRecord(
                record,
                TABLE[record.name].storage is Storage.IN_PLACE,
                bool(shares) and min(shares) < 1.0,
                row_of(record).collective is not None,
                product_rate(self.hardware, record),
            )
        return known

    def _collective(self, sent: Sent, runs: int, after: tuple[int, ...] = ()) -> TimedNode:
        if self.issued is not None:
            return self._compiled(sent, runs, self.issued)
        if is_written(sent) and sent.step is not None and (own := self._written(sent.step)):
            return collective_node(own[0], sent.collective.times / max(runs, 1), after)
        use = self.uses.of(sent, self.function, self.program)
        node = collective_node(use, sent.collective.times / max(runs, 1), after)
        if not use.is_scattered:
            return node
        size = self.uses.model.reduce_scatter(use.axes, use.held_bytes).bytes
        return replace(node, name="reduce_scatter", bytes=size)

    def _compiled(self, sent: Sent, runs: int, issued: Mapping[int, Issued]) -> TimedNode:
        """The collective as compiled, at the place of the first one that it does the work of."""
        found = issued.get(id(sent.collective))
        if found is None or id(found) in self.timed:
            return TimedNode(sent.collective.kind, "memory", 0.0)
        self.timed.add(id(found))
        use = IssuedUses(self.program, self.uses.model, self.uses, self.written).of(found, self.function)
        return collective_node(use, found.times / max(runs, 1))


def _is_looped(event: Event) -> bool:
    """True for the permutes of a product that became a loop."""
    sent = (event.sent,) if event.sent is not None else () if event.step is not None else event.sums
    return any(each.instead is not None for each in sent)


def _replaced(block: StoredBlock, step: PlannedOp) -> list[Name]:
    """The values that a step writes over, if it may."""
    is_in_place = TABLE[step.record.name].storage is Storage.IN_PLACE
    return [block.stored_name(name) for name in step.operands[: len(step.results)]] if is_in_place else []


def _copied(block: StoredBlock, step: PlannedOp, last: Mapping[Name, object]) -> int:
    """The bytes of what a step must copy before it writes over it: something else reads it, or it is kept."""
    return sum(block.sizes.get(name, 0) for name in _replaced(block, step) if last.get(name) is not step)


def collective_node(use: CollectiveUse, times: float, after: tuple[int, ...] = ()) -> TimedNode:
    """Returns the node of a collective that runs so often. after: the nodes that it needs."""
    axes = tuple(dict.fromkeys(use.axis_names))
    return TimedNode(
        use.kind,
        "communication",
        use.cost.seconds,
        bytes=use.cost.bytes,
        axes=axes,
        times=times,
        after=after,
        place=use.cause.location,
        use=use,
    )


def _after(node: TimedNode, after: tuple[int, ...]) -> TimedNode:
    """The node with the nodes that it needs; `replace` would take most of the time to make it."""
    if not after:
        return node
    own = node.name, node.bound, node.seconds, node.work, node.bytes, node.axes, node.times, node.inside
    return TimedNode(*own, node.trips, after, node.place, node.use, node.members)
