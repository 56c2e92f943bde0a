"""How much faster ops are if a value is in VMEM, in bytes that they need not move to and from HBM.

An op that takes longer for its products than for its operands gains nothing: the number is negative. What ops
in loops gain counts five times, as XLA takes loops for as many iterations. Source: openxla/xla,
`GetMemoryBoundedness` of xla/service/memory_space_assignment/cost_analysis.cc.

Not here: which values are chosen (`choosing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shardy_py.xla.buffers.loops_there import loop_of
from shardy_py.xla.buffers.moved import ITERATIONS, SLOWER, bytes_of, flops_of, written_parts
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.program import Name

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock


def gains(block: StoredBlock, events: Sequence[Event]) -> dict[Name, float]:
    """Returns what the ops of a block gain from each value, with those in its loops and branches."""
    found: dict[Name, float] = {}
    written = written_parts(block)
    for event in events:
        for name, gain in _gains(block, event, written):
            known = found.get(name)
            if known is None:
                found[name] = gain
            else:
                found[name] = known + gain if known > 0 and gain > 0 else max(known, gain)
    return found


def _gains(block: StoredBlock, event: Event, written: Mapping[Name, int]) -> Iterator[tuple[Name, float]]:
    """The gain of an event from each value that it reads or makes."""
    step = event.step
    if step is not None and step.blocks and event.sent is None:
        yield from _inside(block, event)
        return
    read, made = bytes_of(block, event, written)
    computed = flops_of(block, event) * SLOWER / block.setting.flops_per_byte
    moved = sum(read.values()) + sum(made.values())
    for own in (read, made):
        for name, size in own.items():
            yield name, size if moved > computed else moved - computed


def _inside(block: StoredBlock, event: Event) -> Iterator[tuple[Name, float]]:
    """The gain of the ops in a loop or branches from the values around it, and from what it makes."""
    loop = loop_of(block, event)
    if loop is not None:
        inside = gains(loop.inner, loop.events)
        names = [(outer, name) for outer, own in loop.read.items() for name in own]
        names += [(event.makes[n], name) for n, own in loop.replaced.items() for name in own]
        for outer, name in names:
            if name in inside:
                yield outer, inside[name] * (ITERATIONS if inside[name] > 0 else 1)
        return
    for inner, own in block.regions_in_order(event.step):
        inside = gains(inner, own)
        yield from ((block.stored_name(n), inside[n]) for n in inner.block.captured if n in inside)
