"""XLA:TPU's memory in HBM for a program whose values are in VMEM: single elements, and addresses of tuples.

Values of one element are never in VMEM. They are in the memory of results while that is free, and those that
only arithmetic of single elements reads in memory for scalars. What makes a tuple (an op with several
results, a copy into VMEM, a permute, a loop) has the addresses of its parts in memory of its own: 32 bytes,
16 KiB apart. If there is nothing else in HBM, none is allocated. Source: buffers as XLA:TPU assigned them in
200 programs.

Not here: which values are in VMEM (`chips.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from shardy_py.mlir.dialects.stablehlo import PadOp, PartitionIdOp
from shardy_py.ops import TABLE, Family, OpRecord, call_target
from shardy_py.ops.custom_calls import CALL, EIGENVALUES, FACTORS, MATRIX
from shardy_py.ops.dimensions import ScatterDimensions
from shardy_py.xla.buffers.assignment import PLACE, Assignment
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.fetched import is_fetch
from shardy_py.xla.buffers.held import HeldMemory, ResultMemory
from shardy_py.xla.buffers.read_there import computes
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.buffers.sliced import TUPLES, starts_slice
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.program import Name, used
from shardy_py.xla.targets.facet import COMPILED, NodeForm

_IN_VMEM = frozenset((*MATRIX, EIGENVALUES, FACTORS))
"""The kernels of linear algebra, whose results are in VMEM, but for pivots, which are where results will be.

