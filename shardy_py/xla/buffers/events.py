"""The events of the steps of a block on chips, in program order: what is sent, the steps, and sums.

What comes from others is sent before a step, and sums of results come after it. Some are written over what
they are made of. Source: openxla/xla, the collectives of xla/service/gpu/ and what XLA allocates for small
programs on H100 and TPU. Not here: the events on the host (`host_steps.py`), their order (`schedule.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from shardy_py.indexing.layout import element_type
from shardy_py.ops import TABLE, Control, Storage, TensorType
from shardy_py.xla.buffers.facet import STORED, Tiled
from shardy_py.xla.buffers.local_sizes import ELEMENT_BYTES, measured, measured_part
from shardy_py.xla.buffers.read_there import note_used
from shardy_py.xla.buffers.schedule import Event
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp

if TYPE_CHECKING:
    from shardy_py.xla.buffers.fusion import FusedStep
    from shardy_py.xla.buffers.stored import StoredBlock


def events_of(block: StoredBlock, steps: Sequence[PlannedOp], groups: Mapping[int, FusedStep]) -> list[Event]:
    """Returns the events of the steps; notes the sizes of what they make.

    groups: each stored step with all that is fused into it, by its identity.
    """
    events: list[Event] = []
    captured = block.rounded.captured
    sending = block.sent.keys() | {number for number, own in block.originals.items() if own in block.sent}
    is_silent, reorders = sending.isdisjoint, bool(block.in_order)
    copied, updated = set[Name](), set[Name]()
    for step in steps:
        group = groups[id(step)]
        copies: Mapping[Name, Name] = _copies(block, group) if reorders else {}
        if copies:
            new = {name: copy for name, copy in copies.items() if copy not in copied}
            events += (Event(None, (name,), (copy,)) for name, copy in new.items())
            copied.update(new.values())
        if block.setting.sends_apart and (sent := block.sent_for(step)):
            events.append(_sent_alone(block, step, sent[0].collective, updated))
        elif step.blocks or id(step) in captured or copies or not is_silent(map(id, group.members)):
            events += _events(block, step, group)
        else:
            events.append(_alone(block, step, group))
        if block.setting.sends_apart and _is_in_place(block, step, group):
            updated.update(step.results)
    events += (Event(None, (name,), (copy,)) for name, copy in block.returned.items())
    if block.setting.as_compiled:
        made = {*_of_fusions(block, steps, groups)}
        block.in_vmem.returned.update(made.intersection(block.results))
        block.in_vmem.made.update(made.difference(block.results))
        note_used(block, (groups[id(step)] for step in steps))
    return events


def _copies(block: StoredBlock, group: FusedStep) -> Mapping[Name, Name]:
    """The copies in another order that a step reads, also for a convolution that is computed in it."""
    found, (*inner, step) = block.in_order, group.members
    others = (each for each in inner if id(each) in found)
    images = [each for each in others if STORED.of(each.record.name).tiled is Tiled.IMAGES]
    if not images:
        return found.get(id(step), {})
    return {name: copy for each in (*images, step) for name, copy in found.get(id(each), {}).items()}


def _alone(block: StoredBlock, step: PlannedOp, group: FusedStep) -> Event:
    """The event of a step without regions for which nothing is sent: nearly all are such."""
    kind, reads = block.kinds.of(step.record), tuple(group.needs)
    over: tuple[Name, ...] = ()
    if kind.is_sent or kind.is_in_place or kind.is_elementwise:
        over = reads if len(group.over) == len(reads) else tuple([n for n in reads if n in group.over])
    each = _over_own_operands(block, step) if kind.row.is_over_operands else ()
    return Event(step, reads, block.makes(step), over=over, is_update=kind.is_in_place, over_each=each)


def _over_own_operands(
    block: StoredBlock, step: PlannedOp, copies: Mapping[Name, Name] = MappingProxyType({})
) -> tuple[tuple[Name, ...], ...]:
    """By result of a sort the operand in its place, if that is read once. copies: what is read instead."""
    if not (block.setting.as_compiled and STORED.of(step.record.name).is_over_operands):
        return ()
    own = [copies.get(name, name) for name in map(block.stored_name, step.operands)]
    return tuple([(name,) if own.count(name) == 1 else () for name in own])


def _is_in_place(block: StoredBlock, step: PlannedOp, group: FusedStep) -> bool:
    """True for an op that updates a value of several elements in its memory."""
    if TABLE[step.record.name].storage is not Storage.IN_PLACE:
        return False
    return _has_elements(block, step.operands[0]) and block.stored_name(step.operands[0]) in group.needs


def _has_elements(block: StoredBlock, name: Name) -> bool:
    """True for a value of several elements."""
    return block.sizes.get(block.stored_name(name), 0) > ELEMENT_BYTES


def _sent_alone(
    block: StoredBlock, step: PlannedOp, collective: PlannedCollective, updated: Collection[Name]
) -> Event:
    """The event of a step that is a collective. updated: what is made in the memory of another value."""
    (source,), (made,) = map(block.stored_name, step.operands), step.results
    waited_for = tuple(block.waited_for(step.operands))
    if collective.kind == "all_reduce":
        event = _sum(block, step, (collective,), (source,))
        event = event._replace(reads=(*event.reads, *waited_for))
        return event._replace(over=(), is_update=False) if source in updated else event
    copies = block.in_order.get(id(step), {})
    held = block.types.get(source)
    is_in_order = held is not None and block.sizes[source] != measured(held, block.setting.target)
    is_in_order &= collective.kind == "all_gather"
    if not (is_in_order or source in copies or "minor_to_major" in step.record.attributes):
        block.sizes[made] = _received(block, collective, held)
    read = copies.get(source, source)
    return Event(step, (read, *waited_for), (made,), collective)


def _events(block: StoredBlock, step: PlannedOp, group: FusedStep) -> list[Event]:
    needs = group.needs
    events, transposed, sums = _sends(block, step, needs)
    for each in group.members[:-1]:
        if block.sent_for(each):  # it is fused with what reads it, but gathers operands before
            inner, moved, _ = _sends(block, each, needs)
            events += inner
            transposed |= moved
    rounded = _rounded_for(block, step)
    events += (Event(None, (name,), (copy,)) for name, copy in rounded.items())
    copies = _copies(block, group)
    rounded |= copies
    needs = [rounded.get(name, name) for name in needs]
    sent = [name for event in events if event.sent is not None for name in event.makes]
    row = TABLE[step.record.name]
    is_moved = (row.is_wire or row.collective is not None) and transposed.isdisjoint(sent)
    if is_moved and sent and not sums and block.sizes[sent[-1]] == sum(block.sizes[n] for n in step.results):
        # What is received is the result.
        return [*events[:-1], events[-1]._replace(makes=step.results)]
    parts = [(name, "parts") for name in step.results] if sums else block.makes(step)
    reads = (*needs, *sent)
    if sent and STORED.of(step.record.name).joins_halo:
        # What comes from neighbours and the operand are put together in memory of their own.
        joined = (id(step), "joined")
        block.sizes[joined] = sum(block.sizes[name] for name in (*needs[:1], *sent))
        events.append(Event(None, reads, (joined,)))
        reads = (joined, *needs[1:])
    apart = {*needs}.difference(rounded.get(name, name) for name in group.over) | transposed
    over = tuple(name for name in _written_over(step, reads, sent) if name not in apart)
    if row.control is Control.LOOP and len(step.operands) == len(parts):
        stored = map(block.stored_name, step.operands)
        over = tuple([copies.get(name, name) for name in stored])  # each by the result in its place
    is_update = row.storage is Storage.IN_PLACE or row.control is Control.LOOP
    each = _over_own_operands(block, step, rounded)
    events.append(Event(step, reads, tuple(parts), over=over, is_update=is_update, over_each=each))
    if sums:
        events.append(_sum(block, step, sums, tuple(parts)))
    return events


def _sends(
    block: StoredBlock, step: PlannedOp, needs: list[Name]
) -> tuple[list[Event], set[Name], list[PlannedCollective]]:
    """The events that send something for a step, what is received in another order of dimensions, and sums.

    XLA gathers along the most major dimension and exchanges along it; what reads the result transposes it.
    """
    events: list[Event] = []
    chains: dict[int, Name] = {}
    transposed, sums = set[Name](), list[PlannedCollective]()
    for number, each in enumerate(block.sent_for(step)):
        collective, operand = each.collective, each.operand
        if collective.kind == "all_reduce":
            sums.append(collective)
            continue
        name = (id(step), "sent", number)
        source = [block.stored_name(step.operands[operand])] if operand >= 0 else needs
        # What is sent of an operand does not wait for the others, which may be made much later.
        if operand in chains:
            before = [chains[operand]]
        else:
            before = [event.makes[0] for event in events] if operand < 0 else []
        held = block.types.get(source[0]) if operand >= 0 else None
        block.sizes[name] = int(_received(block, collective, held) * _width(block, collective))
        events.append(Event(step, (*source, *before), (name,), collective))
        if collective.is_strided or collective.kind == "all_to_all":
            transposed.add(name)
        chains[operand] = name
    return events, transposed, sums


def _written_over(step: PlannedOp, reads: tuple[Name, ...], sent: Sequence[Name]) -> tuple[Name, ...]:
    """The operands of a step in whose memory its result may be.

    What a collective of the program itself receives is its result; a sum is written over its operand.
    """
    row = TABLE[step.record.name]
    if row.collective is not None:
        return tuple(sent) or reads
    in_place = row.storage is Storage.IN_PLACE or row.control is Control.LOOP or row.elementwise(step.record)
    return reads if in_place else ()


def _sum(
    block: StoredBlock, step: PlannedOp, sums: Sequence[PlannedCollective], parts: tuple[Name, ...]
) -> Event:
    """The sum of what all devices made, over that if they keep all of it; a part has memory of its own.

    Notes the size of what is added up.
    """
    own = [block.sizes[name] for name in step.results]
    if block.setting.sends_apart:
        whole = [block.sizes[name] for name in parts]
    else:
        whole = [max(sums[0].held_bytes, *own)] if len(parts) == 1 else own
        block.sizes |= zip(parts, whole, strict=True)
    kind = (sums[0].kind, sums[0].element_type, sums[0].group, sums[0].group_size)
    over = parts if whole == own else ()
    is_update = bool(over) and block.setting.as_compiled
    return Event(None, parts, step.results, kind=kind, sums=tuple(sums), over=over, is_update=is_update)


def with_joined_sums(events: Sequence[Event], joined: Mapping[int, int]) -> list[Event]:
    """Returns events in program order with one for all sums that one op makes, in the place of the last.

    Of some sums each device keeps a part. joined: see `StoredBlock`.
    """
    groups: dict[int, list[Event]] = {}
    for event in events:
        summed = _summed(event)
        if summed and (op := joined.get(id(summed[-1]))) is not None:
            groups.setdefault(op, []).append(event)
    if not any(len(group) > 1 for group in groups.values()):
        return [*events]
    last = {id(group[-1]): group for group in groups.values()}
    inner = {id(event) for group in groups.values() for event in group} - last.keys()
    return [_one(last.get(id(event), [event])) for event in events if id(event) not in inner]


def _summed(event: Event) -> tuple[PlannedCollective, ...]:
    """The collectives that an event sums, in full or in parts."""
    sent = event.sent
    return event.sums if sent is None or sent.kind != "reduce_scatter" else (sent,)


def _one(group: Sequence[Event]) -> Event:
    """The event of several sums."""
    if len(group) == 1:
        return group[0]
    over = tuple(name for event in group for name in event.over)
    makes = tuple(name for event in group for name in event.makes)
    return Event(
        None,
        tuple(name for event in group for name in event.reads),
        makes,
        kind=group[0].kind,
        sums=tuple(each for event in group for each in _summed(event)),
        over=over,
        is_update=len(over) == len(makes),
    )


def _received(block: StoredBlock, collective: PlannedCollective, held: TensorType | None) -> int:
    """The bytes of the buffer that a collective writes. held: the type of its operand, if that is known.

    On TPUs it has the tiles of the operand.
    """
    gathers = collective.kind == "all_gather"
    is_apart = block.setting.sends_apart
    shape = (
        collective.made_shape if gathers or (is_apart and collective.made_shape) else collective.held_shape
    )
    is_tiled = gathers or is_apart or collective.kind == "collective_permute"
    if block.setting.on_tpu and is_tiled and held is not None and shape and len(shape) == held.rank:
        return measured_part(shape, held)
    return collective.held_bytes * (collective.group_size if gathers else 1)


def _width(block: StoredBlock, collective: PlannedCollective) -> float:
    """The bytes of an element that a collective sends in the end, by those of one that is planned."""
    sent = block.narrowed.get(id(collective))
    return 1 if sent is None else element_type(sent).bits / element_type(collective.element_type).bits


def _rounded_for(block: StoredBlock, step: PlannedOp) -> dict[Name, Name]:
    """The copies in bf16 of what a loop reads from around it in that type; notes their sizes."""
    found: dict[Name, Name] = {}
    for name in block.rounded.captured.get(id(step), ()):
        stored = block.stored_name(name)
        type_ = block.types.get(stored)
        if type_ is not None and type_.element == "f32":
            found[stored] = copy = ("rounded", stored)
            block.sizes[copy] = measured(replace(type_, element="bf16"), block.setting.target)
    return found


def _of_fusions(
    block: StoredBlock, steps: Sequence[PlannedOp], groups: Mapping[int, FusedStep]
) -> Iterator[Name]:
    """The values that may be in VMEM: made by fusions without a product, and not permuted."""
    from shardy_py.xla.buffers.product_flops import flops  # modules that are needed for some TPUs only
    from shardy_py.xla.buffers.tpu.sparse_cores import is_on_sparse_cores

    kept = set[Name]()
    for step in () if block.setting.sends_apart else steps:
        for each in block.sent_for(step):
            if each.collective.kind == "collective_permute":
                kept.update(block.stored_name(name) for name in step.operands)
    for step in steps:
        if is_on_sparse_cores(step.record):
            kept.update(map(block.stored_name, step.operands))
    for step in steps:
        kinds = [block.kinds.of(each.record) for each in groups[id(step)].members]
        is_fused = sum(not kind.row.is_always_fused for kind in kinds) > 1
        if any(kind.row.is_product for kind in kinds):
            members = groups[id(step)].members
            block.in_vmem.products[id(step)] = sum(flops(each, block.types) for each in members)
            block.in_vmem.computed[id(step)] = frozenset(
                block.stored_name(name)
                for each, kind in zip(members, kinds, strict=True)
                if kind.is_elementwise and not kind.is_alias
                for name in each.operands
            )
        is_plain = not any(
            kind.row.is_product or kind.is_alone_on_tpu or kind.row.tiled is not Tiled.ANY for kind in kinds
        )
        if is_fused and is_plain and not (block.sent_for(step) or step.blocks):
            yield from (name for name in step.results if name not in kept)
