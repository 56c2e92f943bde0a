"""Collectives for which a device surely waits: those that its compiler does not start early.

Others may overlap with products, convolutions and loops that neither need them nor are needed by them;
whether they do is the scheduler's choice. Not here: seconds (`report/time/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shardy_py.ops import TABLE, Family
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.model import DeviceBody, DeviceNode

SYNCHRONOUS = "synchronous"
ALONE = "nothing to compute meanwhile"


def with_exposure(body: DeviceBody, issued: Sequence[Issued], synchronous: Sequence[str]) -> Iterator[Issued]:
    """The collectives of one computation with why a device waits for each; "" if it may compute meanwhile.

    synchronous: the kinds that the compiler never starts early.
    """
    if not issued:
        return
    order, reads = body.without_barriers
    places = {number: i for i, each in enumerate(issued) for number in each.nodes}
    works = [number for number in order if _is_work(body.nodes[number])]
    first = len(issued)
    bits = {number: 1 << (first + i) for i, number in enumerate(works)}
    bits.update({number: 1 << i for number, i in places.items()})
    needs: dict[int, int] = {}
    for number in order:
        found = 0
        for each in reads[number]:
            found |= needs.get(each, 0) | bits.get(each, 0)
        needs[number] = found
    behind = [0] * first
    for i, number in enumerate(works):
        needed = needs[number] & ((1 << first) - 1)
        while needed:
            low = needed & -needed
            behind[low.bit_length() - 1] |= 1 << (first + i)
            needed ^= low
    every = ((1 << len(works)) - 1) << first
    for i, each in enumerate(issued):
        before = 0
        for number in each.nodes:
            before |= needs[number]
        if each.parts[0].collective.instead is not None:
            yield each  # its own product
        elif each.kind in synchronous:
            yield replace(each, exposed=SYNCHRONOUS)
        else:
            yield each if every & ~before & ~behind[i] else replace(each, exposed=ALONE)


def _is_work(node: DeviceNode) -> bool:
    if node.bodies:
        return True
    row = TABLE.get(node.name)
    return row is not None and row.kind is Family.PRODUCT
