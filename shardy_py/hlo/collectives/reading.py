"""The collectives of a compiled program, in the order in which it comes to them: `collectives_of`.

Those that start and end apart (`all-gather-start`, `async-start`), that a compiler issues inside a fusion, or
in several steps, are one each. Not here: trip counts (`trips.py`), what is sent (`values.py`).

>>> from shardy_py.hlo.text import read_module
>>> found = collectives_of(read_module('''HloModule m
... ENTRY main {
...   p = f32[4] parameter(0)
...   ROOT g = f32[8] all-gather(p), dimensions={0}, replica_groups={{0,1}}
... }'''))
>>> [(each.kind, each.devices, each.made_bytes) for each in found]
[('all_gather', ((0, 1),), 32)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shardy_py.base.records import dataclass
from shardy_py.hlo.collectives.attributes import integer_rows
from shardy_py.hlo.collectives.flow import Flow, RunCount
from shardy_py.hlo.collectives.model import Devices, HloCollective, Overlap, SentValue, element_count
from shardy_py.hlo.collectives.overlap import Timeline
from shardy_py.hlo.collectives.places import CollectivePlaces, Place
from shardy_py.hlo.collectives.values import ValueSurroundings
from shardy_py.hlo.text import NO_ORIGIN, Computation, HloModule, Instruction, Origin, Shape
from shardy_py.hlo.text.frontend import entries

KINDS = {
    opcode: opcode.replace("-", "_")
    for opcode in (
        "all-gather",
        "all-reduce",
        "all-to-all",
        "collective-broadcast",
        "collective-permute",
        "ragged-all-to-all",
        "reduce-scatter",
    )
}
"""The kind of collective of each opcode, as in the op table."""
_CHAIN = "chain_id"
"""The frontend attribute of the steps of one collective of XLA:TPU, in several fusions, also in loops."""
_START = "AsyncCollectiveStart"


def collectives_of(module: HloModule) -> tuple[HloCollective, ...]:
    """Returns the collectives of a module, each once, in the order in which it comes to them."""
    return tuple(_Reader(module).all())


@dataclass(frozen=True, slots=True)
class _Site:
    """A collective instruction in its computation, and the instruction around that a schedule has.

    outer: the same, or the fusion or start that runs its computation.
    """

    around: Computation
    outer: Instruction
    inner: Computation
    sent: Instruction

    @property
    def is_fused(self) -> bool:
        return self.outer.opcode == "fusion"

    @property
    def chain(self) -> str:
        found = entries(str(self.sent.attributes.get("frontend_attributes", "{}")))
        return found.get(_CHAIN, "") if self.is_fused else ""

    @property
    def channel(self) -> object:
        return self.sent.attributes.get("channel_id")

    @property
    def starts(self) -> bool:
        """True for the first step of a chain."""
        return bool(self.chain) and any(
            each.attributes.get("custom_call_target") == _START for each in self.inner.instructions
        )


class _Reader:
    def __init__(self, module: HloModule) -> None:
        self.flow = Flow(module)
        self.values = ValueSurroundings(self.flow)
        self.places = CollectivePlaces(self.flow, self._count)
        self.is_scheduled = module.is_scheduled

    def all(self) -> Iterator[HloCollective]:
        inlined: set[str] = set()
        started = {site.channel for c in self.flow.order for site in self._sites(c, set()) if site.starts}
        for computation in self.flow.order:
            if computation.name in inlined:
                continue
            timeline = Timeline(computation, is_scheduled=self.is_scheduled)
            chains: dict[str, list[_Site]] = {}
            for site in self._sites(computation, inlined):
                if site.chain:
                    chains.setdefault(site.chain, []).append(site)
                else:
                    yield self._made(site, self._overlap(site, timeline))
            for steps in chains.values():
                if steps[0].channel in started and not any(step.starts for step in steps):
                    continue  # one that starts in another computation, around this loop
                places = [timeline.places[step.outer.name] for step in steps]
                overlap = timeline.between(min(places), max(places))
                yield replace(self._made(steps[0], overlap), form=f"in {len(steps)} steps")

    def _sites(self, around: Computation, inlined: set[str]) -> Iterator[_Site]:
        for each in around.instructions:
            if each.opcode.removesuffix("-start") in KINDS:
                yield _Site(around, each, around, each)
            elif each.opcode in ("fusion", "async-start"):
                for inner, _ in self.flow.called(around, each):
                    inlined.add(inner.name)
                    for sent in inner.instructions:
                        if sent.opcode in KINDS:
                            yield _Site(around, each, inner, sent)

    def _count(self, instruction: Instruction) -> int:
        """The collectives that an instruction sends itself: one, also in a fusion."""
        if instruction.opcode.removesuffix("-start") in KINDS:
            return 1
        inner = self.flow.fused(instruction)
        return 0 if inner is None else int(any(each.opcode in KINDS for each in inner.instructions))

    def _made(self, site: _Site, overlap: Overlap) -> HloCollective:
        sent, outer = site.sent, site.outer
        kind = KINDS[sent.opcode.removesuffix("-start")]
        runs = self.flow.runs.get(site.around.name, RunCount())
        results = self._results(site)
        form = ""
        if site.is_fused and kind == "all_reduce" and _elements(results) < _elements(_leaves(sent.shape)):
            kind, form = "reduce_scatter", "in a fusion"
        values = tuple(self._values(site, results))
        channel = sent.attributes.get("channel_id")
        place = outer.position
        return HloCollective(
            outer.name,
            site.around.name,
            kind,
            _devices(sent),
            values,
            self._origin(site),
            runs.times,
            runs.is_estimate,
            channel if isinstance(channel, int) else None,
            overlap,
            form,
            0 if place is None else place.line,
        )

    def _origin(self, site: _Site) -> Origin:
        own = self.values.sources.of(site.sent)
        return self.values.sources.of(site.outer) if own == NO_ORIGIN else own

    def _results(self, site: _Site) -> tuple[Shape, ...]:
        """The shapes of what is received: of the end of what starts and ends apart."""
        if site.chain:
            return _leaves(site.sent.shape)  # a step also returns what it computes meanwhile
        if site.is_fused:
            return _leaves(site.outer.shape)
        done = self._done(site.around, site.outer)
        if done is not None:
            return _leaves(done.shape)
        if not site.outer.opcode.endswith("-start"):
            return _leaves(site.sent.shape)
        return tuple(site.inner.by_name[name].shape for name in site.sent.operands)

    def _done(self, around: Computation, start: Instruction) -> Instruction | None:
        """The instruction that ends what one starts; None if it does not start anything, or has no end."""
        users = self.flow.users(around)
        at = start
        for _ in around.instructions:
            if not at.opcode.endswith(("-start", "-update")):
                return None
            following = users.get(at.name, ())
            found = next((each for each in following if each.opcode.endswith(("-done", "-update"))), None)
            if found is None or found.opcode.endswith("-done"):
                return found
            at = found
        return None

    def _overlap(self, site: _Site, timeline: Timeline) -> Overlap:
        if not site.outer.opcode.endswith("-start"):
            return Overlap()
        done = self._done(site.around, site.outer)
        end = None if done is None else timeline.places[done.name]
        return timeline.between(timeline.places[site.outer.name], end)

    def _values(self, site: _Site, results: tuple[Shape, ...]) -> Iterator[SentValue]:
        """The values that are sent, in order; one that was put together has those of its parts."""
        around, values = site.around, self.values
        origin = self._origin(site)
        if _is_in_pieces(site.sent):
            yield self._pieces(site, origin)
            return
        received = self._received(site)
        for index, operand in enumerate(site.sent.operands):
            name = self._outside(site, operand)
            held = (site.inner if name is None else around).by_name[operand if name is None else name].shape
            made = results[index] if index < len(results) else held
            if name is None:
                yield SentValue(held, made, origin)
                continue
            parts = values.parts(around, name)
            readers = received.get(index, ())
            if len(parts) == 1:
                own = origin if len(site.sent.operands) == 1 else NO_ORIGIN
                yield SentValue(held, made, own, *self._surroundings(site, name, readers))
                continue
            slices, start = values.slices(around, readers), 0
            for part in parts:
                shape = values.shape(around, part)
                read = slices.get(start, ())
                yield SentValue(shape, shape, NO_ORIGIN, *self._surroundings(site, part, read))
                start += element_count(shape)

    def _pieces(self, site: _Site, origin: Origin) -> SentValue:
        """The value whose pieces, one for each device, an exchange has for operands."""
        names = site.sent.operands
        piece = site.inner.by_name[names[0]].shape
        whole = replace(piece, sizes=(len(names), *piece.sizes), dynamic=frozenset(), layout=None)
        first = self._outside(site, names[0])
        if first is None:
            return SentValue(whole, whole, origin)
        received = tuple(name for each in self._received(site).values() for name in each)
        return SentValue(whole, whole, origin, *self._surroundings(site, first, received))

    def _surroundings(
        self, site: _Site, name: str, readers: tuple[str, ...]
    ) -> tuple[tuple[Origin, ...], tuple[Origin, ...], Place]:
        around, values = site.around, self.values
        place = self.places.of(around, name, readers, site.outer.name)
        return values.makers(around, name), values.readers(around, readers), place

    def _outside(self, site: _Site, name: str) -> str | None:
        """The instruction around whose value an operand is, padded maybe; None if it is computed inside."""
        if site.inner is site.around:
            return name
        made = site.inner.by_name[name]
        while made.opcode in ("bitcast", "pad"):
            made = site.inner.by_name[made.operands[0]]
        number = made.parameter
        return None if number is None or number >= len(site.outer.operands) else site.outer.operands[number]

    def _received(self, site: _Site) -> dict[int, tuple[str, ...]]:
        """By the number of a value, the instructions that have it after it was received."""
        end = self._done(site.around, site.outer) or site.outer
        if len(site.sent.operands) == 1:
            return {0: (end.name,)}
        found: dict[int, tuple[str, ...]] = {}
        for user in self.flow.users(site.around).get(end.name, ()):
            index = user.attributes.get("index")
            if user.opcode == "get-tuple-element" and isinstance(index, int):
                found[index] = (*found.get(index, ()), user.name)
        return found


def _is_in_pieces(sent: Instruction) -> bool:
    """Returns whether the operands are the pieces of one value."""
    return (
        sent.opcode.startswith("all-to-all")
        and "dimensions" not in sent.attributes
        and len(sent.operands) > 1
    )


def _leaves(shape: Shape) -> tuple[Shape, ...]:
    return tuple(shape.leaves())


def _elements(shapes: tuple[Shape, ...]) -> int:
    return sum(map(element_count, shapes))


def _devices(sent: Instruction) -> Devices:
    """The groups of devices, or pairs; none if the instruction lists none."""
    pairs = integer_rows(sent, "source_target_pairs")
    return tuple(pair for pair in pairs if len(pair) == 2) or integer_rows(sent, "replica_groups")
