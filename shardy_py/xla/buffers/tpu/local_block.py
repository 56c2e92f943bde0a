"""The program of one device as a block, where collectives and parts that a device keeps are steps, too.

    local = local_block(on_chip.plan(function).body)
    StoredBlock(local.block, local.sent, ...)

Each step has the types that a device holds, and no tilings. Values are known by the numbers of their nodes.
Not here: the program of a device (`xla/targets/`), which values are stored (`xla/buffers/stored.py`).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from itertools import chain, repeat

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import AddOp, ConcatenateOp, DynamicSliceOp, ReshapeOp
from shardy_py.ops import TABLE, Control, OpRecord, TensorType
from shardy_py.ops.reads import integer
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.tpu.attention import read_by_kernels
from shardy_py.xla.buffers.tpu.expanded import Expanded
from shardy_py.xla.buffers.tpu.first_steps import FirstSteps
from shardy_py.xla.buffers.tpu.images import Images
from shardy_py.xla.buffers.tpu.looked_up import with_slices
from shardy_py.xla.buffers.tpu.node_facts import (
    devices_of,
    elements_by_position,
    equal_along,
    grown_dimension,
    is_computed_whole,
)
from shardy_py.xla.buffers.tpu.offsets import Offsets
from shardy_py.xla.buffers.tpu.records import (
    NOTHING,
    OFFSET,
    PLACED,
    Records,
    Types,
    elements_of,
    named,
    of_rank,
    step_of,
)
from shardy_py.xla.buffers.tpu.rewrites import rewritten
from shardy_py.xla.buffers.tpu.rotated import RotatedPart, rotations
from shardy_py.xla.buffers.tpu.sends import AroundSent, Sends
from shardy_py.xla.buffers.tpu.sunk import own_starts, with_own_constants
from shardy_py.xla.buffers.tpu.turned_slices import with_turned_slices
from shardy_py.xla.buffers.tpu.updated_orders import with_orders_of_parts
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, TiledValue
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, RoundedValues
from shardy_py.xla.targets.parts import local_type
from shardy_py.xla.targets.rounding import rounded_nodes


@dataclass(frozen=True)
class LocalBlock:
    """The block of a device. sent: the collective that a step is, by its identity. rounded: its values."""

    block: Block
    sent: Mapping[int, list[Sent]]
    rounded: RoundedValues


def local_block(body: DeviceBody, *, sparse_cores: bool = False) -> LocalBlock:
    """Returns the entry computation as the passes of a compiler leave it. sparse_cores: see `Expanded`."""
    narrow, captured = rounded_nodes(body)
    records = Records()
    sends = Sends(records, narrow)
    expanded = Expanded(records, sparse_cores=sparse_cores)
    images, first = Images(records, frozenset(narrow)), FirstSteps(expanded, body)
    builder = _Builder(records, sends, images, expanded, first, devices_of(body))
    block = builder.block(body)
    exact = builder.exact
    by_step = {id(builder.loops[number]): frozenset(names - exact) for number, names in captured.items()}
    rounded = frozenset(narrow - exact) | builder.rounded
    return LocalBlock(block, sends.sent, RoundedValues(rounded, by_step))


@dataclass
class _Builder:
    """Builds the block of a body and of those inside. loops: the steps of nodes with bodies."""

    records: Records
    sends: Sends
    images: Images
    expanded: Expanded
    first: FirstSteps
    devices: int
    types: dict[int, TensorType | None] = field(default_factory=dict[int, "TensorType | None"])
    loops: dict[int, PlannedOp] = field(default_factory=dict[int, PlannedOp])
    around: ChainMap[int, DeviceNode] = field(default_factory=ChainMap[int, DeviceNode])
    """The nodes of the computations around the one whose block is made."""
    exact: set[Name] = field(default_factory=set[Name])
    """The values that are not rounded, though nothing in the program reads them exactly."""
    rounded: set[Name] = field(default_factory=set[Name])
    """The values that only steps of this block make, and that are rounded."""

    def block(self, body: DeviceBody) -> Block:
        """The block of a computation."""
        around, self.around = self.around, self.around.new_child(dict(body.nodes))
        self.types |= {number: node.type for number, node in body.nodes.items()}
        arguments = [TiledValue(number, self.types[number], None) for number in body.arguments]
        offsets = Offsets(self.records, self.devices)
        computation = _Computation(self, body, offsets, elements_by_position(body))
        steps = [step for number in body.order for step in computation.steps(number)]
        results: list[Name] = []
        for name in map(named, body.results):
            type_ = self.types.get(name) if isinstance(name, int) else None
            whole, _, together = self.images.whole(name, type_, "" if type_ is None else type_.element)
            steps += together
            results.append(whole)
        self.around = around
        steps = rewritten(steps, self.records, self._is_sent)
        given = () if around.maps[0] else body.arguments
        steps = with_turned_slices(steps, given, results, self.records, self.sends.narrow)
        self.exact |= read_by_kernels(steps)
        own = with_own_constants(steps, around, self._is_sent, self.made) if around else tuple(steps)
        ends = (*arguments, TiledValue(NOTHING, None, None))
        return Block(ends, own, tuple(results), (None,) * len(results))

    def _is_sent(self, step: PlannedOp) -> bool:
        return id(step) in self.sends.sent

    def made(self, node: DeviceNode, step: PlannedOp, name: Name) -> PlannedOp:
        """Returns the step of a node with one result, under another name."""
        reads = self.read(node.inputs, step.record.operands)
        record = self.records.like(step.record, reads, (node.type,))
        return step_of(record, tuple(map(named, node.inputs)), (name,), step.source)

    def read(self, inputs: Iterable[int], like: Types) -> Types:
        """The types of inputs, with the ranks that an op of the program has them in."""
        pairs = zip(inputs, chain(like, repeat(None)), strict=False)
        return tuple([of_rank(self.types.get(number), given) for number, given in pairs])


@dataclass
class _Computation:
    """One computation. elements: see `elements_by_position`."""

    builder: _Builder
    body: DeviceBody
    offsets: Offsets
    elements: Mapping[int, Mapping[int, int]]

    def steps(self, number: int) -> Iterator[PlannedOp]:
        """Yields the steps of a node."""
        node, builder = self.body.nodes[number], self.builder
        if number in self._hidden:
            return
        if number in self._rotations:
            yield from self._rotated(number, self._rotations[number])
        elif node.role is NodeRole.SENT and node.transfer is not None:
            given = builder.types.get(node.inputs[0])
            element = node.transfer.collective.element_type
            whole, given, together = builder.images.whole(node.inputs[0], given, element)
            yield from together
            around = AroundSent(node.inputs[0] in self.body.arguments, self._is_read_elementwise(number))
            yield from builder.sends.steps(number, node, node.transfer, (whole, given), self.offsets, around)
        elif node.role is NodeRole.SLICE:
            yield from self._part(number, node)
        elif node.role is NodeRole.OP and node.step is None:
            yield self._joined(number, node)
        elif node.role is NodeRole.OP and node.step is not None:
            key = () if number in self.elements else builder.first.key(node, builder.types)
            if equal := builder.first.like(key, number, node):
                yield equal
                return
            yield from self._starts(number, node)
            own = self._op(number, node, node.step)
            builder.first.note(key, own)
            if is_computed_whole(own, node.step):
                yield from self._parts_of_whole(own, node.step)
                return
            if slices := with_slices(own, node.step.record, builder.records):
                yield from slices
                return
            if number in self._masked_scatters:
                own, mask = builder.expanded.masked(own)
                yield from () if mask is None else (mask,)
            for step in builder.images.steps(own):
                for each in builder.expanded.steps(step):
                    yield from self._counted(each, node.step)

    @cached_property
    def _rotations(self) -> dict[int, RotatedPart]:
        return rotations(self.body, self._readers)

    @cached_property
    def _hidden(self) -> set[int]:
        """The nodes that are only made for rotations."""
        return {each for rotated in self._rotations.values() for each in rotated.hidden}

    def _rotated(self, number: int, rotated: RotatedPart) -> Iterator[PlannedOp]:
        """The pieces of a rotation, those that are sent, and all of them together."""
        builder, sent = self.builder, iter(rotated.sent)
        held, made = builder.types[rotated.source], self.body.nodes[number].type
        reads, types = list[Name](), list[TensorType | None]()
        for position, piece in enumerate(rotated.pieces):
            name: Name = ("piece", number, position)
            record = builder.records.sliced(held, rotated.dimension, piece.start, piece.size)
            yield step_of(record, (rotated.source,), (name,), None)
            if piece.is_sent:
                own = self.body.nodes[each := next(sent)]
                if own.transfer is not None:
                    given = name, record.results[0]
                    yield from builder.sends.steps(
                        each, own, own.transfer, given, self.offsets, AroundSent(False)
                    )
                name = each
            reads.append(name)
            types.append(record.results[0])
        fixed = {"dimension": rotated.dimension}
        record = builder.records.of(ConcatenateOp.name, tuple(types), (made,), **fixed)
        yield step_of(record, tuple(reads), (number,), None)

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        """By node those that read it, -1 for what the computation returns."""
        readers: dict[int, list[int]] = {}
        for number in self.body.order:
            for each in self.body.nodes[number].inputs:
                readers.setdefault(each, []).append(number)
        for each in self.body.results:
            readers.setdefault(each, []).append(-1)
        return readers

    def _is_read_elementwise(self, number: int) -> bool:
        """True if only an elementwise op of a value and of single elements reads it."""
        reader, *others = self._readers.get(number, [-1])
        node = self.body.nodes.get(reader)
        if others or node is None or node.step is None or node.role is not NodeRole.OP:
            return False
        record = node.step.record
        return TABLE[record.name].elementwise(record) and all(
            each == number or self._is_of_one_element(each) for each in node.inputs
        )

    def _is_of_one_element(self, number: int) -> bool:
        """True for a value whose elements are all the same one."""
        node = self.builder.around.get(number)
        is_spread = node is not None and COMPILED.of(node.name).form is NodeForm.BROADCAST
        source = node.inputs[0] if node is not None and is_spread else number
        return elements_of(self.builder.types.get(source)) == 1

    @cached_property
    def _masked_scatters(self) -> set[int]:
        """The scatters that devices sum, into other values than of one element everywhere."""
        nodes = self.body.nodes
        sent = [
            node
            for node in nodes.values()
            if node.transfer is not None and node.transfer.kind == "all_reduce"
        ]
        summed = {node.inputs[0] for node in sent if self.body.form(node.inputs[0]) is NodeForm.SCATTER}
        return {
            number for number in summed if self.body.form(nodes[number].inputs[0]) is not NodeForm.BROADCAST
        }

    def _op(self, number: int, node: DeviceNode, step: PlannedOp) -> PlannedOp:
        """The step of an op of the program."""
        builder, count = self.builder, len(step.results)
        blocks = tuple(map(builder.block, node.bodies))
        if TABLE[step.record.name].control is Control.LOOP:
            starts = [not builder.around.parents.maps[0] and n in self.body.arguments for n in node.inputs]
            blocks = (*blocks[:-1], with_orders_of_parts(blocks[-1], starts, builder.records))
        inputs = node.inputs[: len(step.operands)] if blocks else tuple(n for n in node.inputs if n >= 0)
        elements = self.elements.get(number, {})
        if count == 1 and not (elements or blocks):
            results: tuple[Name, ...] = (number,)
            made: Types = (of_rank(node.type, step.record.results[0]),)
        else:
            results = tuple(elements.get(i, ("unused", number, i)) for i in range(count))
            made = tuple(
                of_rank(builder.types[name], type_)
                if isinstance(name, int)
                else self._unused(node, i, local_type(type_, target))
                for i, (name, type_, target) in enumerate(
                    zip(results, step.record.results, step.targets, strict=False)
                )
            )
        given = builder.read(inputs, step.record.operands)
        if COMPILED.of(step.record.name).form is NodeForm.SORT and len(given) == count:
            made = given  # also of a result that nothing reads
        record = builder.records.like(step.record, given, made)
        own_names = self._own_starts(number, node)
        operands = tuple([own_names.get(position, named(each)) for position, each in enumerate(inputs)])
        own = PlannedOp(record, operands, results, (None,) * count, blocks, step.times, step.source)
        if blocks:
            builder.loops[number] = own
        return own

    def _own_starts(self, number: int, node: DeviceNode) -> dict[int, Name]:
        """See `own_starts`; none of an op that is not a loop."""
        if node.step is None or TABLE[node.step.record.name].control is not Control.LOOP:
            return {}
        inputs = node.inputs[: len(node.step.operands)]
        return own_starts(number, inputs, self.builder.around, self._readers)

    def _starts(self, number: int, node: DeviceNode) -> Iterator[PlannedOp]:
        """The constants with which a loop starts, and that are for it alone."""
        for position, name in self._own_starts(number, node).items():
            source = self.body.nodes[node.inputs[position]]
            if source.step is not None:
                yield self.builder.made(source, source.step, name)
                if self._is_carried_rounded(node, position):
                    self.builder.rounded.add(name)

    def _parts_of_whole(self, own: PlannedOp, step: PlannedOp) -> Iterator[PlannedOp]:
        """A call that each device computes as a whole, with the parts of its results that a device keeps."""
        records = self.builder.records
        record = records.like(step.record, own.record.operands, step.record.results)
        names: tuple[Name, ...] = tuple(("whole", name) for name in own.results)
        yield replace(own, record=record, results=names)
        types = zip(step.record.results, own.record.results, step.targets, strict=True)
        for whole, name, (held, made, tiling) in zip(names, own.results, types, strict=True):
            found: list[Name] = []
            if held is not None and made is not None and tiling is not None:
                for d, (old, new) in enumerate(zip(held.shape, made.shape, strict=False)):
                    if old != new:
                        yield from self.offsets.of_tile(tiling, d, new or 0, own.source)
                        found.append(self.offsets.tile(tiling, d, new or 0))
            part = self._slice((held, *(OFFSET for _ in found)), made)
            yield step_of(part, (whole, *found), (name,), own.source)

    def _unused(self, node: DeviceNode, index: int, type_: TensorType | None) -> TensorType | None:
        """The type of a result that nothing reads: rounded, if a loop carries it so."""
        is_rounded = self._is_carried_rounded(node, index)
        return TensorType(type_.shape, "bf16") if type_ is not None and is_rounded else type_

    def _is_carried_rounded(self, node: DeviceNode, index: int) -> bool:
        arguments = node.bodies[-1].arguments if node.bodies else ()
        return index < len(arguments) and arguments[index] in self.builder.sends.narrow

    def _counted(self, own: PlannedOp, step: PlannedOp) -> Iterator[PlannedOp]:
        """A step; one whose elements are their places counts from the offset of the device on."""
        tiling = step.targets[0] if STORED.of(own.record.name).counts_places else None
        dimension = 0 if tiling is None else integer(own.record.attributes, "iota_dimension")
        if tiling is None or tiling.dimensions[dimension] == 1 or own.record.results[0] is None:
            yield own
            return
        size = own.record.results[0].shape[dimension] or 0
        yield from self.offsets.of_count(tiling, dimension, size, own.source)
        record = self.builder.records.like(own.record, (OFFSET,), own.record.results)
        yield step_of(record, (self.offsets.count(tiling, dimension, size),), own.results, own.source)

    def _part(self, number: int, node: DeviceNode) -> Iterator[PlannedOp]:
        """The part of a value that a device keeps, from the offset that it looks up for each dimension."""
        (source,) = node.inputs
        held, made, tiling = self.builder.types[source], node.type, node.tiling
        found: list[Name] = []
        if held is not None and made is not None and tiling is not None and tiling.rank == made.rank:
            equal = equal_along(self.body.nodes.get(source))
            for d, (old, new) in enumerate(zip(held.shape, made.shape, strict=False)):
                if old != new and d not in equal:
                    yield from self.offsets.of_tile(tiling, d, new or 0, None)
                    found.append(self.offsets.tile(tiling, d, new or 0))
        yield step_of(self._slice((held, *(OFFSET for _ in found)), made), (source, *found), (number,), None)

    def _slice(self, types: Types, made: TensorType | None) -> OpRecord:
        records = self.builder.records
        if made is None or types[0] is None or types[0].rank != made.rank:
            return records.of(PLACED, types, (made,))
        return records.of(DynamicSliceOp.name, types, (made,), slice_sizes=made.shape)

    def _joined(self, number: int, node: DeviceNode) -> PlannedOp:
        """A value put together with borders that neighbours send, or a part of one."""
        types = self.builder.read(node.inputs, ())
        reads = tuple(map(named, node.inputs))
        if len(reads) > 1 and all(elements_of(type_) == elements_of(node.type) for type_ in types):
            return self._total(number, node, types, reads)
        if len(reads) == 1:
            return step_of(self._slice(types, node.type), reads, (number,), None)
        grown = grown_dimension(types[0], node.type)
        record = self.builder.records.of(ConcatenateOp.name, types, (node.type,), dimension=grown)
        return step_of(record, reads, (number,), None)

    def _total(self, number: int, node: DeviceNode, types: Types, reads: tuple[Name, ...]) -> PlannedOp:
        """The sum of what a loop added, summed behind it, and what it started with, if that is not 0."""
        start = self.body.nodes.get(node.inputs[-1])
        if start is not None and COMPILED.of(start.name).form is NodeForm.BROADCAST:
            return step_of(
                self.builder.records.of(ReshapeOp.name, types[:1], (node.type,)), reads[:1], (number,), None
            )
        return step_of(self.builder.records.of(AddOp.name, types, (node.type,)), reads, (number,), None)
