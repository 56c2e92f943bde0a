"""The time of a block of nodes: one after the other, or with perfect overlap.

Without overlap, the sum. With perfect overlap, at least as long as the device computes, as the links of any
axes are busy, and as the longest chain of nodes that need each other. Iterations of a loop do not overlap.

>>> def node(bound, seconds, *after):
...     return TimedNode("", bound, seconds, axes=("x",) * (bound == "communication"), after=after)
>>> block = TimedBlock((node("communication", 3.0), node("compute", 2.0), node("compute", 2.0, 0)))
>>> measure(block).serial, measure(block).overlapped
(7.0, 5.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add

from shardy_py.base.records import dataclass
from shardy_py.report.time.graph import TimedBlock, TimedNode

COMPUTE, MEMORY = "compute", "memory"


@dataclass(frozen=True, slots=True)
class Measure:
    """The time of a block.

    busy: seconds by resource: "compute", "memory", and the axes of links, joined by commas. serial: their
    sum. overlapped: with perfect overlap. product_flops, flops, transcendentals: of each device.
    """

    busy: Mapping[str, float]
    overlapped: float
    path: tuple[int, ...] = ()

    @property
    def serial(self) -> float:
        """The time without overlap, added as that with overlap is; `sum` rounds otherwise since 3.12."""
        return reduce(add, self.busy.values(), 0.0)


def measure(block: TimedBlock, known: dict[TimedBlock, Measure] | None = None) -> Measure:
    """Returns the time of one run of a block. known: of the blocks inside, which are noted there."""
    known = {} if known is None else known
    durations: list[float] = []
    busy: dict[str, float] = {}
    for node in block.nodes:
        inside = _inside(node, known)
        own = node.seconds * node.times
        durations.append(own + inside.overlapped)
        if own:
            resource = resource_of(node)
            busy[resource] = busy.get(resource, 0.0) + own
        for resource, seconds in inside.busy.items():
            busy[resource] = busy.get(resource, 0.0) + seconds
    length, path = _longest(block, durations)
    on_device = busy.get(COMPUTE, 0.0) + busy.get(MEMORY, 0.0)
    on_links = (seconds for resource, seconds in busy.items() if resource not in (COMPUTE, MEMORY))
    return Measure(busy, max(length, on_device, *on_links, 0.0), path)


def resource_of(node: TimedNode) -> str:
    """Returns what a node keeps busy: "compute", "memory", or the axes of its links."""
    return ", ".join(node.axes) or "?" if node.bound == "communication" else node.bound


def _inside(node: TimedNode, known: dict[TimedBlock, Measure]) -> Measure:
    """The blocks of a loop one after the other, repeated; of branches the one that takes longest."""
    for block in node.inside:
        if block not in known:
            known[block] = measure(block, known)
    parts = [known[block] for block in node.inside]
    if not parts:
        return Measure({}, 0.0)
    if node.bound == "branches":
        return max(parts, key=lambda part: part.serial)
    return _repeated(parts, node.trips)


def _repeated(parts: Iterable[Measure], times: int) -> Measure:
    busy: dict[str, float] = {}
    overlapped = 0.0
    for part in parts:
        overlapped += part.overlapped * times
        for resource, seconds in part.busy.items():
            busy[resource] = busy.get(resource, 0.0) + seconds * times
    return Measure(busy, overlapped)


def _longest(block: TimedBlock, durations: list[float]) -> tuple[float, tuple[int, ...]]:
    """The seconds of the longest chain of nodes, and its nodes: one pass, as nodes are in order."""
    ends: list[float] = []
    before: list[int] = []
    for position, node in enumerate(block.nodes):
        after = node.after
        last = max(after, key=ends.__getitem__) if len(after) > 1 else after[0] if after else -1
        before.append(last)
        ends.append(durations[position] + (ends[last] if last >= 0 else 0.0))
    if not ends:
        return 0.0, ()
    at = max(range(len(ends)), key=ends.__getitem__)
    length, path = ends[at], list[int]()
    while at >= 0:
        path.append(at)
        at = before[at]
    return length, tuple(reversed(path))
