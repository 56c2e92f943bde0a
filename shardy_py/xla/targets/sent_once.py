"""Collectives that XLA:TPU sends as one: equal gathers and permutes, and those of several dimensions.

    all_gather(all_gather(x) over a) over b  ->  all_gather(x) over a, b
    all_reduce(all_reduce(x) over a) over b  ->  all_reduce(x) over a, b

XLA's partitioner sends a collective for each dimension that is sharded; a backend may send one for all of
them (`per_dim_ag`, `per_dim_ar` in xla/service/spmd/spmd_partitioner.cc). Seen in what XLA:TPU compiles: a
value that is sharded along two or three dimensions and needed whole, or reduced along them, also only along
some of them, also by a product; if the program itself has a value in between, even one that nothing else
reads, there are two. Equal ones: xla/service/spmd/schedule_aware_collective_ops_cse.cc. Not here: sums of
other sums (`sums.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.model import MERGED, ROOT, DeviceBody, DeviceNode, PassChange
from shardy_py.xla.targets.sends import what_is_sent
from shardy_py.xla.targets.sums import product_of_groups

_GATHER = "all_gather"
_MERGED = (_GATHER, "collective_permute")
_MOST_APART = 100
"""How much farther from the results the users of a gather may be than an equal one, so that both are one.

XLA's flag for it is `xla_tpu_spmd_threshold_for_allgather_cse`."""
_CHANGES = {
    _GATHER: PassChange("XLA:TPU", "the gather of a gather over other devices is one over all of them"),
    "all_reduce": PassChange("XLA:TPU", "a sum along several dimensions is one over all devices of them"),
}


def sent_at_once(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with one gather or sum for one that only another one of the same use reads."""
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        source = node.inputs[0] if node.inputs else -1
        if body.only_user(source) != number:
            continue
        inner_node = new.get(source) or body.nodes.get(source)
        outer, inner = node.transfer, None if inner_node is None else inner_node.transfer
        if outer is None or inner is None or inner_node is None or outer.kind != inner.kind:
            continue
        change = _CHANGES.get(outer.kind)
        if outer.kind != _GATHER and not outer.collective.continues:
            continue
        if change is None or not _is_one_reshard(inner.members[-1], outer.members[0]):
            continue
        group = product_of_groups(inner.collective.group, outer.collective.group)
        if group is None or inner.collective.element_type != outer.collective.element_type:
            continue
        shape = outer.collective.made_shape
        collective = replace(inner.collective, group=group, group_size=len(group), made_shape=shape, key=None)
        made = replace(inner.changed(change, collective), members=(*inner.members, *outer.members))
        new[number] = replace(node, inputs=inner_node.inputs, transfer=made)
    return body.edited(new, {})


def equal_sent_once(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with one gather or permute for equal ones of a value, also of different steps.

    Gathers stay apart where the first one is needed long before the other is made: its result would be kept.
    """
    first: dict[Hashable, int] = {}
    new: dict[int, DeviceNode] = {}
    instead: dict[int, int] = {}
    heights: Mapping[int, int] | None = None
    for number in body.sent:
        node, transfer = body.nodes[number], body.nodes[number].transfer
        collective = None if transfer is None else transfer.collective
        if transfer is None or collective is None or collective.instead is not None:
            continue
        if collective.kind not in _MERGED or not (collective.group or collective.pairs):
            continue
        sources = tuple([instead.get(each, each) for each in node.inputs])
        same = first.setdefault((*what_is_sent(collective), *_which_part(node, collective), *sources), number)
        if same == number:
            continue
        if collective.kind == _GATHER:
            heights = heights or _heights(body)
            last = min(heights[each] for each in (same, *body.users[same]))
            if last > heights[number] + _MOST_APART:
                continue
        kept = new.get(same, body.nodes[same])
        assert kept.transfer is not None
        members = (*kept.transfer.members, *transfer.members)
        new[same] = replace(kept, transfer=replace(kept.transfer.changed(MERGED), members=members))
        instead[number] = same
    return body.edited(new, instead)


def _heights(body: DeviceBody) -> Mapping[int, int]:
    """How far each node is from the results, as XLA counts it: also by its users, one behind the other."""
    found: dict[int, int] = {ROOT: 0}
    for number in reversed(body.order):
        height = 0
        for user in body.users.get(number, ()):
            height = max(height, found[user]) + 1
        found[number] = height
    return found


def _which_part(node: DeviceNode, collective: PlannedCollective) -> Iterator[Hashable]:
    """The devices and the part of a value that a permute sends.

    Pairs are those in the first group of devices, as others may be left out.
    """
    devices = {*collective.group}
    yield tuple(pair for pair in collective.pairs if devices.issuperset(pair))
    yield collective.start
    if collective.pairs and collective.start < 0 and node.step is not None:
        yield id(node.step.record)


def _is_one_reshard(first: Sent, second: Sent) -> bool:
    """True if both are sent for one use of one value, or for one result."""
    return first.step is second.step and first.roots == second.roots
