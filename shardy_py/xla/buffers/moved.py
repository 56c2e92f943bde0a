"""The bytes that a TPU can copy while ops run: as many as they move, or a product's time allows.

A value stays in VMEM no longer than all of VMEM is copied eight times (`xla_msa_max_overlap_to_mem_size_
async_copy_ratio`), where each loop is taken for five iterations (`xla_tpu_memory_space_assignment_while_
execution_count`): then a training step that scans over layers keeps nothing there from one pass to the other.
Source: openxla/xla, the interval picker of xla/service/memory_space_assignment/. Not here: what is copied
(`fetched.py`), and how long values stay (`vmem.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shardy_py.ops import TABLE, Control
from shardy_py.xla.buffers.read_there import is_constant
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.sliced import is_sliced_alone
from shardy_py.xla.buffers.vmem import MovedMeanwhile
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock
    from shardy_py.xla.spmd.program import Name

ITERATIONS = 5
SLOWER = 1.5
"""How much longer products take for the compiler than at their peak: from 1.3 to 2 it orders values alike."""


def while_kept(block: StoredBlock, events: Sequence[Event]) -> MovedMeanwhile:
    """Returns how long values stay in VMEM while events of a block run."""
    return MovedMeanwhile(_with_iterations(block, events), block.setting.moved_while_kept)


def _with_iterations(block: StoredBlock, events: Sequence[Event]) -> Iterator[float]:
    """The bytes that can be copied while each event runs, and all iterations of a loop."""
    written = written_parts(block)
    for event in events:
        step = event.step
        if step is None or event.sent is not None or TABLE[step.record.name].control is not Control.LOOP:
            own = _sliced_bytes(block, event, written)
            yield max(own, flops_of(block, event) / block.setting.flops_per_byte)
        else:
            inner, inside = block.regions_in_order(step)[-1]
            if inner.in_vmem.copied is None:
                inner.in_vmem.copied = sum(_with_iterations(inner, inside))
            yield ITERATIONS * inner.in_vmem.copied


def written_parts(block: StoredBlock) -> dict[Name, int]:
    """By value in whose memory a part is written, the bytes of that part."""
    return {
        step.results[0]: block.sizes.get(block.stored_name(step.operands[1]), 0)
        for step in block.steps
        if COMPILED.of(step.record.name).form is NodeForm.UPDATE
    }


def _sliced_bytes(block: StoredBlock, event: Event, written: Mapping[Name, int]) -> int:
    """The bytes that an event moves: of what it slices and updates, those of the parts."""
    if is_constant(event):
        return 0
    sizes = block.sizes
    used = block.in_vmem.used_by.get(id(event.step), {}) if event.sent is None else {}
    parts = [written[name] for name in event.makes if name in written]
    updated = {name for i in range(len(event.makes)) if event.updates(i) for name in event.over_at(i)}
    reads = {*event.reads}.difference(updated if parts else ())
    read = sum(min(used.get(name, size), size) for name in reads if (size := sizes.get(name, 0)))
    return read + 2 * sum(parts) + sum(sizes.get(name, 0) for name in event.makes if name not in written)


def bytes_of(
    block: StoredBlock, event: Event, written: Mapping[Name, int]
) -> tuple[dict[Name, int], dict[Name, int]]:
    """Returns the bytes that an event reads and writes of each value: of slices and updates, of the parts."""
    sizes = block.sizes
    if is_constant(event):
        return {}, {}
    used = block.in_vmem.used_by.get(id(event.step), {}) if event.sent is None else {}
    made = {name: written.get(name, sizes.get(name, 0)) for name in event.makes}
    is_part = not written.keys().isdisjoint(made)
    updated = {name for i in range(len(event.makes)) if event.updates(i) for name in event.over_at(i)}
    reads = dict.fromkeys(event.reads)
    read = {n: min(used.get(n, size), size) for n in reads if (size := sizes.get(n, 0))}
    return {n: 0 if is_part and n in updated else size for n, size in read.items()}, made


def moved_meanwhile(block: StoredBlock, event: Event) -> float:
    """Returns the bytes that are copied to VMEM while an event runs, which reads and writes memory as fast.

    A slice or update that is fused with other ops, or whose start is not known, counts as long as its whole
    operand: XLA:TPU fetches what only so there is time for.
    """
    if is_constant(event):
        return 0
    sizes = block.sizes
    if is_sliced_alone(block, event):
        return 2 * sizes.get(event.makes[0], 0)
    return max(time_of(block, event))


def time_of(block: StoredBlock, event: Event) -> tuple[float, float]:
    """Returns the bytes that an event reads and writes, and those that are read while it computes."""
    own = sum(block.sizes.get(name, 0) for name in {*event.reads, *event.makes})
    return own, flops_of(block, event) / block.setting.flops_per_byte


def flops_of(block: StoredBlock, event: Event) -> int:
    """Returns the operations of the products that are computed in an event; 0 of others."""
    return block.in_vmem.products.get(id(event.step), 0) if event.sent is None else 0
