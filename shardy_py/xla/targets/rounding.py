"""Collectives of f32 that XLA:TPU sends in bf16: those whose values only products or conversions round.

    all_reduce(x), read by products at default precision only  ->  of bf16

A value is rounded where it is read, so that XLA rounds it where it is made. Values that only move stay the
same, also those that loops carry. Source: openxla/xla, xla/hlo/transforms/bfloat16_propagation.cc, and what
XLA:TPU makes of small programs. Not here: conversions that the program has (`narrowing.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum, auto
from itertools import count
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Control, Family, OpRecord, TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import ROOT, DeviceBody, DeviceNode, NodeRole, PassChange, RoundedValues

_CHANGE = PassChange("bfloat16-propagation", "only read by products at default precision, or as bf16")
_WIDE, _NARROW = "f32", "bf16"
_MOVING = frozenset(
    (
        NodeForm.RESHAPE,
        NodeForm.TRANSPOSE,
        NodeForm.SLICE,
        NodeForm.PAD,
        NodeForm.BROADCAST,
        NodeForm.COPY,
        NodeForm.UPDATE,
        NodeForm.LARGEST,
    )
)
"""The forms of ops whose elements are those of their operands."""


def rounded(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The entry computation with collectives of bf16 for those whose results are rounded anyway."""
    exact = _Reads().exact(body)
    return _changed(body, exact).with_exact(frozenset(exact))


def rounded_values(body: DeviceBody, block: Block) -> RoundedValues:
    """Returns the values of a program that are stored in bf16. body: its entry computation, of the block."""
    reads = _Reads()
    reads.exact(body)
    names = {number: value.name for number, value in zip(body.arguments, block.arguments, strict=False)}
    found = _Names(reads, names)
    for each, _, _ in reads.bodies:
        for number in each.order:
            found.add(each, number)
    return RoundedValues(frozenset(found.narrow - found.wide), found.captured)


def rounded_nodes(body: DeviceBody) -> tuple[frozenset[int], dict[int, frozenset[int]]]:
    """Returns the nodes of a program, also inside, that are stored in bf16, and by loop those it captures so.

    body: its entry computation. What is summed over devices is in f32 before.
    """
    reads = _Reads()
    exact = reads.exact(body)
    found, captured, summed = set[int](), dict[int, frozenset[int]](), set[int]()
    for each, _, _ in reads.bodies:
        for number in each.order:
            node = each.nodes[number]
            if node.transfer is not None and node.transfer.kind == "all_reduce":
                summed.update(node.inputs)
            if _is_loop(node):
                found.update(_carried_rounded(each, number, exact))
                read = dict.fromkeys(node.inputs[len(node.bodies[-1].arguments) :])
                captured[number] = frozenset(n for n in read if not reads.is_exact_inside(each, number, n))
            elif not (node.bodies or number in exact or _is_carried(each, node)):
                found.add(number)
    return frozenset(found - summed), captured


def _is_loop(node: DeviceNode) -> bool:
    return bool(node.bodies) and TABLE[node.name].control is Control.LOOP


def _is_carried(body: DeviceBody, node: DeviceNode) -> bool:
    """True for an argument, and for what a loop carries."""
    maker = body.nodes.get(node.inputs[0]) if node.role is NodeRole.ELEMENT else None
    return node.role is NodeRole.ARGUMENT or (maker is not None and _is_loop(maker))


def _carried_rounded(body: DeviceBody, loop: int, exact: set[int]) -> Iterator[int]:
    """The nodes of what a loop carries in bf16: in it, and behind it."""
    bodies = body.nodes[loop].bodies
    behind = {body.nodes[user].index: user for user in body.users.get(loop, ()) if user != ROOT}
    for i, (given, made) in enumerate(zip(bodies[-1].arguments, bodies[-1].results, strict=False)):
        if given not in exact and made not in exact:
            yield from (each.arguments[i] for each in bodies)
            if i in behind:
                yield behind[i]


