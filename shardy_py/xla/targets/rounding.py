"""Collectives of f32 that XLA:TPU sends in bf16: those whose values only products or conversions round.

    all_reduce(x), read by products at default precision only  ->  of bf16

A value is rounded where it is read, so that XLA rounds it where it is made. Values that only move stay the
same, also those that loops carry. Source: openxla/xla, xla/hlo/transforms/bfloat16_propagation.cc, and what
XLA:TPU makes of small programs. Not here: conversions that the program has (`narrowing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import count

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Control, Family
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import ROOT, DeviceBody, DeviceNode, NodeRole, PassChange

_CHANGE = PassChange("bfloat16-propagation", "only read by products at default precision, or as bf16")
_WIDE, _NARROW = "f32", "bf16"


def rounded(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The entry computation with collectives of bf16 for those whose results are rounded anyway."""
    return _changed(body, _Reads().exact(body))


_Place = tuple[DeviceBody, "DeviceBody | None", int]
"""A body, with that around it and the node there that runs it; (entry, None, -1)."""


@dataclass
class _Reads:
    """Finds the nodes that something reads in f32."""

    found: set[int] = field(default_factory=set[int])
    bodies: list[_Place] = field(default_factory=list["_Place"])

    def exact(self, entry: DeviceBody) -> set[int]:
        """The nodes of all bodies whose exact values are read, by what reads them and what it is for."""
        self._list(entry, None, -1)
        asked = self._asked()
        places = [
            (place, [number for number in reversed(place[0].order) if number in asked])
            for place in reversed(self.bodies)
        ]
        size = -1
        while size != len(self.found):
            size = len(self.found)
            for (body, around, loop), numbers in places:
                for number in numbers:
                    if number not in self.found and self._is_exact(body, number, around, loop):
                        self.found.add(number)
        return self.found

    def _asked(self) -> set[int]:
        """The nodes of collectives that may be rounded, and those that decide whether they are."""
        asked: set[int] = set()
        pending = [(place, number) for place in self.bodies for number in place[0].sent]
        while pending:
            place, number = pending.pop()
            if number not in asked:
                asked.add(number)
                for user in place[0].users.get(number, ()):
                    pending += self._deciding(place, number, user)
        return asked

    def _deciding(self, place: _Place, number: int, user: int) -> Iterator[tuple[_Place, int]]:
        """The nodes that `_reads_exactly` looks at, with their bodies."""
        body, around, loop = place
        if user == ROOT:
            if around is not None:
                outer = next(each for each in self.bodies if each[0] is around)
                yield from ((place, each) for each in body.arguments)
                yield from ((outer, each) for each in around.users.get(loop, ()) if each != ROOT)
            return
        node = body.nodes[user]
        if node.bodies:
            inner = node.bodies[-1]
            yield from (((inner, body, user), each) for each in inner.arguments)
        elif node.role is not NodeRole.OP or _moves(body, user):
            yield place, user

    def _list(self, body: DeviceBody, around: DeviceBody | None, loop: int) -> None:
        self.bodies.append((body, around, loop))
        for number in body.order:
            for inner in body.nodes[number].bodies:
                self._list(inner, body, number)

    def _is_exact(self, body: DeviceBody, number: int, around: DeviceBody | None, loop: int) -> bool:
        return any(
            self._reads_exactly(body, number, user, around, loop) for user in body.users.get(number, ())
        )

    def _reads_exactly(
        self, body: DeviceBody, number: int, user: int, around: DeviceBody | None, loop: int
    ) -> bool:
        if user == ROOT:
            return around is None or self._carried_exactly(body, number, around, loop)
        node = body.nodes[user]
        if node.bodies:
            return self._passed_exactly(node, number)
        if node.role is not NodeRole.OP:
            return user in self.found
        row = TABLE.get(node.name)
        if row is None or row.kind is Family.PRODUCT:
            return row is None or not _is_default(node)
        if body.form(user) is NodeForm.CONVERT:
            return node.type is None or node.type.element != _NARROW
        return user in self.found if _moves(body, user) else True

    def _carried_exactly(self, body: DeviceBody, number: int, around: DeviceBody, loop: int) -> bool:
        """True if what a loop returns is read exactly: in its next iteration, or behind it."""
        node = around.nodes[loop]
        if node.step is None or TABLE[node.name].control is not Control.LOOP or body is not node.bodies[-1]:
            return True
        places = [i for i, each in enumerate(body.results) if each == number]
        behind = {around.nodes[each].index: each for each in around.users.get(loop, ()) if each != ROOT}
        return any(body.arguments[i] in self.found or behind.get(i, -1) in self.found for i in places)

    def _passed_exactly(self, node: DeviceNode, number: int) -> bool:
        """True if a body that gets a value reads it exactly."""
        places = [i for i, each in enumerate(node.inputs) if each == number]
        inner = node.bodies[-1]
        return any(i >= len(inner.arguments) or inner.arguments[i] in self.found for i in places)


def _moves(body: DeviceBody, number: int) -> bool:
    """True if an op moves values, or changes their form."""
    row = TABLE.get(body.nodes[number].name)
    return row is not None and (row.moves_elements or body.form(number) is not NodeForm.NONE)


def _is_default(node: DeviceNode) -> bool:
    """True if a product rounds its operands: at default precision, to bf16."""
    given: object = None if node.step is None else node.step.record.attributes.get("precision_config")
    return "HIGH" not in str(given)


def _changed(body: DeviceBody, exact: set[int]) -> DeviceBody:
    new = dict(_rounded(body, exact))
    for number in body.order:
        node = body.nodes[number]
        if node.bodies:
            new[number] = replace(node, bodies=tuple(_changed(inner, exact) for inner in node.bodies))
    return body.edited(new, {})


def _rounded(body: DeviceBody, exact: set[int]) -> Iterator[tuple[int, DeviceNode]]:
    for number in body.sent:
        node, transfer = body.nodes[number], body.nodes[number].transfer
        if transfer is None or transfer.collective.element_type != _WIDE or number in exact:
            continue
        collective = replace(transfer.collective, element_type=_NARROW, key=None)
        yield number, replace(node, transfer=transfer.changed(_CHANGE, collective))
