"""A step as a trace in the JSON of Chrome, which Perfetto opens: one device, with a track for each resource.

Nodes run in program order on their track (computation, or the links of axes), each as soon as those that it
needs have ended: a schedule between no overlap and perfect overlap. Source of the format: the document "Trace
Event Format". Not here: traces of all devices for simulators (`chakra.py`).

    write_text(path, trace_text(report))
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shardy_py.base.json_values import JsonObject
from shardy_py.report.time.graph import TimedNode
from shardy_py.report.time.unrolled import Unrolled, unrolled

if TYPE_CHECKING:
    from shardy_py.report.time.report import TimeReport

_DEVICE = "computation"
_MICRO = 1e6


class Run(NamedTuple):
    """A run of a node on a track, in seconds from the start of the step."""

    node: TimedNode
    track: str
    start: float
    end: float
    after: tuple[int, ...]


def timeline(nodes: Sequence[Unrolled]) -> list[Run]:
    """Returns when each node runs: in order on its track, after those it needs."""
    free: dict[str, float] = {}
    found: list[Run] = []
    for node, after in nodes:
        track = f"links of {', '.join(node.axes)}" if node.bound == "communication" else _DEVICE
        start = max((found[before].end for before in after), default=0.0)
        if node.seconds:
            start = max(start, free.get(track, 0.0))
            free[track] = start + node.seconds
        found.append(Run(node, track, start, start + node.seconds, after))
    return found


def trace_text(report: TimeReport) -> str:
    """Returns the trace of a step.

    Raises:
        ShardyError: it has too many ops.
    """
    runs = timeline(unrolled(report.block))
    tracks = [_DEVICE, *sorted({run.track for run in runs} - {_DEVICE})]
    names = [_name("process_name", 0, f"a device of {report.devices} x {report.hardware.name}")]
    names += [_name("thread_name", number, track) for number, track in enumerate(tracks)]
    number_of = {track: number for number, track in enumerate(tracks)}
    events = [*names, *_events(runs, number_of)]
    seconds = {"overlapped": report.overlapped, "serial": report.serial}
    other = {"hardware": report.hardware.name, "function": report.function, **seconds}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}) + "\n"


def _name(what: str, track: int, name: str) -> JsonObject:
    return {"ph": "M", "name": what, "pid": 0, "tid": track, "args": {"name": name}}


def _events(runs: Sequence[Run], tracks: dict[str, int]) -> Iterator[JsonObject]:
    for number, run in enumerate(runs):
        node, place = run.node, {"pid": 0, "tid": tracks[run.track]}
        if not node.seconds:
            continue
        start, size = run.start * _MICRO, node.seconds * _MICRO
        shown: JsonObject = {"ph": "X", "name": node.name, "cat": node.bound, "ts": start, "dur": size}
        yield {**shown, **place, "args": _arguments(node)}
        for before in run.after:
            earlier = runs[before]
            if earlier.track != run.track and earlier.node.seconds:
                flow = {"name": "needs", "cat": "data", "id": f"{before}-{number}", "pid": 0}
                at = {"tid": tracks[earlier.track], "ts": earlier.start * _MICRO}
                yield {"ph": "s", **flow, **at}
                yield {"ph": "f", "bp": "e", **flow, "tid": tracks[run.track], "ts": start}


def _arguments(node: TimedNode) -> JsonObject:
    found: JsonObject = {"bytes": node.bytes, "location": node.location}
    if node.bound == "communication":
        return found | {"axes": ", ".join(node.axes)}
    return found | {"flops": node.work.all_flops, "bound": node.bound, "fused": list(node.members)}