@dataclass
class _Names:
    """Collects the names of what is rounded, and of what is not. names: of nodes."""

    reads: _Reads
    names: dict[int, Name]
    narrow: set[Name] = field(default_factory=set[Name])
    wide: set[Name] = field(default_factory=set[Name])
    captured: dict[int, frozenset[Name]] = field(default_factory=dict[int, "frozenset[Name]"])

    def add(self, body: DeviceBody, number: int) -> None:
        node = body.nodes[number]
        step = node.step
        if step is None or node.role not in (NodeRole.OP, NodeRole.ELEMENT, NodeRole.SENT):
            return
        if node.role is NodeRole.SENT and TABLE[step.record.name].collective is None:
            return
        if node.bodies and TABLE[node.name].control is Control.LOOP:
            self._add_loop(body, number, step)
        elif not node.bodies and node.index < len(step.results):
            self.names[number] = name = step.results[node.index]
            if not step.blocks:
                self._note(name, number not in self.reads.found)

    def _note(self, name: Name, is_narrow: bool) -> None:
        (self.narrow if is_narrow else self.wide).add(name)

    def _add_loop(self, body: DeviceBody, number: int, step: PlannedOp) -> None:
        inner, exact = body.nodes[number].bodies[-1], self.reads.found
        for i, (given, made) in enumerate(zip(inner.arguments, inner.results, strict=False)):
            is_narrow = given not in exact and made not in exact
            for name in (*step.results[i : i + 1], *(block.arguments[i].name for block in step.blocks)):
                self._note(name, is_narrow)
        read = dict.fromkeys(body.nodes[number].inputs[len(inner.arguments) :])
        self.captured[id(step)] = frozenset(
            self.names[n] for n in read if n in self.names and not self.reads.is_exact_inside(body, number, n)
        )


class Reading(Enum):
    """How an op reads its operands.

    EXACTLY: in f32. NOT: rounded. AS_READ: as what reads its result. BY_TYPE: that depends on the node.
    IN_PLACES: as what reads the result in the place of each.
    """

    EXACTLY = auto()
    NOT = auto()
    AS_READ = auto()
    BY_TYPE = auto()
    IN_PLACES = auto()


def reading(record: OpRecord, given: TensorType | None, made: TensorType | None) -> Reading:
    """Returns how an op reads its operands: never by type. given, made: of the first one, and of the result.

    They are those of a device.
    """
    found = _reading(record)
    if found is not Reading.BY_TYPE:
        return found
    form = COMPILED.of(record.name).form
    if form is NodeForm.REDUCE:
        counts = [None if type_ is None else prod(n or 0 for n in type_.shape) for type_ in (given, made)]
        form = NodeForm.RESHAPE if counts[0] == counts[1] and counts[0] is not None else NodeForm.NONE
    return _by_type(record, form, given, made)


def _reading(record: OpRecord) -> Reading:
    """How an op without regions to run reads its operands, as far as all of its kind do."""
    row, seen = TABLE.get(record.name), COMPILED.of(record.name)
    if row is None or row.kind is Family.PRODUCT:
        return Reading.EXACTLY if row is None or not _is_default(record) else Reading.BY_TYPE
    if seen.form is NodeForm.BARRIER:
        return Reading.IN_PLACES
    if row.moves_elements or seen.chooses or seen.form in _MOVING:
        return Reading.AS_READ
    return Reading.BY_TYPE if seen.form in (NodeForm.CONVERT, NodeForm.REDUCE) else Reading.EXACTLY


def _by_type(record: OpRecord, form: NodeForm, given: TensorType | None, made: TensorType | None) -> Reading:
    """How a product, a conversion or a reduction reads its operands. form: see `NodeForm`."""
    if TABLE[record.name].kind is Family.PRODUCT:
        return Reading.EXACTLY if _is_multiplied(record, given, made) else Reading.NOT
    if form is NodeForm.CONVERT:
        return Reading.EXACTLY if made is None or made.element != _NARROW else Reading.NOT
    return Reading.EXACTLY if form is NodeForm.NONE else Reading.AS_READ


