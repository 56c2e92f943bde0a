"""The first shards of scattered sums in loops of one iteration, which are zeros: devices send them once.

A loop of four devices has one iteration, and is none in the end: it starts with sums that are zero, which it
sends in both directions, as all loops of that shape do; XLA merges what is sent for equal ones. Not here: the
loops (`xla/spmd/einsum_loops.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from itertools import count

from shardy_py.xla.spmd.einsum_loops import runs_of_sum
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, PassChange

_SENT_BEFORE = 2
_CHANGE = PassChange("cse", "sums start as zeros, which are sent for the first one")


def zeros_sent_once(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with fewer permutes for all but the first of equal sums in loops of one iteration."""
    seen: set[Hashable] = set()
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer = node.transfer
        instead = None if transfer is None else transfer.collective.instead
        if transfer is None or instead is None or instead.kind != "all_reduce":
            continue
        runs = runs_of_sum(instead.group_size)
        if runs is None:
            continue
        collective = transfer.collective
        key = collective.pairs, collective.held_shape, collective.element_type
        if key in seen:
            times = collective.times * (runs - _SENT_BEFORE) // runs
            made = transfer.changed(_CHANGE, replace(collective, times=times))
            new[number] = replace(node, transfer=made)
        seen.add(key)
    return body.edited(new, {})
