"""The program of one device as a block, where collectives and parts that a device keeps are steps, too.

    local = local_block(on_chip.plan(function).body)
    StoredBlock(local.block, local.sent, ...)

Each step has the types that a device holds, and no tilings. Values are known by the numbers of their nodes.
Not here: the program of a device (`targets/`), which values are stored (`stored.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import Final

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import BroadcastInDimOp, ConcatenateOp, ConvertOp, DynamicSliceOp, DynamicUpdateSliceOp, ReshapeOp, TransposeOp
from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.exchanged import Change, exchange_of, received_as, sent_as
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.gpu.moved import transposed_around
from shardy_py.xla.buffers.local_sizes import least_padded
from shardy_py.xla.buffers.offsets import LOOK_UP, Offsets
from shardy_py.xla.buffers.spread_images import ROWS, Spreading, SpreadStep, spread_of, spread_steps, together
from shardy_py.xla.spmd.program import Block, Name, PlannedOp, TiledValue
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, RoundedValues, Transfer
from shardy_py.xla.targets.parts import local_type, shape_of
from shardy_py.xla.targets.rounding import rounded_nodes

_NONE: Final = ("none",)
"""The name of what is no tensor, and comes from nowhere."""
_CHANGES = {Change.RESHAPE: ReshapeOp.name, Change.TRANSPOSE: TransposeOp.name, Change.COPY: "hlo.copy"}
_ELEMENT = TensorType((1,), "i32")
_OFFSET = TensorType((), "i32")
_Types = tuple[TensorType | None, ...]


@dataclass(frozen=True)
class LocalBlock:
    """The block of a device. sent: the collective that a step is, by its identity. rounded: see `StoredBlock`."""

    block: Block
    sent: dict[int, list[Sent]]
    rounded: RoundedValues


def local_block(body: DeviceBody) -> LocalBlock:
    """Returns the entry computation of a program, as the passes of a compiler leave it, as a block."""
    narrow, captured = rounded_nodes(body)
    builder = _Builder(narrow)
    block = builder.block(body)
    by_step = {id(builder.loops[number]): names for number, names in captured.items() if number in builder.loops}
    return LocalBlock(block, builder.sent, RoundedValues(narrow, by_step))


@dataclass
class _Builder:
    """Builds the block of a body and of those inside. loops: the steps of nodes with bodies."""

    narrow: frozenset[int]
    types: dict[int, TensorType | None] = field(default_factory=dict[int, "TensorType | None"])
    sent: dict[int, list[Sent]] = field(default_factory=dict[int, list[Sent]])
    loops: dict[int, PlannedOp] = field(default_factory=dict[int, PlannedOp])
    _records: dict[tuple[object, ...], tuple[OpRecord, object]] = field(
        default_factory=dict[tuple[object, ...], tuple[OpRecord, object]]
    )

    repeated: set[Name] = field(default_factory=set[Name])
    """The values that are broadcasts, or of one element."""
    joined: set[Name] = field(default_factory=set[Name])
    spread: dict[Name, tuple[int, Spreading]] = field(default_factory=dict[Name, "tuple[int, Spreading]"])
    """By value that a convolution has spread over the rows of tiles, the elements of its parts."""

    def block(self, body: DeviceBody) -> Block:
        """The block of a computation."""
        self.types |= {number: node.type for number, node in body.nodes.items()}
        arguments = [TiledValue(number, self.types[number], None) for number in body.arguments]
        elements: dict[int, dict[int, int]] = {}
        for number in body.order:
            node = body.nodes[number]
            if node.role is NodeRole.ELEMENT:
                elements.setdefault(node.inputs[0], {})[node.index] = number
        offsets = Offsets()
        steps = [
            step
            for number in body.order
            for step in self._steps(number, body.nodes[number], elements.get(number, {}), offsets, body.nodes)
        ]
        results = tuple(map(_named, body.results))
        return Block((*arguments, TiledValue(_NONE, None, None)), tuple(steps), results, (None,) * len(results))

    def _steps(self, number: int, node: DeviceNode, elements: Mapping[int, int], offsets: Offsets, nodes: Mapping[int, DeviceNode]) -> Iterator[PlannedOp]:
        if node.role is NodeRole.SENT and node.transfer is not None:
            *before, last = self._sent(number, node, node.transfer, offsets)
            yield from before
            yield self._renamed(last, number)
        elif node.role is NodeRole.SLICE:
            yield from self._part(number, node, offsets, nodes)
        elif node.role is NodeRole.OP:
            if node.step is None:
                name = ConcatenateOp.name if len(node.inputs) > 1 else DynamicSliceOp.name
                yield self._step(name, node.inputs, (number,), node)
            else:
                own = self._op(number, node, node.step, elements)
                if COMPILED.of(node.name).form is NodeForm.CONVOLUTION and not node.bodies:
                    *before, own = self._convolution(own)
                    yield from before
                else:
                    *before, own = self._together(own)
                    yield from before
                    *before, own = self._with_base(own)
                    yield from before
                    if COMPILED.of(node.name).is_kernel:
                        *before, own = self._kernel(own)
                        yield from before
                self._note_spread(own)
                if COMPILED.of(node.name).form is NodeForm.NONE and node.name == "stablehlo.iota":
                    yield from self._counted(own, node.step, offsets)
                else:
                    yield own

    def _op(self, number: int, node: DeviceNode, step: PlannedOp, elements: Mapping[int, int]) -> PlannedOp:
        """The step of an op of the program."""
        blocks = tuple(map(self.block, node.bodies))
        inputs = node.inputs[: len(step.operands)] if blocks else node.inputs
        count = len(step.results)
        results: tuple[Name, ...] = (number,) if count == 1 and number not in elements and not blocks else ()
        if count and not results:
            results = tuple(elements.get(i, ("unused", number, i)) for i in range(count))
        if not blocks:
            inputs = tuple(each for each in inputs if each >= 0)
        made = tuple(
            self.types[name] if isinstance(name, int) else local_type(type_, tiling)
            for name, type_, tiling in zip(results, step.record.results, step.targets, strict=False)
        )
        if count == 1 and results == (number,):
            made = (node.type,)
        read = tuple([_of_rank(self._type(each), given) for each, given in _pairs(inputs, step.record.operands)])
        record = self.record(step.record.name, read, made, step.record)
        operands = tuple(map(_named, inputs))
        own = PlannedOp(record, operands, results, (None,) * count, blocks, step.times, step.source)
        if blocks:
            self.loops[number] = own
        return own

    def _convolution(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """A convolution, with the steps that spread its images over the rows of tiles."""
        record = own.record
        images, kernel, made = (*record.operands[:2], record.results[0])
        if images is None or kernel is None or made is None:
            yield own
            return
        name = own.operands[0]
        whole = self.spread[name][0] if name in self.spread else 0
        spread = spread_of(record, shape_of(images), shape_of(kernel), shape_of(made), whole)
        if spread is None:
            yield own
            return
        type_ = images
        for number, each in enumerate(spread_steps(record, images, spread, whole)):
            kind = TransposeOp.name if each.step is SpreadStep.FUSED else "hlo.spread"
            attributes = {"permutation": tuple(range(each.type.rank)), "minor_to_major": each.minor_to_major}
            made_by = OpRecord(kind, (type_,), (each.type,), attributes)
            before, name, type_ = name, (own.results[0], "spread", number), each.type
            yield PlannedOp(made_by, (before,), (name,), (None,), source=own.source)
        attributes = {**record.attributes, "spread": (spread.made, spread.made_part)}
        self.spread[own.results[0]] = spread.made_part * ROWS, together(record, made, spread)
        yield PlannedOp(OpRecord(record.name, (type_, *record.operands[1:]), record.results, attributes), (name, *own.operands[1:]), own.results, own.targets, source=own.source)

    def _note_spread(self, step: PlannedOp) -> None:
        """Notes that what is made elementwise of spread images is spread."""
        if len(step.results) == 1 and not step.blocks:
            form, type_ = COMPILED.of(step.record.name).form, step.record.results[0]
            is_element = type_ is not None and prod(shape_of(type_)) == 1
            is_uniform = step.operands and TABLE[step.record.name].elementwise(step.record) and self.repeated.issuperset(step.operands)
            if form is NodeForm.BROADCAST or is_element or is_uniform or STORED.of(step.record.name).is_constant:
                self.repeated.add(step.results[0])
                return
        if not self._are_alike(step):
            return
        if step.blocks or len(step.results) != 1 or not TABLE[step.record.name].elementwise(step.record):
            return
        found = {self.spread[name] for name in step.operands if name in self.spread}
        if len(found) == 1:
            self.spread[step.results[0]] = found.pop()

    def _kernel(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """A kernel of a product by groups, behind what computes the places of groups, once for equal sizes."""
        groups, type_ = own.operands[2:3], own.record.operands[2:3]
        if not groups or type_[0] is None:
            yield own
            return
        places = TensorType((_elements(type_[0]) + 1,), "i32")
        made = (places, places, places, _ELEMENT)
        names: tuple[Name, ...] = tuple(("places", groups[0], i) for i, _ in enumerate(made))
        if names[0] not in self.joined:
            self.joined.add(names[0])
            record = OpRecord("hlo.places", type_, made)
            yield PlannedOp(record, groups, names, (None,) * len(made), source=own.source)
        left, right, _, *others = own.record.operands
        record = replace(own.record, operands=(left, right, *made, *others))
        yield replace(own, record=record, operands=(*own.operands[:2], *names, *own.operands[3:]))

    def _with_base(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """A scatter, behind the broadcast that makes all of what it starts with, if a device has a part of it."""
        record = own.record
        if COMPILED.of(record.name).form is not NodeForm.SCATTER or len(own.results) != 1:
            yield own
            return
        given, made = record.operands[0], record.results[0]
        if given is None or made is None or _elements(given) >= _elements(made):
            yield own
            return
        base: Name = (own.results[0], "base")
        attributes = {"broadcast_dimensions": ()}
        broadcast = OpRecord(BroadcastInDimOp.name, (TensorType((), made.element),), (made,), attributes)
        yield PlannedOp(broadcast, (_NONE,), (base,), (None,), source=own.source)
        whole = replace(record, operands=(made, *record.operands[1:]))
        yield replace(own, record=whole, operands=(base, *own.operands[1:]))

    def _are_alike(self, own: PlannedOp) -> bool:
        """True if all operands of an elementwise op are spread, or the same for all parts."""
        if self.spread.keys().isdisjoint(own.operands):
            return True
        return all(name in self.spread or name in self.repeated for name in own.operands)

    def _together(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """An op that reads what convolutions have spread, behind the steps that put that together."""
        if own.blocks or (TABLE[own.record.name].elementwise(own.record) and self._are_alike(own)):
            yield own
            return
        operands, types = [*own.operands], [*own.record.operands]
        for number, name in enumerate(own.operands):
            type_ = types[number] if number < len(types) else None
            if name not in self.spread or type_ is None:
                continue
            _, value = self.spread[name]
            if value.type.shape == type_.shape:
                continue
            made = ("together", name)
            if made not in self.joined:
                self.joined.add(made)
                whole = TensorType(value.type.shape, type_.element)
                attributes = {"minor_to_major": value.minor_to_major}
                record = OpRecord("hlo.spread", (type_,), (whole,), attributes)
                yield PlannedOp(record, (name,), (made,), (None,), source=own.source)
            operands[number] = made
        yield replace(own, operands=tuple(operands)) if (*operands,) != own.operands else own

    def _counted(self, own: PlannedOp, step: PlannedOp, offsets: Offsets) -> Iterator[PlannedOp]:
        """An op that counts from the offset of the device on."""
        tiling, dimension = step.targets[0], step.record.attributes.get("iota_dimension")
        if tiling is None or not isinstance(dimension, int) or tiling.dimensions[dimension] == 1:
            yield own
            return
        size = own.record.results[0].shape[dimension]
        yield from offsets.of(tiling, dimension, size, step.source, is_counted=True)
        start = offsets.name(tiling, dimension, size, is_counted=True)
        counted = OpRecord(own.record.name, (_OFFSET,), own.record.results, own.record.attributes)
        yield PlannedOp(counted, (start,), own.results, own.targets, source=own.source)

    def _part(
        self, number: int, node: DeviceNode, offsets: Offsets, nodes: Mapping[int, DeviceNode]
    ) -> Iterator[PlannedOp]:
        """The part of a value that a device keeps, from the offset that it looks up for each dimension."""
        (source,) = node.inputs
        held, made, tiling = self.types[source], node.type, node.tiling
        given = None if node.step is None else node.step.source
        found: list[Name] = []
        if held is not None and made is not None and tiling is not None and tiling.rank == made.rank:
            equal = _equal_along(nodes.get(source))
            for d, (old, new) in enumerate(zip(held.shape, made.shape, strict=False)):
                if old != new and d not in equal:
                    yield from offsets.of(tiling, d, new or 0, given)
                    found.append(offsets.name(tiling, d, new or 0))
        record = self.record(DynamicSliceOp.name, (held, *(_OFFSET for _ in found)), (made,), None)
        yield PlannedOp(record, (source, *found), (number,), (None,), source=given)

    def _type(self, number: int) -> TensorType | None:
        return self.types.get(number)

    def _sent(
        self, number: int, node: DeviceNode, transfer: Transfer, offsets: Offsets
    ) -> Iterator[PlannedOp]:
        """A collective, with the steps that put what is sent in order before, and what is received after it."""
        (source,) = node.inputs
        chain = _Chain(self, number, node, source)
        type_, made = chain.type, node.type
        if type_ is None or made is None:
            yield chain.sent(transfer, made)
        elif transfer.kind == "all_reduce":
            if _elements(made) > _elements(type_):
                yield from self._put(chain, made, transfer, offsets)
            yield chain.sent(transfer, made)
        else:
            yield from self._moved(chain, source, transfer, type_, made)

    def _put(
        self, chain: _Chain, made: TensorType, transfer: Transfer, offsets: Offsets
    ) -> Iterator[PlannedOp]:
        """Puts the part of a device into zeros, which are summed."""
        number, step, group = chain.number, chain.node.step, transfer.collective.group
        tilings = () if step is None else step.targets
        count = next((tiling.device_count for tiling in tilings if tiling is not None), 0)
        offset: Name = ("part", id(offsets), group)
        numbers = tuple(range(count)) if len(group) == count else (0, *group)
        yield from offsets.at(offset, numbers, 1, None)
        zeros: Name = (number, "zeros")
        element = TensorType((), made.element)
        attributes = {"broadcast_dimensions": ()}
        record = OpRecord(BroadcastInDimOp.name, (element,), (made,), attributes)
        yield PlannedOp(record, (_NONE,), (zeros,), (None,))
        part, type_ = chain.name, chain.type
        chain.name, chain.type = (number, "put"), made
        record = OpRecord(DynamicUpdateSliceOp.name, (made, type_, _OFFSET), (made,))
        yield PlannedOp(record, (zeros, part, offset), (chain.name,), (None,))

    def _renamed(self, step: PlannedOp, number: int) -> PlannedOp:
        """The step that makes the value of a node."""
        own = PlannedOp(step.record, step.operands, (number,), (None,), source=step.source)
        if id(step) in self.sent:
            (sent,) = self.sent.pop(id(step))
            self.sent[id(own)] = [Sent(own, sent.collective, 0)]
        return own

    def _moved(
        self, chain: _Chain, source: int, transfer: Transfer, type_: TensorType, made: TensorType
    ) -> Iterator[PlannedOp]:
        """A collective that does not add up."""
        if source in self.narrow and type_.element == "f32":
            chain.type = type_ = TensorType(type_.shape, "bf16")
        elif _is_rounded(type_, transfer):
            yield chain.changed(ConvertOp.name, TensorType(type_.shape, "bf16"))
            type_ = TensorType(type_.shape, "bf16")
        made = TensorType(made.shape, transfer.collective.element_type)
        if transfer.kind == "all_to_all" and len(type_.shape) != len(made.shape):
            type_ = chain.type = TensorType(transfer.collective.held_shape, type_.element)
        exchange = exchange_of(shape_of(type_), shape_of(made)) if transfer.kind == "all_to_all" else None
        if exchange is None:
            yield chain.sent(transfer, made)
            if transposed_around(transfer)[1]:
                yield chain.changed(TransposeOp.name, made)
            return
        for change, each in sent_as(type_, exchange):
            yield chain.changed(_CHANGES[change], each, is_fixed=True)
        yield chain.sent(transfer, chain.type, is_fixed=True)
        for change, each in received_as(type_, made, exchange):
            yield chain.changed(_CHANGES[change], each, is_fixed=True)

    def _step(
        self, kind: str, inputs: Sequence[int], results: tuple[Name, ...], node: DeviceNode
    ) -> PlannedOp:
        record = self.record(kind, tuple(map(self._type, inputs)), (node.type,), None)
        given = None if node.step is None else node.step.source
        return PlannedOp(record, tuple(map(_named, inputs)), results, (None,), source=given)

    def record(
        self, name: str, operands: _Types, results: _Types, of: OpRecord | None, *, is_fixed: bool = False
    ) -> OpRecord:
        """A record on what a device holds: the same one for equal ones of equal records of the program."""
        key = name, id(of), operands, results, is_fixed
        known = self._records.get(key)
        if known is None:
            attributes = _attributes(name, operands, results) if of is None else of.attributes
            if is_fixed and results[0] is not None:
                attributes = {**attributes, "minor_to_major": tuple(reversed(least_padded(results[0])))}
            known = self._records[key] = OpRecord(name, operands, results, attributes), of
        return known[0]


@dataclass
class _Chain:
    """The steps from what a collective sends to what is made of what is received. name, type: of the last one."""

    builder: _Builder
    number: int
    node: DeviceNode
    name: Name
    type: TensorType | None = field(init=False)
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.type = self.builder.types.get(self.name) if isinstance(self.name, int) else None
        self.name = _named(self.name)

    def changed(self, kind: str, made: TensorType, *, is_fixed: bool = False) -> PlannedOp:
        """The step that makes another value of the last one. is_fixed: in the order with the least padding."""
        return self._added(kind, made, is_fixed)

    def sent(self, transfer: Transfer, made: TensorType | None, *, is_fixed: bool = False) -> PlannedOp:
        """The step that is the collective."""
        step = self._added(f"stablehlo.{transfer.kind}", made, is_fixed)
        self.builder.sent[id(step)] = [Sent(step, transfer.collective, 0)]
        return step

    def _added(self, kind: str, made: TensorType | None, is_fixed: bool) -> PlannedOp:
        record = self.builder.record(kind, (self.type,), (made,), None, is_fixed=is_fixed)
        source, self.name, self.type = self.name, (self.number, self.count), made
        self.count += 1
        given = None if self.node.step is None else self.node.step.source
        return PlannedOp(record, (source,), (self.name,), (None,), source=given)


def _attributes(name: str, operands: _Types, results: _Types) -> dict[str, object]:
    """The attributes of a step that the program does not have: a transpose only changes the order in memory."""
    rank = 0 if results[0] is None else results[0].rank
    if name == TransposeOp.name:
        return {"permutation": tuple(range(rank))}
    if name == ConcatenateOp.name and results[0] is not None and operands[0] is not None:
        pairs = enumerate(zip(operands[0].shape, results[0].shape, strict=False))
        return {"dimension": next((i for i, (own, made) in pairs if own != made), 0)}
    return {}


def _is_rounded(type_: TensorType | None, transfer: Transfer) -> bool:
    return type_ is not None and (type_.element, transfer.collective.element_type) == ("f32", "bf16")


def _equal_along(node: DeviceNode | None) -> set[int]:
    """The dimensions along which all elements of a value are equal: those of a broadcast."""
    if node is None or node.step is None or COMPILED.of(node.name).form is not NodeForm.BROADCAST:
        return set()
    kept = integers(node.step.record.attributes, "broadcast_dimensions")
    (given, *_), rank = node.step.record.operands, 0 if node.type is None else node.type.rank
    read = {d for d, size in zip(kept, () if given is None else given.shape, strict=False) if size != 1}
    return set(range(rank)) - read


def _pairs(inputs: Sequence[int], types: _Types) -> Iterator[tuple[int, TensorType | None]]:
    """Each input with the type that an op of the program has for it."""
    return zip(inputs, (*types, *(None for _ in inputs)), strict=False)


def _of_rank(type_: TensorType | None, like: TensorType | None) -> TensorType | None:
    """A type without further dimensions of one element than another one has."""
    if type_ is None or like is None or type_.rank <= like.rank:
        return type_
    surplus, shape = type_.rank - like.rank, list[int | None]()
    for size in type_.shape:
        if size == 1 and surplus:
            surplus -= 1
        else:
            shape.append(size)
    return TensorType(tuple(shape), type_.element)


def _named(number: Name) -> Name:
    return _NONE if number == -1 else number


def _elements(type_: TensorType | None) -> int:
    return 0 if type_ is None else prod(shape_of(type_))
