"""Timed nodes with the collectives of a report on communication, which has more than the program shows.

What Shardy's partitioner sends for an op is known from the program that it makes, not from reshards alone.
Not here: the nodes themselves (`graph.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace

from shardy_py.report.communication.collect import CollectiveUse
from shardy_py.report.time.graph import TimedBlock, TimedNode, collective_node


def billed(block: TimedBlock, uses: Iterable[CollectiveUse]) -> TimedBlock:
    """Returns a block with the given collectives, each once: those of its nodes stay at their place.

    Others are added at the end, independent of the rest; collectives that are not given take no time.
    """
    pool: dict[Hashable, list[CollectiveUse]] = defaultdict(list)
    for use in uses:
        pool[_key(use, use.times)].append(use)
    kept = _kept(block, pool, 1.0)
    rest = (collective_node(use, float(use.times)) for same in pool.values() for use in same)
    return TimedBlock((*kept.nodes, *rest))


def _kept(block: TimedBlock, pool: dict[Hashable, list[CollectiveUse]], runs: float) -> TimedBlock:
    return TimedBlock(tuple([_kept_node(node, pool, runs) for node in block.nodes]))


def _kept_node(node: TimedNode, pool: dict[Hashable, list[CollectiveUse]], runs: float) -> TimedNode:
    if node.inside:
        each = runs * node.times * node.trips
        return replace(node, inside=tuple(_kept(inner, pool, each) for inner in node.inside))
    if node.use is None:
        return node
    same = pool.get(_key(node.use, round(runs * node.times)))
    if not same:
        return TimedNode(node.name, "memory", 0.0, after=node.after, place=node.place)
    return replace(node, use=same.pop(0))


def _key(use: CollectiveUse, runs: int) -> Hashable:
    return use.kind, use.axes, use.held_bytes, use.cost, runs
