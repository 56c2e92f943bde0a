"""The memory of a computation on a GPU: its kernels in order, and their buffers.

    GpuComputation(body, limits=limits).assignment(memory, carried).temporaries()

Not here: donation and sizes of arguments (`xla/buffers/estimate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import SortOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.aliases import Aliases
from shardy_py.xla.buffers.assignment import Assignment
from shardy_py.xla.buffers.carried import copied, with_copies, with_copies_at_end
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.gpu.joined import is_taken_apart, joined, summed, written_apart
from shardy_py.xla.buffers.gpu.latency import Timed, beside
from shardy_py.xla.buffers.local_sizes import measured
from shardy_py.xla.buffers.memory_order import in_least_memory
from shardy_py.xla.buffers.schedule import Event, ordered_by_reads
from shardy_py.xla.spmd.program import Name
from shardy_py.xla.targets.combining import CombinerLimits, combined
from shardy_py.xla.targets.gpu.computation import GpuKernels
from shardy_py.xla.targets.gpu.costs import H100, LAUNCH, TICKS, collective_time, product_time
from shardy_py.xla.targets.gpu.expanded import is_sorted_selection
from shardy_py.xla.targets.gpu.graph import (
    ARGUMENT,
    CONVOLUTION,
    DOT,
    ELEMENT,
    OUTER,
    GpuGraph,
    is_loop,
)
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernel_reads import direct_reads, read_otherwise
from shardy_py.xla.targets.model import DeviceBody, DeviceNode

_PLACE = 256
"""The bytes of which places of buffers are multiples."""
_NUMBER = 8
"""The most bytes of a single number."""
_IN_PLACE = ("all_reduce", SortOp.name)
"""Kinds of ops that are not fused, and write over their operands."""

_WRAPPED = frozenset(("all_to_all", "reduce_scatter"))
"""Kinds of collectives that no op of HLO starts: the async-start of each runs a computation of its own.