@dataclass
class _Reads:
    """Finds the nodes that something reads in f32."""

    found: set[int] = field(default_factory=set[int])
    bodies: list[tuple[DeviceBody, DeviceBody | None, int]] = field(
        default_factory=list[tuple[DeviceBody, "DeviceBody | None", int]]
    )
    _known: dict[int, Reading] = field(default_factory=dict[int, Reading])
    _known_places: dict[int, dict[int, list[int]]] = field(default_factory=dict[int, "dict[int, list[int]]"])
    _known_behind: dict[tuple[int, int], dict[int, int]] = field(
        default_factory=dict[tuple[int, int], "dict[int, int]"]
    )

    def exact(self, entry: DeviceBody) -> set[int]:
        """The nodes of all bodies whose exact values are read, by what reads them and what it is for."""
        self._list(entry, None, -1)
        if entry.exact is not None:
            self.found |= entry.exact
            return self.found
        if len(self.bodies) == 1:
            self._add_of(entry)
            return self.found
        size = -1
        while size != len(self.found):
            size = len(self.found)
            for body, around, loop in reversed(self.bodies):
                for number in reversed(body.order):
                    if number not in self.found and self._is_exact(body, number, around, loop):
                        self.found.add(number)
        return self.found

    def _list(self, body: DeviceBody, around: DeviceBody | None, loop: int) -> None:
        self.bodies.append((body, around, loop))
        for number in body.order:
            for inner in body.nodes[number].bodies:
                self._list(inner, body, number)

    def _add_of(self, body: DeviceBody) -> None:
        """Adds the nodes of a body without others inside: readers come first, and each adds what it reads."""
        found, nodes, reading_of = self.found, body.nodes, self._reading
        found.update(number for number in body.results if number in nodes)
        for number in reversed(body.order):
            node = nodes[number]
            if _is_summed_exactly(node):
                found.add(number)
            if not node.inputs:
                continue
            how = reading_of(body, number, node)
            if how is Reading.EXACTLY or (how is Reading.AS_READ and number in found):
                found.update(node.inputs)
            elif how is Reading.IN_PLACES:
                found.update(self._passing_exactly(body, number))
        found.discard(ROOT)

    def _reading(self, body: DeviceBody, number: int, node: DeviceNode) -> Reading:
        """How a node without bodies reads its inputs: what puts together what neighbours send is moved."""
        step = node.step
        if step is None or node.role is not NodeRole.OP:
            return Reading.AS_READ
        # The program keeps its records, so that their identities are their own.
        found = self._known.get(id(step.record))
        if found is None:
            found = self._known[id(step.record)] = _reading(step.record)
        if found is not Reading.BY_TYPE:
            return found
        held = body.nodes.get(node.inputs[0])
        return _by_type(step.record, body.form(number), held and held.type, node.type)

    def _is_exact(self, body: DeviceBody, number: int, around: DeviceBody | None, loop: int) -> bool:
        return _is_summed_exactly(body.nodes.get(number)) or any(
            self._reads_exactly(body, number, user, around, loop) for user in body.users.get(number, ())
        )

    def _reads_exactly(
        self, body: DeviceBody, number: int, user: int, around: DeviceBody | None, loop: int
    ) -> bool:
        if user == ROOT:
            return around is None or self._carried_exactly(body, number, around, loop)
        node = body.nodes[user]
        if node.bodies:
            return self._passed_exactly(body, user, number)
        how = self._reading(body, user, node)
        if how is Reading.IN_PLACES:
            return number in self._passing_exactly(body, user)
        return how is Reading.EXACTLY or (how is Reading.AS_READ and user in self.found)

    def _passing_exactly(self, body: DeviceBody, barrier: int) -> set[int]:
        """The inputs of a barrier whose results, each of one of them, are read exactly."""
        inputs, passing = body.nodes[barrier].inputs, set[int]()
        for user in self.found.intersection(body.users.get(barrier, ())) - {ROOT}:
            node = body.nodes.get(user)
            if node is None or node.role is not NodeRole.ELEMENT:
                return {*inputs}
            passing.update(inputs[node.index : node.index + 1])
        return passing

    def _carried_exactly(self, body: DeviceBody, number: int, around: DeviceBody, loop: int) -> bool:
        """True if what a loop returns is read exactly: in its condition, its next iteration, or behind it."""
        node = around.nodes[loop]
        if node.step is None or TABLE[node.name].control is not Control.LOOP or body is not node.bodies[-1]:
            return True
        places, behind = self._places(body.results).get(number, ()), self._behind(around, loop)
        read = {behind.get(i, -1) for i in places} | {
            each.arguments[i] for each in node.bodies for i in places
        }
        return not self.found.isdisjoint(read)

    def _places(self, numbers: tuple[int, ...]) -> Mapping[int, Sequence[int]]:
        """By number its places in what a body returns, or a node reads: these live as long as the bodies."""
        found = self._known_places.get(id(numbers))
        if found is None:
            found = self._known_places[id(numbers)] = defaultdict[int, list[int]](list)
            for place, number in enumerate(numbers):
                found[number].append(place)
        return found

    def _behind(self, around: DeviceBody, loop: int) -> Mapping[int, int]:
        """The nodes that read the results of a loop, by the places of these."""
        found = self._known_behind.get((id(around), loop))
        if found is None:
            users = [each for each in around.users.get(loop, ()) if each != ROOT]
            found = {around.nodes[each].index: each for each in users}
            self._known_behind[id(around), loop] = found
        return found

    def _passed_exactly(self, body: DeviceBody, user: int, number: int) -> bool:
        """True if a body that gets a value reads it exactly."""
        node = body.nodes[user]
        places = self._places(node.inputs).get(number, ())
        arguments = node.bodies[-1].arguments
        given = (each.arguments[i] for each in node.bodies for i in places if i < len(each.arguments))
        if not self.found.isdisjoint(given):
            return True
        return any(i >= len(arguments) for i in places) and self.is_exact_inside(body, user, number)

    def is_exact_inside(self, body: DeviceBody, user: int, number: int) -> bool:
        """True if the bodies of a node read a value from around it exactly."""
        return any(self._is_exact(inner, number, body, user) for inner in body.nodes[user].bodies)


