"""A program as XLA:GPU compiles it, as timed nodes: kernels, products, collectives, loops and branches.

Kernels are those of the memory estimate (`xla/targets/gpu/`). Those that read the same value, make as many
elements and do not need each other are one with several results. Source: openxla/xla,
xla/backends/gpu/transforms/multi_output_fusion.cc. Not here: the time of one (`kernel_costs.py`), programs
as partitioned (`graph.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from xdsl.dialects.func import FuncOp

from shardy_py.base.records import dataclass
from shardy_py.hardware import Hardware
from shardy_py.hardware.cost import CostModel
from shardy_py.mlir.ir import written_name
from shardy_py.mlir.location_names import location_text
from shardy_py.ops import TensorType
from shardy_py.report.communication.as_compiled import IssuedUses
from shardy_py.report.time.graph import OpTimer, Priced, TimedBlock, TimedNode, collective_node
from shardy_py.report.time.kernel_costs import KernelCosts, Started, product_flops, whole_flops
from shardy_py.report.time.local_work import DeviceWork
from shardy_py.xla.buffers.collect import donated_arguments
from shardy_py.xla.buffers.gpu.memory import GpuComputation
from shardy_py.xla.spmd.from_program import SpmdProgram, source_op
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.gpu.graph import (
    ARGUMENT,
    CONSTANT,
    DOT,
    ELEMENT,
    OUTER,
    GpuGraph,
    is_loop,
    live,
)
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernel_reads import direct_reads
from shardy_py.xla.targets.model import DeviceBody
from shardy_py.xla.targets.of_program import CompiledProgram

_Form = tuple[int, int]
"""The elements of a result, and of what is reduced to it."""
_FREE = (ARGUMENT, OUTER, ELEMENT, CONSTANT)


@dataclass
class _Unit:
    """Kernels that run as one.

    numbers: of what they make. reads: the bytes that they read of each value. direct: values that are only
    read at the element that is made. started: the load of the multiprocessors.
    """

    numbers: list[int]
    reads: dict[int, float] = field(default_factory=dict[int, float])
    written: float = 0.0
    work: DeviceWork = field(default_factory=DeviceWork)
    started: Started = field(default_factory=Started)
    members: set[int] = field(default_factory=set[int])
    direct: frozenset[int] = frozenset()


def has_kernels(hardware: Hardware, made: CompiledProgram | None) -> bool:
    """Returns whether the time of a program is that of the kernels that a compiler makes."""
    return made is not None and hardware.compiler == "gpu"


def program_block(
    program: SpmdProgram,
    function: FuncOp,
    hardware: Hardware,
    model: CostModel,
    priced: Priced | None = None,
    made: CompiledProgram | None = None,
) -> TimedBlock:
    """Returns the nodes of a function: of a GPU's compiler its kernels, else its ops.

    priced: its collectives, if known. made: what the compiler of the device makes of the program.

    Raises:
        ShardyError: a tensor has a dynamic shape, or a mesh has too many devices to list them.
    """
    if made is None or not has_kernels(hardware, made):
        return OpTimer(program, function, hardware, priced or Priced.of(program, model), made).block()
    planned, written = (None, None) if priced is None else (priced.uses, priced.written)
    return kernel_block(made, function, hardware, IssuedUses(program, model, planned, written))


def kernel_block(made: CompiledProgram, function: FuncOp, hardware: Hardware, uses: IssuedUses) -> TimedBlock:
    """Returns the nodes of a function as XLA:GPU compiles it. uses: its collectives with their costs.

    Raises:
        ShardyError: a mesh has too many devices to list them, or a tensor has a dynamic shape.
    """
    body = made.plan(function).body
    donated = frozenset(
        number
        for number, is_given in zip(body.arguments, donated_arguments(function), strict=False)
        if is_given
    )
    return _Program(function, KernelCosts(hardware), uses, made.issued(function)).block(body, {}, 1, donated)


@dataclass
class _Program:
    function: FuncOp
    costs: KernelCosts
    uses: IssuedUses
    issued: Mapping[int, Issued]
    timed: set[int] = field(default_factory=set[int])

    def block(
        self,
        body: DeviceBody,
        around: Mapping[int, TensorType | None],
        runs: int,
        donated: frozenset[int] | None = None,
    ) -> TimedBlock:
        """The nodes of a computation that runs `runs` times in all.

        donated: the arguments that it may write over; None: all.
        """
        computation = GpuComputation(body, around)
        graph = computation.graph
        kept: set[int] = set()
        if donated is not None:
            pairs = zip(graph.arguments, body.arguments, strict=True)
            kept = {number for number, node in pairs if node not in donated}
        found: list[TimedNode] = []
        makers: dict[int, int] = {}
        units = self._units(graph, computation.kernels(), kept)
        for number, unit in units:
            reads = graph.reads[number] if unit is None else unit.reads
            after = tuple(sorted({makers[each] for each in reads if each in makers}))
            nodes = self._unit(graph, unit) if unit else self._other(computation, number, runs)
            for each in nodes:
                found.append(replace(each, after=after))
                after = (len(found) - 1,)
            if found:
                makers |= dict.fromkeys([number] if unit is None else unit.numbers, len(found) - 1)
        return TimedBlock(tuple(found))

    def _units(
        self, graph: GpuGraph, kernels: Mapping[int, Kernel], kept: set[int]
    ) -> Iterator[tuple[int, _Unit | None]]:
        """The kernels, and numbers of other ops, in the order in which they run."""
        needed = live(graph, graph.results)
        users = graph.users()
        units = {number: self._kernel(graph, each, kept, users) for number, each in kernels.items()}
        first = _together(graph, units)
        for number, kind in enumerate(graph.kinds):
            if not needed[number] or (kind in _FREE and kind != ELEMENT):
                continue
            if number in units:
                if number in first:
                    yield number, first[number]
            elif kind == ELEMENT or not graph.row(number).is_fused or graph.types[number] is None:
                yield number, None

    def _kernel(
        self, graph: GpuGraph, kernel: Kernel, kept: set[int], users: Sequence[Sequence[int]]
    ) -> _Unit:
        """A kernel: what it reads, as often as memory has to be read, and writes."""
        root = kernel.root
        sizes = graph.sizes
        reads = {value: min(1.0, use) * sizes[value] for value, use in kernel.uses.items()}
        written = float(sizes[root])
        if graph.row(root).is_in_place and len(graph.reads[root]) > 1:
            changed, *others = graph.reads[root]
            reads.pop(changed, None)
            written = self.costs.updated(graph, root)
            later = any(user > root for user in users[changed]) or changed in graph.results
            if changed in kept or graph.kinds[changed] == OUTER or later:
                written += 2.0 * sizes[root]  # it is copied first
            reads |= {changed: 0.0} if others else {}
        work, started = self.costs.loaded(graph, kernel)
        members = set(kernel.members) - {root}
        return _Unit([root], reads, written, work, started, members, frozenset(direct_reads(graph, kernel)))

    def _unit(self, graph: GpuGraph, unit: _Unit) -> Iterator[TimedNode]:
        size = sum(unit.reads.values()) + unit.written
        seconds, bound = self.costs.kernel(unit.work, size, unit.started)
        name, location = _named(graph, unit.numbers[0])
        members = tuple(graph.kinds[each] for each in sorted({*unit.members, *unit.numbers[1:]}))
        yield TimedNode(name, bound, seconds, unit.work, size, place=location, members=members)

    def _other(self, computation: GpuComputation, number: int, runs: int) -> Iterator[TimedNode]:
        """An op that is no kernel of fused ops."""
        graph, body = computation.graph, computation.body
        transfer, node = graph.transfer(number), graph.nodes[number]
        if graph.kinds[number] == ELEMENT:
            yield TimedNode(ELEMENT, "memory", 0.0)
            return
        if transfer is not None:
            yield self._collective([id(each.collective) for each in transfer.members], transfer.kind, runs)
            return
        name, location = _named(graph, number)
        if node is not None and node.bodies:
            types = {**computation.around, **{each: own.type for each, own in body.nodes.items()}}
            trips = node.trips if is_loop(node) else 1
            inside = tuple(self.block(inner, types, runs * trips) for inner in node.bodies)
            bound = "loop" if is_loop(node) else "branches"
            yield TimedNode(name, bound, 0.0, inside=inside, trips=trips, place=location)
            return
        size = float(sum(graph.sizes[each] for each in dict.fromkeys(graph.reads[number])))
        size += graph.sizes[number]
        if graph.kinds[number] == DOT:
            flops = product_flops(body, computation.around, node) or whole_flops(graph, number)
            seconds, bound = self.costs.product(graph, number, flops, size)
            yield TimedNode(name, bound, seconds, DeviceWork(flops), size, place=location)
            return
        work = self.costs.work(graph, number)
        seconds, bound = self.costs.other(graph, number, work, size)
        yield TimedNode(name, bound, seconds, work, size, place=location)

    def _collective(self, members: Iterable[int], kind: str, runs: int) -> TimedNode:
        """The collective as compiled, at the place of the first one that it does the work of."""
        found = next((self.issued[each] for each in members if each in self.issued), None)
        if found is None or id(found) in self.timed:
            return TimedNode(kind, "memory", 0.0)
        self.timed.add(id(found))
        return collective_node(self.uses.of(found, self.function), found.times / max(runs, 1))


def _named(graph: GpuGraph, number: int) -> tuple[str, str]:
    """The name and the place of what an op is for."""
    step = graph.step(number)
    op = None if step is None else source_op(step)
    kind = graph.kinds[number]
    if op is None or step is None:
        return kind, ""
    return (written_name(op) if step.record.name == kind else kind), location_text(op.location)


@dataclass(slots=True)
class _Siblings:
    """Kernels that are one. bits: of their numbers. needs: of the kernels that they need."""

    numbers: list[int]
    bits: int
    needs: int

    def joined(self, other: _Siblings) -> _Siblings:
        """The kernels of both."""
        numbers = sorted((*self.numbers, *other.numbers))
        return _Siblings(numbers, self.bits | other.bits, self.needs | other.needs)


def _together(graph: GpuGraph, units: Mapping[int, _Unit]) -> dict[int, _Unit]:
    """By the last number of what it makes, the kernels; siblings are one."""
    bits = {number: 1 << place for place, number in enumerate(units)}
    needs: dict[int, int] = {}
    for number in range(len(graph.kinds)):
        unit = units.get(number)
        found = 0
        for each in graph.reads[number] if unit is None else unit.reads:
            found |= needs.get(each, 0) | bits.get(each, 0)
        needs[number] = found
    readers: dict[int, list[int]] = {}
    for number, unit in units.items():
        if not graph.row(number).is_in_place:
            for value in unit.reads:
                readers.setdefault(value, []).append(number)
    group = {number: _Siblings([number], bits[number], needs[number]) for number in units}
    forms = {number: _form(graph, number) for number in units}
    for value in sorted(readers, reverse=True):
        if graph.sizes[value] and len(readers[value]) > 1:
            _join(readers[value], forms, group)
    for number in [*units]:
        _join_makers(graph, units, number, forms, group, needs)
    found = dict[int, _Unit]()
    for members in {id(each): each for each in group.values()}.values():
        found[max(members.numbers)] = _joined([units[each] for each in members.numbers])
    return found


def _join(readers: Sequence[int], forms: Mapping[int, _Form], group: dict[int, _Siblings]) -> None:
    """Joins the groups of kernels that read a value, where they may be one."""
    for place, one in enumerate(readers):
        alike = [each for each in readers[place + 1 :] if forms[each] == forms[one]]
        for other in alike:
            left, right = group[one], group[other]
            if left is right or left.needs & right.bits or right.needs & left.bits:
                continue
            # What is between, and needs the one and is needed by the other, is between them still.
            both = left.joined(right)
            group.update(dict.fromkeys(both.numbers, both))


def _join_makers(
    graph: GpuGraph,
    units: Mapping[int, _Unit],
    number: int,
    forms: Mapping[int, _Form],
    group: dict[int, _Siblings],
    needs: Mapping[int, int],
) -> None:
    """Joins a kernel with those that make what it reads at its element, which then is not read again."""
    for value in sorted(units[number].direct):
        if value not in group or graph.row(number).is_in_place or graph.row(value).is_in_place:
            continue
        before, own = group[value], group[number]
        if before is own or any(forms[each] != forms[number] for each in before.numbers):
            continue
        others = {each for member in own.numbers for each in units[member].reads}
        others -= {*before.numbers, *own.numbers}
        if any(needs.get(each, 0) & before.bits for each in others):
            continue
        both = before.joined(own)
        group.update(dict.fromkeys(both.numbers, both))


def _form(graph: GpuGraph, number: int) -> _Form:
    """Equal for kernels that may be one."""
    kind = graph.kinds[number]
    given = graph.elements(graph.reads[number][0]) if kind.endswith(".reduce") and graph.reads[number] else 0
    return graph.elements(number), given


def _joined(units: Sequence[_Unit]) -> _Unit:
    """Kernels as one, which reads each value once."""
    first = units[0]
    for each in units[1:]:
        reads = {value: max(size, first.reads.get(value, 0.0)) for value, size in each.reads.items()}
        reads = {value: size for value, size in reads.items() if value not in first.numbers}
        first = _Unit(
            [*first.numbers, *each.numbers],
            first.reads | reads,
            first.written + each.written,
            first.work + each.work,
            first.started + each.started,
            first.members | each.members,
        )
    return first
