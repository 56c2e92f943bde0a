"""The events of a block in the order of XLA, with copies of what results would be written over too early.

Not here: what is fetched meanwhile (`fetched.py`), which orders there are (`schedule.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from shardy_py.ops import TABLE, Control
from shardy_py.xla.buffers.carried import (
    copied,
    with_copies,
    with_copies_at_end,
    with_copies_for_loops,
    with_copies_for_updates,
)
from shardy_py.xla.buffers.events import with_joined_sums
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.needed_orders import needs_order
from shardy_py.xla.buffers.schedule import Event, ordered_by_reads
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock


def copied_in_order(
    block: StoredBlock, results: Sequence[int], carried: Sequence[Name | None]
) -> Sequence[Event]:
    """Returns the events of a block in order. results, carried: see `StoredBlock.assignment`."""
    if block.setting.on_host:
        events = with_copies_for_loops(block.on_host(results), block.sizes, {*carried})
    else:
        events, members = block.scheduled()
        if block.setting.as_compiled:
            from shardy_py.xla.buffers.first_parts import with_first_parts  # modules that others do not need
            from shardy_py.xla.buffers.several_results import with_fusions
            from shardy_py.xla.buffers.tpu.einsum_loops import with_loops_of_products
            from shardy_py.xla.buffers.tpu.updates_inside import with_updates_inside
            from shardy_py.xla.buffers.tpu.written_parts import with_parts_written

            # Collectives are combined before ops are fused: what two fusions read of one is made at once.
            events = ordered_by_reads(with_joined_sums(events, block.joined)) or events
            given = {value.name for value in block.block.arguments if block.is_entry}
            events = with_loops_of_products(block, events)
            events = with_fusions(block, events, members, block.fusion.shifted)
            kept, products = {*block.results, *block.returned}, block.in_vmem.products
            events = with_updates_inside(events, kept, products, block.stored_name)
            events = with_parts_written(block, events, kept)
            events = with_first_parts(block, events, members)
            events = with_copies_for_updates(events, block.sizes, given.difference(carried))
    events = block.ordered(events)
    taken = taken_by(block, carried)
    first, last = copied(events, taken) if any(name is not None for name in taken) else ((), ())
    if last:
        events, block.results = with_copies_at_end(events, block.sizes, last, block.results, carried)
    if first:
        events = with_copies(events, block.sizes, first)
    return block.ordered(events) if first or last else events


def stored_in_order(block: StoredBlock) -> Iterator[Name]:
    """Yields the values that are stored for the order in which TPUs need or return them."""
    yield from _copied_images(block)
    if block.setting.on_tpu:
        yield from _returned_in_order(block)


def _copied_images(block: StoredBlock) -> Iterator[Name]:
    """Yields the values of which several convolutions read one copy: none computes them then."""
    found = set[tuple[Name, Name]]()
    for step in block.steps if block.in_order else ():
        if STORED.of(step.record.name).tiled is Tiled.IMAGES:
            for pair in block.in_order.get(id(step), {}).items():
                if pair in found:
                    yield pair[0]
                found.add(pair)


def _returned_in_order(block: StoredBlock) -> Iterator[Name]:
    """Yields the values that elementwise ops make of what is in an order of its own, and a transpose returns.

    They are made in that order, as the transpose is a copy into that of the result.
    """
    ordered = set[Name]()
    for step in block.steps:
        reads = map(block.stored_name, step.operands)
        if needs_order(step.record):
            ordered.update(step.results)
        elif TABLE[step.record.name].elementwise(step.record):
            if not ordered.isdisjoint(reads):
                ordered.update(step.results)
        elif COMPILED.of(step.record.name).form is NodeForm.TRANSPOSE and step.results[0] in block.results:
            yield from ordered.intersection(reads)


def taken_by(block: StoredBlock, carried: Sequence[Name | None]) -> dict[Name | None, Name]:
    """Returns by argument the result that takes its memory. carried: see `StoredBlock.assignment`."""
    return {name: made for name, made in zip(carried, block.results, strict=False) if name != made}


def ends_of(block: StoredBlock, step: PlannedOp, inner: Block) -> tuple[list[int], list[Name]]:
    """Returns the sizes of what a region of a step returns to it, and the values that it carries."""
    is_loop = TABLE[step.record.name].control is Control.LOOP
    is_body = is_loop and inner is step.blocks[-1]
    returns = [block.sizes[name] for name in step.results] if is_body or not is_loop else []
    return returns, [value.name for value in inner.arguments] if is_body else []
