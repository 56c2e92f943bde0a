"""A planned program as the graph that passes change: each collective between what it sends and who reads it.

Reshards of an operand come before its step, sums and reshards of a result behind it. Where a device holds
more than a step needs, it slices its part first. Equal nodes are one, as XLA merges them. Not here: the plan
(`xla/spmd/walk.py`), passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from math import prod
from types import MappingProxyType
from typing import cast

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Control, Family, TensorType
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.spmd.walk import ProgramPlan, Sent
from shardy_py.xla.targets.equal_steps import EqualSteps, SentPlaces
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import MERGED, DeviceBody, DeviceNode, NodeRole, PassChange, Transfer
from shardy_py.xla.targets.parts import is_part, is_piece, local_type, shape_of
from shardy_py.xla.targets.sends import fits, is_halo, is_of, reduction_of, sent_of_results, what_is_sent

_INLINED = (Control.MANUAL, Control.REGION, Control.ASYNC)
_READ_FROM_NEIGHBOURS = (Family.WINDOW, Family.MOVEMENT, Family.PRODUCT)
"""Families of ops for which parts of operands are permuted before they run."""
_NO_CHAINS: Mapping[Name, int] = MappingProxyType({})
_IN_A_LOOP = PassChange("windowed einsum", "the product is a loop that computes while shards are sent")


def body_of(block: Block, plan: ProgramPlan, *, keeps_gathered: bool = True) -> DeviceBody:
    """Returns the entry computation of a planned program.

    keeps_gathered: whether the partitioner gathers a value once for all that need it (`cache_all_gather`).
    """
    needed: dict[int, list[Sent]] = defaultdict(list)
    for each in sorted((*plan.sent, *plan.merged), key=lambda each: each.number):
        needed[id(each.step)].append(each)
    return _Builder(_Shared(needed, keeps_gathered, SentPlaces(needed))).body(block, None)


@dataclass
class _Shared:
    """State that the builders of the bodies of a program share.

    needed: the collectives of each step; places: of each there. keeps_gathered: see `body_of`.
    values: the node of each value, shapes: of the whole tensor. parts: of a type by a tiling, by identities,
    which are kept. forms: the nodes that a value was before, whole where it is a part, say. sent: by the key
    of a collective. equal: by the key of its plan, what equal steps have in common.
    with_regions: see `EqualSteps`.
    """

    needed: Mapping[int, Sequence[Sent]]
    keeps_gathered: bool
    places: SentPlaces
    numbers: count[int] = field(default_factory=count)
    nodes: dict[int, DeviceNode] = field(default_factory=dict[int, DeviceNode])
    values: dict[Name, int] = field(default_factory=dict[Name, int])
    shapes: dict[Name, Shape] = field(default_factory=dict[Name, Shape])
    parts: dict[tuple[int, int], TensorType | None] = field(
        default_factory=dict[tuple[int, int], "TensorType | None"]
    )
    forms: dict[Name, tuple[int, ...]] = field(default_factory=dict[Name, "tuple[int, ...]"])
    sent: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    equal: dict[Hashable, EqualSteps] = field(default_factory=dict[Hashable, "EqualSteps"])
    with_regions: dict[int, bool] = field(default_factory=dict[int, bool])

    def local(self, type_: TensorType | None, tiling: Tiling | None) -> TensorType | None:
        """The part of a type that a device has."""
        key = id(type_), id(tiling)
        if key not in self.parts:
            self.parts[key] = local_type(type_, tiling)
        return self.parts[key]

    def equal_steps(self, step: PlannedOp) -> EqualSteps:
        """Returns what a step without regions to run has in common with those that are equal."""
        known = self.equal.get(step.plan_key)
        if known is None:
            known = EqualSteps.of(step, len(self.equal), self.local, self.with_regions)
            self.equal[step.plan_key] = known
        return known


@dataclass
class _Halos:
    """Pieces of a value that neighbours send for one step, along one dimension: none needs another."""

    value: int
    pieces: list[int] = field(default_factory=list[int])


class _Builder:
    """Builds one body."""

    def __init__(self, shared: _Shared) -> None:
        self.shared = shared
        self.nodes: dict[int, DeviceNode] = {}
        self.known: dict[Hashable, int] = {}

    def body(self, block: Block, step: PlannedOp | None) -> DeviceBody:
        """The body of a block. step: that runs it; None: it is the program."""
        arguments: list[int] = []
        for index, value in enumerate(block.arguments):
            type_ = self.shared.local(value.type, value.tiling)
            arguments.append(self._add(DeviceNode(NodeRole.ARGUMENT, type=type_, index=index)))
            self._bind(value.name, arguments[-1], value.type)
        for each in block.steps:
            self._step(each)
        moved = self.shared.needed.get(id(step), ())
        results: list[int] = []
        for index, (name, target) in enumerate(zip(block.results, block.targets, strict=True)):
            own = [each for each in moved if name in each.roots and is_of(each, step, index)]
            node = self._chain(name, own)
            results.append(node if node < 0 else self._part(node, self._target(name, node, target), target))
        return DeviceBody(self.nodes, tuple(arguments), tuple(results))

    def _target(self, name: Name, node: int, target: Tiling | None) -> Shape:
        """The shape of a value on a device in the tiles of `target`."""
        whole = self.shared.shapes.get(name, ())
        if target is None or len(target.dimensions) != len(whole):
            type_ = self.shared.nodes[node].type
            return () if type_ is None else shape_of(type_)
        return target.local_shape(whole)

    def _step(self, step: PlannedOp) -> None:
        if not step.blocks:
            self._plain(step)
            return
        control = TABLE[step.record.name].control
        if control in _INLINED:
            self._inline(step)
        else:
            self._run(step, is_loop=control is Control.LOOP)

    def _inline(self, step: PlannedOp) -> None:
        (inner,) = step.blocks
        for value, name in zip(inner.arguments, step.operands, strict=False):
            node = self._chain(name, [e for e in self.shared.needed.get(id(step), ()) if name in e.roots])
            self._bind(value.name, node, value.type)
        for each in inner.steps:
            self._step(each)
        moved = self.shared.needed.get(id(step), ())
        made = zip(step.results, inner.results, inner.targets, step.record.results, strict=False)
        for name, value, target, type_ in made:
            own = [each for each in moved if value in each.roots and value not in step.operands]
            node = self._chain(value, own)
            if node >= 0:
                node = self._part(node, self._target(value, node, target), target)
            self._bind(name, node, type_)

    def _run(self, step: PlannedOp, *, is_loop: bool) -> None:
        """A loop, or branches: operands are moved for the arguments, then one of the bodies runs."""
        moved = self.shared.needed.get(id(step), ())
        inputs: list[int] = []
        tilings = [value.tiling for value in step.blocks[-1].arguments] if is_loop else []
        for index, name in enumerate(step.operands):
            node = self._chain(name, [each for each in moved if name in each.roots])
            if node >= 0 and index < len(tilings):
                node = self._part(node, self._target(name, node, tilings[index]), tilings[index])
            inputs.append(node)
        bodies = tuple(_Builder(self.shared).body(block, step) for block in step.blocks)
        own = dict.fromkeys(number for body in bodies for number in body.read_around)
        trips = step.times if is_loop else 1
        node = self._add(DeviceNode(NodeRole.OP, (*inputs, *own), None, step, bodies=bodies, trips=trips))
        self._elements(step, node)

    def _elements(self, step: PlannedOp, node: int) -> list[int]:
        found: list[int] = []
        for index, (name, type_) in enumerate(zip(step.results, step.record.results, strict=False)):
            target = step.targets[index] if index < len(step.targets) else None
            element = DeviceNode(
                NodeRole.ELEMENT, (node,), self.shared.local(type_, target), step, index=index
            )
            found.append(self._add(element))
            self._bind(name, found[-1], type_)
        return found

    def _moved(self, step: PlannedOp) -> tuple[Sequence[Sent], dict[Name, int]]:
        """The collectives of the results of a step, and the nodes of its operands behind theirs."""
        needed, record = self.shared.needed[id(step)], step.record
        halo = TABLE[record.name].kind in _READ_FROM_NEIGHBOURS
        after = [
            each
            for each in needed
            if not each.roots and (each.collective.instead or not (halo and is_halo(each)))
        ]
        made = {self.shared.local(*pair) for pair in zip(record.results, step.targets, strict=False)} - {None}
        after = [each for each in after if any(type_ is not None and fits(each, type_) for type_ in made)]
        behind = set(map(id, after))
        before = [each for each in needed if id(each) not in behind]
        chains: dict[Name, int] = {}
        halos: dict[Name, _Halos] = {}
        for number, each in enumerate(before):
            # What has no root is of a partial result, of which a step with several has one an operand.
            own = step.operands[number % len(step.operands)] if len(step.results) > 1 else step.operands[0]
            root = self._root(each) if each.roots else own
            start = chains[root] if root in chains else self._start(each, root)
            if start < 0:
                continue
            if not is_halo(each):
                halos.pop(root, None)
                chains[root] = self._sent(each, start)
                continue
            known = halos.get(root)
            if known is None or not is_piece(each.collective.held_shape, self._held(known.value)):
                known = halos[root] = _Halos(start)
            known.pieces.append(self._sent(each, known.value))
            type_ = self.shared.nodes[known.value].type
            chains[root] = self._add(DeviceNode(NodeRole.OP, (known.value, *known.pieces), type_))
        return after, chains

    def _plain(self, step: PlannedOp) -> None:
        shared, values, names = self.shared, self.shared.values, step.operands
        equal = shared.equal.get(step.plan_key) or shared.equal_steps(step)
        after, chains = (), _NO_CHAINS
        if id(step) in shared.needed:
            after, chains = self._moved(step)
            inputs = [chains.get(name, values.get(name, -1)) for name in names]
        else:
            inputs = [values.get(name, -1) for name in names]
        if equal.is_written and after:
            self._written(step, inputs, after)  # one of the program itself
            return
        first = equal.type
        if first is not None:
            nodes = shared.nodes
            key = tuple([id(nodes[node].type) if node >= 0 else 0 for node in inputs])
            if after:
                first = TensorType(after[0].collective.held_shape, first.element)
                key += after[0].collective.held_shape
            if key not in equal.read:
                inputs, is_whole = self._read(step, inputs, shape_of(first))
                if is_whole:
                    equal.read.add(key)
        read = tuple(inputs)
        if chains:
            read += tuple([node for root, node in chains.items() if root not in names])
        key = (equal.number, *read) if equal.merges(step) else None
        if -1 in read:
            read = tuple([each for each in read if each >= 0])
        known = None if key is None else self.known.get(key)
        number = self._add(DeviceNode(NodeRole.OP, read, first, step), key) if known is None else known
        if len(step.results) != 1:
            self._several(step, number, after)
        elif after:
            self._finish(step, number, after, 0)
        else:
            (name,) = step.results
            values[name] = number
            if equal.shape is not None:
                shared.shapes[name] = equal.shape

    def _read(self, step: PlannedOp, inputs: list[int], shape: Shape) -> tuple[list[int], bool]:
        """The nodes that a step reads: parts of what a device holds more of; True if it reads all.

        shape: of its result.
        """
        record, row = step.record, COMPILED.of(step.record.name)
        held = [self._held(node) for node in inputs]
        wanted = [row.wanted(record, i, shape, own) for i, own in enumerate(held)]
        found = [
            self._wanted(step, part, node, name, row.form)
            for part, node, name in zip(wanted, inputs, step.operands, strict=True)
        ]
        return found, wanted == held and found == inputs

    def _several(self, step: PlannedOp, node: int, after: Sequence[Sent]) -> None:
        """The results of a step with several, each with its part of what is sent."""
        types = step.record.results
        held = [self.shared.local(type_, target) for type_, target in zip(types, step.targets, strict=True)]
        for index, (type_, own) in enumerate(zip(held, sent_of_results(after, types, held), strict=True)):
            if own and type_ is not None:
                type_ = TensorType(own[0].collective.held_shape, type_.element)
            element = self._add(DeviceNode(NodeRole.ELEMENT, (node,), type_, step, index=index))
            self._finish(step, element, own, index)

    def _finish(self, step: PlannedOp, node: int, after: Iterable[Sent], index: int) -> None:
        """Binds a result behind what is sent for it, as the part that the device keeps."""
        for each in after:
            node = self._sent(each, node)
        name, target = step.results[index], step.targets[index]
        type_ = step.record.results[index]
        whole = node
        made = self.shared.local(type_, target)
        if made is not None:
            node = self._part(node, shape_of(made), target)
        self._bind(name, node, type_)
        if whole != node:
            self.shared.forms[name] = (whole,)

    def _written(self, step: PlannedOp, inputs: Sequence[int], after: Sequence[Sent]) -> None:
        node = inputs[0]
        for each in after:
            node = self._sent(each, node)
        self._bind(step.results[0], node, step.record.results[0])

    def _wanted(self, step: PlannedOp, wanted: Shape, node: int, name: Name, form: NodeForm) -> int:
        """The node of an operand that a step reads: an earlier form, or a part of what the device holds."""
        held = self._held(node)
        if node < 0:
            return node
        if form is NodeForm.RESHAPE and step.targets[0] is not None:
            made = self.shared.local(step.record.results[0], step.targets[0])
            if made is not None and 0 < prod(shape_of(made)) < prod(held):
                return self._part(node, shape_of(made), None, reshaped=True)
        if prod(wanted) > prod(held):
            forms = self.shared.forms.get(name, ())
            return next((each for each in forms if self._held(each) == wanted), node)
        return self._part(node, wanted, step.targets[0] if form is not NodeForm.TRANSPOSE else None)

    def _chain(self, name: Name, sent: Iterable[Sent]) -> int:
        node = self.shared.values.get(name, -1)
        for number, each in enumerate(sent):
            if node >= 0:
                node = self._sent(each, self._start(each, name) if number == 0 else node)
        return node

    def _root(self, sent: Sent) -> Name:
        """The name of the value that is sent."""
        root = sent.roots[0]
        if root not in self.shared.values and isinstance(root, tuple):
            return cast("tuple[Name, int]", root)[0]
        return root

    def _start(self, sent: Sent, name: Name) -> int:
        """The node that a chain starts from: the value, or an earlier form of it."""
        is_earlier = bool(sent.roots) and sent.roots[0] not in self.shared.values
        forms = self.shared.forms.get(name, ())
        return forms[0] if is_earlier and forms else self.shared.values.get(name, -1)

    def _sent(self, sent: Sent, source: int) -> int:
        """The node of what a collective receives; the same one for equal collectives."""
        collective = sent.collective
        is_new = collective.kind == "all_gather" and not self.shared.keeps_gathered
        known = None if collective.key is None or is_new else self.shared.sent.get(collective.key)
        if known is not None:
            return known
        source = self._part(source, collective.held_shape, None)
        made = collective.made_shape or collective.held_shape
        changes = () if collective.instead is None else (_IN_A_LOOP,)
        transfer = Transfer(collective, (sent,), reduction_of(sent), changes)
        node = DeviceNode(
            NodeRole.SENT, (source,), TensorType(made, collective.element_type), sent.step, transfer
        )
        # What the partitioner sends has a channel of its own, so that XLA does not merge it; nor all-reduces,
        # which have computations of their own. Loops have shards of their own.
        is_written = sent.step is not None and TABLE[sent.step.record.name].collective is not None
        is_alone = is_new or not is_written or collective.kind == "all_reduce" or collective.instead
        key = None if is_alone else (*what_is_sent(collective), source, self.shared.places.key(sent))
        found = self._add(node, key)
        first = self.nodes[found].transfer
        if first is not None and first is not transfer:
            merged = replace(first.changed(MERGED), members=(*first.members, sent))
            self.nodes[found] = self.shared.nodes[found] = replace(self.nodes[found], transfer=merged)
        if collective.key is not None:
            self.shared.sent[collective.key] = found
        return found

    def _part(self, node: int, shape: Shape, tiling: Tiling | None, *, reshaped: bool = False) -> int:
        """The part of a node with that shape, in the tiles of `tiling`; else the node."""
        held = self._held(node)
        if held == shape or (not reshaped and not is_part(held, shape)):
            return node
        type_ = self.shared.nodes[node].type
        element = "" if type_ is None else type_.element
        made = DeviceNode(NodeRole.SLICE, (node,), TensorType(shape, element), tiling=tiling)
        return self._add(made, ("slice", node, shape, None if tiling is None else tiling.devices))

    def _held(self, node: int) -> Shape:
        type_ = self.shared.nodes[node].type if node >= 0 else None
        return () if type_ is None else shape_of(type_)

    def _bind(self, name: Name, node: int, type_: TensorType | None) -> None:
        if node >= 0:
            self.shared.values[name] = node
        if type_ is not None:
            self.shared.shapes[name] = shape_of(type_)

    def _add(self, node: DeviceNode, key: Hashable = None) -> int:
        """The number of a node; that of an equal one before it, if there is a key."""
        if key is not None and key in self.known:
            return self.known[key]
        number = next(self.shared.numbers)
        self.nodes[number] = self.shared.nodes[number] = node
        if key is not None:
            self.known[key] = number
        return number