def _is_summed_exactly(node: DeviceNode | None) -> bool:
    """True for a scattered sum, which is a fusion of its own by then, and a scatter: it adds up in f32."""
    if node is None:
        return False
    if node.role is NodeRole.OP and node.step is not None:
        return COMPILED.of(node.name).form is NodeForm.SCATTER
    return node.transfer is not None and node.transfer.kind == "reduce_scatter"


def _is_default(record: OpRecord) -> bool:
    """True if a product rounds its operands: at default precision, to bf16, unless it is a kernel."""
    precision = str(record.attributes.get("precision_config"))
    return not COMPILED.of(record.name).is_kernel and "HIGH" not in precision


def _is_multiplied(record: OpRecord, given: TensorType | None, made: TensorType | None) -> bool:
    """True for a product with a vector, or of vectors, on a device: multiplied and added up in f32 instead.

    Source: openxla/xla, `HandleDot` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
    """
    if COMPILED.of(record.name).form is not NodeForm.PRODUCT or made is None:
        return False
    numbers = DotDimensions.of(record.attributes)
    counts = [type_.rank if type_ is not None else 0 for type_ in record.operands]
    batch, contracted = len(numbers.batching[0]), len(numbers.contracting[0])
    free = made.shape[batch:]
    if len(free) != sum(counts) - 2 * (batch + contracted):
        return False
    left = counts[0] - batch - contracted
    sizes = given.shape if given is not None else ()
    summed = [sizes[i] for i in numbers.contracting[0]] if len(sizes) == counts[0] else [0]
    return any(prod(size or 0 for size in each) == 1 for each in (free[:left], free[left:], summed))


def _changed(body: DeviceBody, exact: set[int]) -> DeviceBody:
    new = dict(_rounded(body, exact))
    for number in body.order:
        node = body.nodes[number]
        if node.bodies:
            new[number] = replace(node, bodies=tuple(_changed(inner, exact) for inner in node.bodies))
    return body.edited(new, {})


def _rounded(body: DeviceBody, exact: set[int]) -> Iterator[tuple[int, DeviceNode]]:
    for number in body.order:
        node, transfer = body.nodes[number], body.nodes[number].transfer
        if transfer is None or transfer.collective.element_type != _WIDE or number in exact:
            continue
        collective = replace(transfer.collective, element_type=_NARROW, key=None)
        yield number, replace(node, transfer=transfer.changed(_CHANGE, collective))
