"""Collectives for which a device surely waits: those that its compiler does not start early.

Others may overlap with products, convolutions and loops that neither need them nor are needed by them;
whether they do is the scheduler's choice. Not here: seconds (`report/time/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from shardy_py.ops import TABLE, Family
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole

SYNCHRONOUS = "synchronous"
ALONE = "nothing to compute meanwhile"


def with_exposure(body: DeviceBody, issued: Sequence[Issued], synchronous: Sequence[str]) -> Iterator[Issued]:
    """The collectives of one computation with why a device waits for each; "" if it may compute meanwhile.

    synchronous: the kinds that the compiler never starts early.
    """
    others = [
        each for each in issued if each.kind not in synchronous and each.parts[0].collective.instead is None
    ]
    tied = _tied(body, others) if others else {}
    for each in issued:
        if each.parts[0].collective.instead is not None:
            yield each  # its own product
        elif each.kind in synchronous:
            yield replace(each, exposed=SYNCHRONOUS)
        else:
            yield replace(each, exposed=ALONE) if tied[id(each)] else each


def _tied(body: DeviceBody, issued: Sequence[Issued]) -> dict[int, bool]:
    """By the identity of each collective whether all that takes time needs it, or is needed by it."""
    order, reads = body.without_barriers
    works = [number for number in order if _is_work(body.nodes[number])]
    bits = {number: 1 << i for i, number in enumerate(works)}
    every = (1 << len(works)) - 1
    needed = _closure(order, reads, bits)
    needing = _users_closure(order, reads, bits)
    found: dict[int, bool] = {}
    for each in issued:
        tied = 0
        for number in each.nodes:
            tied |= needed.get(number, 0) | needing.get(number, 0)
        found[id(each)] = not every & ~tied
    return found


def _closure(
    order: Sequence[int], reads: Mapping[int, Sequence[int]], bits: Mapping[int, int]
) -> dict[int, int]:
    """The bits of a node and of all that it needs, if there are any."""
    found: dict[int, int] = {}
    for number in order:
        own = bits.get(number, 0)
        for each in reads[number]:
            if each in found:
                own |= found[each]
        if own:
            found[number] = own
    return found


def _users_closure(
    order: Sequence[int], reads: Mapping[int, Sequence[int]], bits: Mapping[int, int]
) -> dict[int, int]:
    """The bits of all that needs a node, if there are any."""
    found: dict[int, int] = {}
    for number in reversed(order):
        own = found.get(number, 0) | bits.get(number, 0)
        if own:
            for each in reads[number]:
                found[each] = found.get(each, 0) | own
    return found


def _is_work(node: DeviceNode) -> bool:
    if node.bodies:
        return True
    if node.role is not NodeRole.OP:
        return False
    row = TABLE.get(node.name)
    return row is not None and row.kind is Family.PRODUCT
