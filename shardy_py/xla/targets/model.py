"""The program of one device as a graph of nodes, and the collectives in it, which passes change.

A node is a value that a device computes, receives or slices. Bodies are the entry computation, and those of
loops and branches. Not here: how programs become graphs (`build.py`), what passes change.

>>> a, b = DeviceNode(NodeRole.ARGUMENT), DeviceNode(NodeRole.OP, (0,))
>>> body = DeviceBody({0: a, 1: b}, (0,), (1,))
>>> body.order, body.users[0]
((0, 1), [1])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum, auto
from functools import cached_property
from math import prod
from typing import Final

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.ops import TensorType, combiners
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.facet import COMPILED, NodeForm

ROOT: Final = -1
"""Stands for the results of a body among the users of a node: one tuple."""
ADD: Final = combiners.ADD.op


@dataclass(frozen=True, slots=True)
class PassChange:
    """A change that a pass made to a collective. made_by: XLA's name of the pass. reason: as a phrase."""

    made_by: str
    reason: str


MERGED: Final = PassChange("cse", "equal collectives of one value are one")


@dataclass(frozen=True, slots=True)
class Transfer:
    """A collective in the program of a device.

    members: the planned collectives that it does the work of. reduction: the op that combines values, of an
    all_reduce or reduce_scatter. changes: those of passes, in their order.
    """

    collective: PlannedCollective
    members: tuple[Sent, ...] = ()
    reduction: str = ADD
    changes: tuple[PassChange, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the collective."""
        return self.collective.kind

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of what each device has after it."""
        return self.collective.made_shape or self.collective.held_shape

    @property
    def result_bytes(self) -> int:
        """The bytes of what each device has after one run."""
        return -(-prod(self.result_shape) * element_type(self.collective.element_type).bits // 8)

    def changed(self, change: PassChange, collective: PlannedCollective | None = None) -> Transfer:
        """The transfer after a pass."""
        return replace(self, collective=collective or self.collective, changes=(*self.changes, change))


@dataclass(frozen=True, slots=True)
class RoundedValues:
    """The values of f32 that XLA:TPU has in bf16 instead, by their names in the program.

    made: results of steps, with what loops carry. captured: by the identity of a loop what it reads from
    around it in bf16, so that it is converted before the loop where it is exact.
    """

    made: frozenset[Name] = frozenset()
    captured: Mapping[int, frozenset[Name]] = field(default_factory=dict[int, "frozenset[Name]"])


class NodeRole(Enum):
    """The role of a node.

    ARGUMENT: of its body, at `index`. OP: a step. ELEMENT: result `index` of the step that is its input.
    SENT: what a collective receives. SLICE: the part of the input that this device keeps.
    """

    ARGUMENT = auto()
    OP = auto()
    ELEMENT = auto()
    SENT = auto()
    SLICE = auto()


@dataclass(slots=True, eq=False)  # not frozen, which would triple the time to make it
class DeviceNode:
    """A value of a device; never changed.

    type: what a device holds; None for others than tensors. tiling: of a slice, where each device's part
    lies, if it is known. bodies: those that a step runs; trips: how often, in one run of the step.
    """

    role: NodeRole
    inputs: tuple[int, ...] = ()
    type: TensorType | None = None
    step: PlannedOp | None = None
    transfer: Transfer | None = None
    tiling: Tiling | None = None
    index: int = 0
    bodies: tuple[DeviceBody, ...] = ()
    trips: int = 1

    @property
    def name(self) -> str:
        """The name of the op; "" for other nodes."""
        return self.step.record.name if self.role is NodeRole.OP and self.step is not None else ""


@dataclass(frozen=True)
class DeviceBody:
    """A computation. arguments, results: nodes; the results of a body may be nodes of those around it.

    exact: of an entry computation, all nodes, also inside, that something reads in f32; None if not known.
    kept: what reports make of it, by kind: the same for all of them.
    """

    nodes: Mapping[int, DeviceNode]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    captured: frozenset[int] = field(default=frozenset())
    exact: frozenset[int] | None = field(default=None, compare=False, repr=False)
    kept: dict[type, object] = field(
        init=False, default_factory=dict[type, object], compare=False, repr=False
    )

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes that the results need, in XLA's post-order: operands first, from left to right."""
        return self._order({})

    @cached_property
    def without_barriers(self) -> tuple[tuple[int, ...], Mapping[int, tuple[int, ...]]]:
        """The nodes in post-order, and what each reads, once XLA has removed optimization barriers."""
        passed = {
            number: (self.nodes[node.inputs[0]].inputs[node.index],)
            for number, node in self.nodes.items()
            if node.role is NodeRole.ELEMENT and self._is_barrier(node.inputs[0])
        }
        order = self.order if not passed else self._order(passed)
        return order, {number: passed.get(number, self.nodes[number].inputs) for number in order}

    def _is_barrier(self, number: int) -> bool:
        node = self.nodes.get(number)
        if node is None or COMPILED.of(node.name).form is not NodeForm.BARRIER or node.step is None:
            return False
        return len(node.inputs) == len(node.step.operands)

    def _order(self, passed: Mapping[int, tuple[int, ...]]) -> tuple[int, ...]:
        """The post-order of nodes. passed: what some of them read instead of their inputs."""
        found: list[int] = []
        entered: set[int] = set()
        left = [number for number in reversed(self.results) if number >= 0]
        nodes = self.nodes
        pop, append, enter = left.pop, found.append, entered.add
        while left:
            number = pop()
            if number < 0:  # all that the node behind it needs is there
                append(~number)
            elif number not in entered and number in nodes:
                enter(number)
                inputs = passed.get(number) or nodes[number].inputs
                if entered.issuperset(inputs):
                    append(number)
                else:
                    left.append(~number)
                    left += [each for each in inputs[::-1] if each >= 0 and each not in entered]
        return tuple(found)

    @cached_property
    def users(self) -> Mapping[int, Sequence[int]]:
        """By node its users, each once, if it has any; `ROOT` for the results."""
        nodes = self.nodes
        found: dict[int, list[int]] = {}
        for number in self.order:
            for each in nodes[number].inputs:
                known = found.get(each)
                if known is None:
                    found[each] = [number]
                elif known[-1] != number:  # a node is visited once
                    known.append(number)
        for each in dict.fromkeys(self.results):
            found.setdefault(each, []).append(ROOT)
        return found

    @cached_property
    def sent(self) -> tuple[int, ...]:
        """The nodes that receive a collective, in post-order."""
        nodes = self.nodes
        return tuple([number for number in self.order if nodes[number].transfer is not None])

    @cached_property
    def sends(self) -> bool:
        """True if it receives a collective, or a body inside does."""
        return bool(self.sent) or any(
            inner.sends for number in self.order for inner in self.nodes[number].bodies
        )

    def only_user(self, number: int) -> int | None:
        """The one user of a node; None if it has none or several."""
        users = self.users.get(number, ())
        return users[0] if len(users) == 1 else None

    def form(self, number: int) -> NodeForm:
        """How a node only changes the form of its first input; reducing single elements is a reshape."""
        node = self.nodes.get(number)
        if node is None or not node.inputs:
            return NodeForm.NONE
        form = COMPILED.of(node.name).form
        if form is not NodeForm.REDUCE:
            return form
        source = self.nodes.get(node.inputs[0])
        types = node.type, None if source is None else source.type
        sizes = [None if type_ is None else prod(size or 0 for size in type_.shape) for type_ in types]
        return NodeForm.RESHAPE if sizes[0] == sizes[1] and sizes[0] is not None else NodeForm.NONE

    @property
    def read_around(self) -> Iterator[int]:
        """The nodes of bodies around it that the body reads."""
        read = (number for node in self.nodes.values() for number in node.inputs)
        return (number for number in (*read, *self.results) if number >= 0 and number not in self.nodes)

    def transfer(self, number: int) -> Transfer | None:
        """The collective that a node receives; None for other nodes."""
        node = self.nodes.get(number)
        return None if node is None else node.transfer

    def edited(self, new: Mapping[int, DeviceNode], instead: Mapping[int, int]) -> DeviceBody:
        """The body with new nodes, and with others read instead of some, also by new nodes."""
        if not new and not instead:
            return self
        if not instead and all(self._reads_alike(*pair) for pair in new.items()):
            return self._in_this_order({**self.nodes, **new}, None)
        if not instead and (skipped := self._skipped(new)) is not None:
            return self._without(skipped, new)
        ends = {number: _end(number, instead) for number in instead}
        nodes = {**self.nodes, **new}
        readers = {user for number in ends for user in self.users.get(number, ()) if user != ROOT}
        for number in (*readers, *new):
            nodes[number] = _redirected(nodes[number], ends)
        results = tuple([ends.get(each, each) for each in self.results]) if ends else self.results
        return DeviceBody(nodes, self.arguments, results, self.captured)

    def with_exact(self, exact: frozenset[int]) -> DeviceBody:
        """The body, which knows the nodes that something reads in f32."""
        return self._in_this_order(self.nodes, exact)

    def _reads_alike(self, number: int, node: DeviceNode) -> bool:
        """True if a node reads what the one of its number in the body does."""
        own = self.nodes.get(number)
        return own is not None and own.inputs == node.inputs

    def _skipped(self, new: Mapping[int, DeviceNode]) -> dict[int, tuple[int, int]] | None:
        """The nodes that new ones no longer read, each with the new one, and the last node before it.

        For new nodes that read what another one reads that was before them, through nodes of one input and
        one user each. None if some new nodes are others, or users are not known yet.
        """
        if "users" not in self.__dict__:
            return None
        found: dict[int, tuple[int, int]] = {}
        for number, node in new.items():
            own = self.nodes.get(number)
            if own is None or number in found:
                return None
            chain, inputs, user = list[int](), own.inputs, number
            while inputs != node.inputs:
                if len(inputs) != 1 or inputs[0] in new or self.only_user(inputs[0]) != user:
                    return None
                user = inputs[0]
                chain.append(user)
                inputs = self.nodes[user].inputs
            found.update(dict.fromkeys(chain, (number, user)))
        return found

    def _without(self, skipped: Mapping[int, tuple[int, int]], new: Mapping[int, DeviceNode]) -> DeviceBody:
        """The body with new nodes, and without those that they skip; these come right before them."""
        made = replace(self, nodes={**self.nodes, **new}, exact=None)
        users = {number: known for number, known in self.users.items() if number not in skipped}
        for number, last in dict.fromkeys(skipped.values()):
            for each in dict.fromkeys(new[number].inputs):
                if each in users:
                    users[each] = [number if user == last else user for user in users[each]]
        made.__dict__["order"] = tuple([number for number in self.order if number not in skipped])
        made.__dict__["users"] = users
        return made

    def _in_this_order(self, nodes: Mapping[int, DeviceNode], exact: frozenset[int] | None) -> DeviceBody:
        """The body with nodes that read what its own do, and what follows from that."""
        made = replace(self, nodes=nodes, exact=exact)
        made.__dict__.update((name, known) for name, known in self.__dict__.items() if name in _OF_INPUTS)
        return made


_OF_INPUTS: Final = frozenset({"order", "users"})
"""The properties of a body that follow from what its nodes read."""


def _end(number: int, instead: Mapping[int, int]) -> int:
    while number in instead:
        number = instead[number]
    return number


def _redirected(node: DeviceNode, ends: Mapping[int, int]) -> DeviceNode:
    if ends.keys().isdisjoint(node.inputs):
        return node
    return replace(node, inputs=tuple(ends.get(each, each) for each in node.inputs))
