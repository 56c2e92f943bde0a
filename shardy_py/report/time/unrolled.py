"""Timed nodes without blocks inside: loops repeated, of branches those that take longest.

Each iteration begins when the one before has ended: a node without seconds, named after the loop, stands
between them. Not here: when nodes run (`timeline.py`), files (`trace.py`, `chakra.py`).

>>> body = TimedBlock((TimedNode("dot", "compute", 2.0),))
>>> loop = TimedBlock((TimedNode("while", "loop", 0.0, inside=(body,), trips=2),))
>>> [(each.node.name, each.after) for each in unrolled(loop)]
[('while', ()), ('dot', (0,)), ('while', (1,)), ('dot', (2,)), ('while', (3,))]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import NamedTuple

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.report.time.graph import TimedBlock, TimedNode
from shardy_py.report.time.interval import Measure, measure

MOST_NODES = 1_000_000
"""Nodes at most, of all iterations."""


class Unrolled(NamedTuple):
    """One run of a node; after: the positions of those that must have ended before."""

    node: TimedNode
    after: tuple[int, ...]


def unrolled(block: TimedBlock) -> list[Unrolled]:
    """Returns all runs of the nodes of a block, each after those it needs.

    Raises:
        ShardyError: there are more than `MOST_NODES`.
    """
    unroller = _Unroller()
    measure(block, unroller.measures)
    unroller.block(block, ())
    return unroller.found


@dataclass
class _Unroller:
    """found: the runs. measures: the times of the blocks inside."""

    found: list[Unrolled] = field(default_factory=list[Unrolled])
    measures: dict[TimedBlock, Measure] = field(default_factory=dict[TimedBlock, Measure])

    def block(self, block: TimedBlock, entry: tuple[int, ...]) -> list[int]:
        """Adds the runs of a block after those of `entry`; returns the last run of each node."""
        last: list[int] = []
        for node in block.nodes:
            after = tuple(dict.fromkeys(last[position] for position in node.after)) or entry
            last.append(self._node(node, after))
        return last

    def _node(self, node: TimedNode, after: tuple[int, ...]) -> int:
        inside = node.inside
        if node.bound == "branches":
            inside = (max(inside, key=lambda block: self.measures[block].serial),)
        if not inside:
            for _ in range(max(1, round(node.times))):
                after = (self._add(node, after),)
            return after[0]
        joint = self._add(replace(node, inside=()), after)
        for _ in range(node.trips):
            for block in inside:
                ends = _ends(block, self.block(block, (joint,)))
                joint = self._add(replace(node, inside=()), ends or (joint,))
        return joint

    def _add(self, node: TimedNode, after: tuple[int, ...]) -> int:
        if len(self.found) >= MOST_NODES:
            what = f"a trace of more than {MOST_NODES:,} ops"
            raise ShardyError.unsupported(what, remedy="loops are unrolled: trace one with fewer iterations")
        self.found.append(Unrolled(node, after))
        return len(self.found) - 1


def _ends(block: TimedBlock, last: Sequence[int]) -> tuple[int, ...]:
    """The runs that no other node of the block needs."""
    needed = {before for node in block.nodes for before in node.after}
    return tuple(run for position, run in enumerate(last) if position not in needed)
