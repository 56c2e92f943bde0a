"""Products that are loops of permutes (windowed einsum) on TPUs: what they read, and hold in an iteration.

    x, shard, other shard, result -> x, shard, other shard, result

A loop carries its operands, so that nothing is computed in the product, nor the product in what reads it.
The result is written in place. In both directions an iteration multiplies two shards at once, which it adds
to the result, or puts into it; parts of a sum are made two at once, too. Source: 160 loops in 17 programs
that XLA:TPU compiled for v5p; openxla/xla, `EmitWindowedDotGeneral` in xla/service/spmd/dot_handler.cc.
Not here: which products are loops (`xla/spmd/einsum_loops.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shardy_py.mlir.dialects.stablehlo import DotGeneralOp, DynamicSliceOp
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.schedule import IN_LOOP, Event
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent

if TYPE_CHECKING:
    from shardy_py.xla.buffers.stored import StoredBlock

_AT_ONCE = 2
"""The shards that an iteration multiplies."""
_UNROLLED = 4
"""With so many devices a loop in both directions has one iteration, and is unrolled."""


def products_in_loops(
    steps: Sequence[PlannedOp], sent: Iterable[Sequence[Sent]], users: Mapping[Name, Sequence[int]]
) -> set[int]:
    """Returns the products that are loops, by number.

    sent: of each step. users: the steps that read a value.
    """
    found = set[int]()
    makers: dict[Name, int] = {}
    for number, (step, own) in enumerate(zip(steps, sent, strict=True)):
        makers |= dict.fromkeys(step.results, number)
        for each in own:
            gathered = is_gathered(each.collective)
            if gathered is not None:
                maker = (makers[name] for name in step.operands if name in makers)
                found.update(users.get(step.results[0], ()) if gathered else maker)
    return {number for number in found if STORED.of(steps[number].record.name).is_product}


def is_gathered(collective: PlannedCollective) -> bool | None:
    """Returns whether a permute sends shards of an operand, or parts of a sum; None: it is of no loop."""
    instead = collective.instead
    if instead is None or instead.group_size == _UNROLLED:
        return None
    return instead.kind == "all_gather"


def with_loops_of_products(block: StoredBlock, events: Sequence[Event]) -> list[Event]:
    """The events with what products that are loops start with, and what an iteration makes.

    Notes the sizes of these.
    """
    gathered: dict[Name, Event] = {}
    summed: dict[Name, PlannedCollective] = {}
    for event in events:
        match None if event.sent is None else is_gathered(event.sent):
            case True:
                gathered[event.makes[0]] = event
            case False:
                summed[event.reads[0]] = _instead(event)
            case None:
                pass
    if not gathered and not summed:
        return [*events]
    readers = Counter(name for event in events for name in event.reads)
    own = {name for event in events for name in event.makes if readers[name] == 1}
    slices = {
        event.makes[0]: event
        for event in events
        if event.step is not None and event.step.record.name == DynamicSliceOp.name
    }
    found: list[Event] = []
    turned = dict[Name, Name]()
    for event in events:
        step = event.step
        if step is None or event.sent is not None or not STORED.of(step.record.name).is_product:
            found.append(event)
        elif received := next((name for name in event.reads if name in gathered), None):
            found += _gathered(block, event, gathered[received], own)
        elif event.makes[0] in summed:
            devices = summed[event.makes[0]].group_size
            sliced = {name: slices[name] for name in event.reads if name in slices}
            own_slices = {
                name: each.reads[0] for name, each in sliced.items() if _is_sliced(each, step, devices)
            }
            found += _summed(block, event, own_slices, turned)
        else:
            found.append(event)
    left = {name for event in found for name in event.reads} | {*block.results, *block.returned}
    return [
        event for event in found if not event.makes or event.makes[0] in left or event.makes[0] not in slices
    ]


def _gathered(block: StoredBlock, event: Event, sent: Event, own: Collection[Name]) -> Iterator[Event]:
    """The events of a loop that sends shards. sent: what it receives before. own: values that are read once.

    It starts with memory for the result, its shard and the other one, and receives two in an iteration.
    """
    made, (received,), sizes = event.makes[0], sent.makes, block.sizes
    instead = _instead(sent)
    start, source = _value(block, made, "start", sizes[made]), sent.reads[0]
    shard = source
    if source not in own:
        shard = _value(block, made, "shard", sizes[received])
        yield Event(None, (source,), (shard,))
    carried = _value(block, made, "result", sizes[made])
    yield Event(None, (received,), (start,))
    yield Event(None, (start,), (carried,), over=(start,), is_update=True)
    size = sizes[made]
    if not _is_summed(event.step, received, instead):
        size = _AT_ONCE * size // instead.group_size
    over = carried, received, shard  # which are in the memory where the loop has them
    loop = event._replace(reads=(*event.reads, shard, carried), over=over, over_each=(), is_update=True)
    yield from _with_scratch(block, loop, [sizes[received], sizes[received], size], (carried,))


def _summed(
    block: StoredBlock, event: Event, sliced: Mapping[Name, Name], turned: dict[Name, Name]
) -> Iterator[Event]:
    """The events of a loop that sends parts of sums, of which it makes two at once, and receives two.

    It slices its operands itself. The first one has the dimensions that are summed in lanes: a copy, if they
    are not. sliced: by slice what it is of. turned: copies by what they are of; receives another one.
    """
    size, step = block.sizes[event.makes[0]], event.step
    instead = {**sliced}
    lhs = block.stored_name(step.operands[0])
    source = instead.get(lhs, lhs)
    if lhs in event.reads and not _sums_lanes(step):
        if source not in turned:
            turned[source] = _value(block, source, "turned", block.sizes[source])
            yield Event(None, (source,), (turned[source],))
        instead[lhs] = turned[source]
    loop = event.renamed(lambda name: instead.get(name, name))
    yield from _with_scratch(block, loop, [size, size, size, _AT_ONCE * size])


def _is_sliced(event: Event, step: PlannedOp, devices: int) -> bool:
    """True for a slice of what a product makes one of so many parts of, which the loop takes itself."""
    given, made = event.step.record.operands[0], event.step.record.results[0]
    if given is None or made is None:
        return False
    parts = [(whole or 0) // (part or 1) for whole, part in zip(given.shape, made.shape, strict=True)]
    is_operand = any(type_ is not None and type_.shape == made.shape for type_ in step.record.operands)
    return is_operand and sorted(parts)[-2:] in ([devices], [1, devices])


def _sums_lanes(step: PlannedOp) -> bool:
    """True if a product sums over the last dimension of its first operand."""
    type_ = step.record.operands[0]
    if step.record.name != DotGeneralOp.name or type_ is None:
        return True
    return type_.rank - 1 in DotDimensions.of(step.record.attributes).contracting[0]


def _instead(event: Event) -> PlannedCollective:
    """The collective that a loop has its permutes instead of."""
    instead = None if event.sent is None else event.sent.instead
    assert instead is not None
    return instead


def _is_summed(step: PlannedOp, shard: Name, instead: PlannedCollective) -> bool:
    """True if shards are of a dimension that the product sums over."""
    sizes = zip(instead.held_shape, instead.made_shape, strict=False)
    grown = [d for d, (own, whole) in enumerate(sizes) if own != whole]
    if step.record.name != DotGeneralOp.name or shard not in step.operands:
        return True
    side = step.operands.index(shard)
    return not {*grown}.isdisjoint(DotDimensions.of(step.record.attributes).contracting[side])


def _with_scratch(
    block: StoredBlock, event: Event, sizes: Sequence[int], after: tuple[Name, ...] = ()
) -> Iterator[Event]:
    """An event, and before it what an iteration of it makes. after: values that are there before that."""
    names = [_value(block, event.makes[0], ("iteration", n), size) for n, size in enumerate(sizes)]
    yield from (Event(None, after, (name,)) for name in names)
    yield event._replace(reads=(*event.reads, *names))


def _value(block: StoredBlock, made: Name, what: Hashable, size: int) -> Name:
    name = (IN_LOOP, made, what)
    block.sizes[name] = size
    return name