Source: openxla/xla, xla/hlo/transforms/collectives/async_collective_creator.cc.
"""


@dataclass
class GpuComputation:
    """A computation: what runs, and what it allocates.

    body: as the passes of the compiler leave it. around: the types of values of computations around it.
    limits: of what one op combines; None: nothing.
    """

    body: DeviceBody
    around: Mapping[int, TensorType | None] = field(default_factory=dict[int, "TensorType | None"])
    limits: CombinerLimits | None = None
    graph: GpuGraph = field(init=False)
    alias: Aliases = field(default_factory=Aliases, init=False)
    sizes: dict[Name, int] = field(default_factory=dict[Name, int], init=False)
    nodes: dict[Name, DeviceNode] = field(default_factory=dict[Name, DeviceNode], init=False)
    """By the first value of an event, the node whose bodies it runs."""
    times: dict[int, float] = field(default_factory=dict[int, float], init=False)
    _made: GpuKernels = field(init=False)

    def __post_init__(self) -> None:
        self._made = GpuKernels.of(self.body, self.around)
        self.graph = self._made.graph

    def events(self) -> list[Event]:
        """The kernels and other ops, in program order."""
        graph = self.graph
        needed, kernels = self._made.needed, self.kernels()
        self.times = {number: kernel.time / TICKS for number, kernel in kernels.items()}
        self.times |= {
            number: self._product_time(number)
            for number in range(len(graph.kinds))
            if graph.kinds[number] == DOT
        }
        together = {max(each): each for each in self._made.groups}
        found: list[Event] = []
        elements: dict[int, list[int]] = {}
        for number, kind in enumerate(graph.kinds):
            if kind == ELEMENT:
                elements.setdefault(graph.reads[number][-1], []).append(number)
        for number, kind in enumerate(graph.kinds):
            self.sizes[number] = graph.sizes[number]
            if not needed[number] or kind in (ARGUMENT, OUTER):
                continue
            if kind == ELEMENT:
                self._element(number)
                continue
            kernel = kernels.get(number)
            if len(together.get(number, ())) > 1:
                found.append(self._group(together[number], kernels))
            elif kernel is not None and number in together:
                reads, over = tuple(kernel.reads), tuple(direct_reads(graph, kernel))
                if graph.row(number).is_in_place and graph.reads[number]:
                    over = (graph.reads[number][0], *over)
                is_behind = graph.nodes[number] is None  # of what reads it: a bitcast is between them
                found.append(Event(graph.step(number), reads, (number,), over=over, is_part=is_behind))
            elif kernel is None and (not graph.row(number).is_fused or graph.types[number] is None):
                found.append(self._other(number, elements.get(number, [])))
        if len(together) < len(kernels):
            found = ordered_by_reads(found, last_first=True) or found
        found = written_apart([self._renamed(event) for event in found], self._overwritten(found), self.sizes)
        return self._joined(found)

    def _group(self, roots: Sequence[int], kernels: Mapping[int, Kernel]) -> Event:
        """The event of kernels that are one."""
        graph = self.graph
        reads = dict.fromkeys(value for root in roots for value in kernels[root].reads)
        apart = {*roots, *read_otherwise(graph, [kernels[root] for root in roots])}
        over = [
            tuple([value for value in direct_reads(graph, kernels[root]) if value not in apart])
            for root in roots
        ]
        self.times[roots[0]] = sum(kernels[root].time for root in roots) / TICKS
        kept = tuple(value for value in reads if value not in roots)
        return Event(graph.step(roots[0]), kept, tuple(roots), over_each=tuple(over))

    def kernels(self) -> Mapping[int, Kernel]:
        """The kernels of fused ops, by their last op."""
        return self._made.kernels

    def _overwritten(self, events: Sequence[Event]) -> dict[Name, Name]:
        """By what an event makes, the value that it has to write over."""
        found: dict[Name, Name] = {}
        for event in events:
            (number, *_) = (*event.makes, None)
            if isinstance(number, int) and self.graph.row(number).is_in_place and self.graph.reads[number]:
                found[number] = self.stored(self.graph.reads[number][0])
            elif event.is_update and len(event.makes) > 1 and (node := self._node(event)) is not None:
                found |= self._changed_by_loop(event, node)
        return found

    def _changed_by_loop(self, event: Event, node: DeviceNode) -> Iterator[tuple[Name, Name]]:
        """Yields what a loop makes, and the value of a kernel that it starts with, where it changes that."""
        body, kernels = node.bodies[-1], self.kernels()
        for made, start, argument, result in zip(
            event.makes, event.over, body.arguments, body.results, strict=False
        ):
            if argument != result and (value := self.stored(start)) in kernels:
                yield made, value

    def _joined(self, events: Sequence[Event]) -> list[Event]:
        """The events with collectives that run as one op."""
        ops: dict[int, int] = {}
        found = (
            () if self.limits is None else combined(self.body, self._made.read_ops(self.body), self.limits)
        )
        for number, issued in enumerate(found):
            if len(issued.parts) > 1:
                ops |= {id(each): number for part in issued.parts for each in part.members}
        groups: dict[int, list[Event]] = {}
        for event in events:
            (number, *_) = (*event.makes, None)
            transfer = self.graph.transfer(number) if isinstance(number, int) else None
            members = () if transfer is None else transfer.members
            op = next((ops[id(each)] for each in members if id(each) in ops), None)
            if op is not None:
                groups.setdefault(op, []).append(event)
        return joined(events, [group for group in groups.values() if len(group) > 1], self.sizes)

    def _product_time(self, number: int) -> float:
        """The time of a product, by the elements that it reads and makes."""
        graph = self.graph
        type_, reads = graph.types[number], graph.reads[number]
        if type_ is None or len(reads) < 2:
            return LAUNCH
        left, right = (graph.elements(each) for each in reads[:2])
        depth = (left * right / max(graph.elements(number), 1)) ** 0.5
        return product_time(2 * graph.elements(number) * depth, type_.element)

    def _element(self, number: int) -> None:
        reads = self.graph.reads[number]
        if len(reads) > 1:  # of a barrier: its operand
            self.alias[number] = reads[0]

    def _other(self, number: int, elements: Sequence[int]) -> Event:
        """The event of an op that is not fused."""
        graph = self.graph
        node, reads = graph.nodes[number], graph.reads[number]
        makes: tuple[Name, ...] = tuple(elements) or (number,)
        step = None if node is None else node.step
        over: tuple[Name, ...] = graph.over.get(number, ())
        if node is not None and node.bodies:
            makes = self._results_of(number, node, elements) if elements else makes
            self.nodes[makes[0]] = node
            # Each result is written over what the loop starts with in its place, and nothing else.
            over = reads[: len(makes)] if is_loop(node) else ()
        elif step is not None and STORED.of(step.record.name).holds_back and elements:
            self.sizes[number] = 0
            return Event(step, reads, (number,))
        elif graph.kinds[number] in _IN_PLACE:
            over = reads
        if graph.kinds[number] == SortOp.name and step is not None:
            makes = (*makes, *self._sorted_beside(number, step.record, elements))
        if graph.workspaces.get(number):
            workspace: Name = ("workspace", number)
            self.sizes[workspace] = graph.workspaces[number]
            makes = (*makes, workspace)
        record = None if step is None or graph.transfer(number) is not None else step.record
        if record is not None and reads and is_sorted_selection(record, graph.types[reads[0]]):
            # What is sorted may be in the memory of the operand, what is selected is not.
            over = (*(("selected", each) for each in makes), reads[0])
            whole: tuple[Name, ...] = ("sorted", number), ("places", number)
            self.sizes |= zip(whole, (graph.sizes[reads[0]], 4 * graph.elements(reads[0])), strict=True)
            makes = (*makes, *whole)
        is_update = node is not None and is_loop(node)
        transfer = graph.transfer(number)
        is_received = transfer is not None and transfer.kind != "all_reduce"
        is_part = is_received or graph.kinds[number] == CONVOLUTION  # with an operand, with a workspace
        return Event(step, reads, makes, over=over, is_update=is_update, is_part=is_part)

    def _results_of(self, number: int, node: DeviceNode, elements: Sequence[int]) -> tuple[Name, ...]:
        """The values that an op makes which runs bodies: all results, in their order, used or not."""
        graph, last = self.graph, node.bodies[-1]
        used: dict[int, Name] = {graph.index[each]: each for each in elements}
        for index, result in enumerate(last.results):
            if index not in used:
                used[index] = "result", number, index
                type_ = last.nodes[result].type if result in last.nodes else None
                self.sizes[used[index]] = 0 if type_ is None else measured(type_, "linear")
        return tuple([used[index] for index in sorted(used)])

    def _sorted_beside(self, number: int, record: OpRecord, elements: Sequence[int]) -> Iterator[Name]:
        """The values that a sort makes and nothing needs: sorted operands, and places, for equal elements.

        Places are sorted with the values, so that equal ones keep their order, if no operand has them.
        """
        graph, given = self.graph, self.graph.reads[number]
        is_numbered = number in graph.numbered
        used = {graph.index[each] for each in elements} or {0}
        sizes = [graph.sizes[each] for each in given]
        if is_numbered or record.attributes.get("is_stable"):
            sizes.append(4 * graph.elements(given[0]))
        for index, size in enumerate(sizes):
            if index not in used:
                name: Name = ("sorted", number, index)
                self.sizes[name] = size
                yield name

    def _renamed(self, event: Event) -> Event:
        if not self.alias:
            return event
        reads: list[Name] = []
        for name in event.reads:
            reads.append(self.stored(name))
            if name in self.alias and isinstance(name, int):
                reads.append(self.graph.reads[name][1])
        each = tuple([tuple(map(self.stored, over)) for over in event.over_each])
        return event._replace(reads=tuple(reads), over=tuple(map(self.stored, event.over)), over_each=each)

    def stored(self, name: Name) -> Name:
        """The value whose memory a value is in."""
        return self.alias.root(name)

    def assignment(self, memory: Sequence[int], carried: Sequence[Name | None] = ()) -> Assignment:
        """The values in memory, beyond arguments and results.

        memory: the bytes of the memory for each result. carried: for each the argument that is in it at
        first; None for none.
        """
        events = self.events()
        results = [self.stored(number) for number in self.graph.results]
        taken = {n: made for n, made in zip(carried, results, strict=False) if n is not None and n != made}
        first, last = copied(events, taken)
        if last:
            events, results = with_copies_at_end(events, self.sizes, last, results, carried)
        if first:
            events = with_copies(events, self.sizes, first)
        ordered = self._ordered(events, results)
        return Assignment(
            *(ordered, self.sizes, results, memory, carried, self.alias, self._inner),
            is_wrapped=self._is_wrapped,
            place=_PLACE,
        )

    def _ordered(self, events: Sequence[Event], kept: Sequence[Name]) -> list[Event]:
        ordered = in_least_memory(events, self.sizes, kept, self._makes_number)
        timed = [self._timed(event) for event in ordered]
        if not any(each.latency for each in timed):
            return ordered
        return [
            self._ended(ordered[number]) if is_end else ordered[number] for number, is_end in beside(timed)
        ]

    def _makes_number(self, event: Event) -> bool:
        return 0 < sum([self.sizes.get(name, 0) for name in event.makes]) <= _NUMBER

    def _is_wrapped(self, event: Event) -> bool:
        (number, *_) = (*event.makes, None)
        transfer = self.graph.transfer(number) if isinstance(number, int) else None
        return transfer is not None and transfer.kind in _WRAPPED

    def _timed(self, event: Event) -> Timed:
        """The event with the times that XLA expects."""
        size = sum(self.sizes[each] for each in event.makes)
        number = summed(event.makes)
        if number is None and not event.sums:
            number = event.makes[0] if event.makes and not is_taken_apart(event) else None
        transfer = self.graph.transfer(number) if isinstance(number, int) else None
        if transfer is not None:
            latency = collective_time(transfer.kind, size, transfer.collective.group_size)
            return Timed(event.reads, event.makes, LAUNCH, latency)
        cost = self.times.get(number) if isinstance(number, int) else None
        node = self._node(event)
        sends = node is not None and any(inner.sends for inner in node.bodies)
        return Timed(event.reads, event.makes, H100.moved(2 * size) if cost is None else cost, sends=sends)

    def _ended(self, event: Event) -> Event:
        """The end of a collective: up to it, what it sends is needed, unless it is written over."""
        reads = event.makes if event.over else (*event.reads, *event.makes)
        return Event(None, reads, ())

    def _inner(self, event: Event) -> list[Assignment]:
        node = self._node(event)
        if node is None:
            return []
        types = {**self.around, **{number: each.type for number, each in self.body.nodes.items()}}
        return [_region(inner, node, types, self.limits) for inner in node.bodies]

    def _node(self, event: Event) -> DeviceNode | None:
        """The node whose bodies an event runs; None if it runs none."""
        # Steps do not tell: that of an all-reduce which was moved behind a loop is the loop.
        return self.nodes.get(event.makes[0]) if event.makes else None


def _region(
    body: DeviceBody,
    node: DeviceNode,
    types: Mapping[int, TensorType | None],
    limits: CombinerLimits | None,
) -> Assignment:
    inner = GpuComputation(body, types, limits)
    graph = inner.graph
    is_condition = is_loop(node) and body is not node.bodies[-1]
    sizes = [] if is_condition else [graph.sizes[number] for number in graph.results]
    return inner.assignment(sizes, graph.arguments if is_loop(node) and not is_condition else ())
