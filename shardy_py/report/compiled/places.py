"""The places of collectives in a forecast, as `hlo/collectives/places.py` has it of a compiled program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shardy_py.hlo.collectives.places import Place
from shardy_py.xla.targets.model import DeviceBody, Transfer


def places_of(body: DeviceBody) -> dict[int, Place]:
    """Returns the place of each transfer of a body and those inside, by the identity of its first member."""
    return dict(_Walk().places(body, ()))


class _Walk:
    def __init__(self) -> None:
        self._whole: dict[int, int] = {}

    def places(self, body: DeviceBody, around: Place) -> Iterator[tuple[int, Place]]:
        before, after = self._longest(body)
        for number in body.order:
            node = body.nodes[number]
            place = (*around, (before[number], after[number]))
            if node.transfer is not None:
                yield key_of(node.transfer), place
            for inner in node.bodies:
                yield from self.places(inner, place)

    def _longest(self, body: DeviceBody) -> tuple[Mapping[int, int], Mapping[int, int]]:
        before: dict[int, int] = {}
        weights: dict[int, int] = {}
        for number in body.order:
            node = body.nodes[number]
            inner = max((self._in(each) for each in node.bodies), default=0)
            weights[number] = 1 if node.transfer is not None else inner
            before[number] = max((before.get(each, 0) for each in node.inputs), default=0) + weights[number]
        after = dict.fromkeys(body.order, 0)
        for number in reversed(body.order):
            after[number] += weights[number]
            for each in body.nodes[number].inputs:
                if each in after:
                    after[each] = max(after[each], after[number])
        return before, after

    def _in(self, body: DeviceBody) -> int:
        if id(body) not in self._whole:
            self._whole[id(body)] = max(self._longest(body)[0].values(), default=0)
        return self._whole[id(body)]


def key_of(transfer: Transfer) -> int:
    """Returns the key of a transfer: the identity of the first collective that it does the work of."""
    return id(transfer.members[0]) if transfer.members else 0