Source: buffers of 9 programs that XLA:TPU compiled for v6e."""


def bytes_beside(block: StoredBlock, assignment: Assignment) -> int:
    """Returns the bytes of addresses if all that is read is fetched, and each op makes a tuple.

    In loops and branches also what is computed where it is read counts, so that the bound is safe.

    XLA:TPU counts what is free between buffers beside the whole, so that almost all counts twice.
    """
    events = [event for event, _ in _all(assignment) if event.reads]
    fetched = {name for event in events for name in event.reads}
    for event in assignment.events:
        for inner in event.step.blocks if event.step is not None and event.sent is None else ():
            fetched.update(map(block.stored_name, used(inner)))
    return 2 * PLACE * (len(fetched) + len(events) + len(block.results))


def addresses(assignment: Assignment) -> int:
    """Returns the bytes of addresses, with what is free between them, where values are in HBM.

    These are those of permutes, loops, ops of several values, and of what is copied into VMEM or back.
    """
    events = [event for event, _ in _all(assignment)]
    tuples = sum(is_fetch(each) or _is_permute(each) or len(each.makes) > 1 for each in events)
    apart = sum(starts_slice(each) or _is_on_sparse_cores(each) for each in events)
    return 2 * PLACE * (tuples + TUPLES * apart)


def may_be_beside(block: StoredBlock, assignment: Assignment) -> bool:
    """Returns whether anything may be in HBM although all values fit into VMEM."""
    events = [*_all(assignment)]
    if any(event.step is not None and event.step.record.name == PartitionIdOp.name for event, _ in events):
        return True  # from its number a device may compute any number of offsets
    offsets = sum(_offsets(block, event, in_loop=of is not assignment) for event, of in events)
    offsets += len({key for event, _ in events for key in _padded_dimensions(event)})
    return (
        offsets > len(block.results) or _has_parts_apart(block, assignment) or _has_values_apart(assignment)
    )


def bytes_apart(assignment: Assignment) -> int:
    """Returns the bytes of what emitters of their own make: that may be in HBM itself."""
    events = ((event, of) for event, of in _all(assignment) if _is_emitted_apart(event))
    return sum(of.sizes[name] for event, of in events for name in event.makes)


def _all(assignment: Assignment) -> Iterator[tuple[Event, Assignment]]:
    """The events of a computation and of those that loops and branches run in it, with their computations."""
    return ((event, of) for of in _computations(assignment) for event in of.events)


def _computations(assignment: Assignment) -> Iterator[Assignment]:
    """A computation, and those that loops and branches run in it."""
    yield assignment
    for regions in assignment.regions:
        for region in regions:
            yield from _computations(region)


def _is_permute(event: Event) -> bool:
    return event.sent is not None and event.sent.kind == "collective_permute"


def _is_emitted_apart(event: Event) -> bool:
    """True for an op with an emitter of its own: a call, or one that makes several values, as a sort."""
    step = event.step
    if step is None or step.blocks or not computes(event) or call_target(step.record) in _IN_VMEM:
        return False
    return _is_call(event) or len(step.results) > 1 or _scatters_elements(step.record)


def _is_call(event: Event) -> bool:
    return event.step is not None and event.sent is None and event.step.record.name.startswith(CALL)


def _scatters_elements(record: OpRecord) -> bool:
    """True for a scatter of single elements, which cores for sparse data run."""
    is_scatter = COMPILED.of(record.name).form is NodeForm.SCATTER
    return is_scatter and not ScatterDimensions.of(record.attributes).offsets


def _is_on_sparse_cores(event: Event) -> bool:
    """True for a scatter that cores for sparse data run, beside others."""
    from shardy_py.xla.buffers.tpu.sparse_cores import is_on_sparse_cores  # needed for some TPUs only

    return event.step is not None and event.sent is None and is_on_sparse_cores(event.step.record)


def _offsets(block: StoredBlock, event: Event, *, in_loop: bool) -> int:
    """The offsets that a device looks up for an event: each is an element in HBM.

    A device looks up which part of an operand it has, or sends, and where that is in the end.
    """
    step, sent = event.step, event.sent
    if step is None:
        return 0
    row = TABLE[step.record.name]
    if sent is not None and _is_permute(event):
        if STORED.of(step.record.name).has_halo:
            return int(in_loop)
        if row.collective is not None and row.collective.names_devices:
            return 0  # the program says which
        return 1 + (sent.held_bytes < block.sizes.get(event.reads[0], 0))
    return int(sent is None and row.kind is Family.INDEXED and bool(block.sent_for(step)))


def _padded_dimensions(event: Event) -> Iterator[tuple[int, int]]:
    """The sharded dimensions that a pad moves elements along: a device looks up its place in each."""
    step = event.step
    if step is not None and event.sent is not None and step.record.name == PadOp.name:
        counts = () if step.targets[0] is None else step.targets[0].dimensions
        yield from ((dimension, count) for dimension, count in enumerate(counts) if count > 1)


def _has_parts_apart(block: StoredBlock, assignment: Assignment) -> bool:
    """True if loops keep parts of sums, and carry all results: devices look up which, once for a group.

    The memory of what loops do not carry is free while they run.
    """
    loops = (event for event in assignment.events if event.step is not None and event.step.blocks)
    carried = {name for event in loops for name in event.makes}
    inner = (event for event, of in _all(assignment) if of is not assignment)
    sums = (event.sums[0] for event in inner if event.sums and not event.over)
    return len({(each.group, each.group_size) for each in sums}) > sum(
        n not in carried for n in block.results
    )


def _has_values_apart(assignment: Assignment) -> bool:
    """True if not all single elements, and what emitters of their own make, are in the memory of results.

    A call may make another value, which the program does not read.
    """
    counts: dict[Name, int] = {}
    for event, _ in _all(assignment):
        if _is_element(event) or _is_emitted_apart(event):
            counts |= dict.fromkeys(event.makes, 1 + _is_call(event))
    slots, found = assignment.held()
    results = ResultMemory(slots)
    for each in found:
        alone = [period._replace(over=()) for period in each.periods]
        for _ in range(max(counts.get(period.value, 0) for period in alone)):
            if results.take(HeldMemory(each.size, alone, each.order), ()) is None:
                return True
    return False


def _is_element(event: Event) -> bool:
    """True if an event makes one element in memory: not by arithmetic, which runs beside vectors."""
    if event.sums:
        return all(prod(each.held_shape) == 1 for each in event.sums)
    step = event.step
    if step is None or event.sent is not None or not event.reads:
        return False
    if TABLE[step.record.name].elementwise(step.record):
        return False
    pairs = zip(step.record.results, step.targets, strict=False)
    shapes = (
        type_.shape if tiling is None else tiling.local_shape([size or 0 for size in type_.shape])
        for type_, tiling in pairs
        if type_ is not None
    )
    return all(prod(size or 0 for size in shape) == 1 for shape in shapes)
