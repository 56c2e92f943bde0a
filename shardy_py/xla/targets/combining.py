"""Passes that put several collectives of one kind into one op.

Source: openxla/xla, xla/hlo/transforms/collectives/*_combiner.cc. Not here: how sets grow
(`combined_sets.py`), which ops are fused before (`gpu/computation.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.xla.spmd.model import Pairs
from shardy_py.xla.targets.combined_sets import CombinedSets, Limit, ReadOps
from shardy_py.xla.targets.model import DeviceBody, PassChange, Transfer
from shardy_py.xla.targets.padding import held_in_parts

_SCATTER = "reduce_scatter"


@dataclass(frozen=True, slots=True)
class CombinerLimits:
    """The most that one op combines: bytes of results, and members; no kind that is not in `kinds`.

    passes_dependent: whether a set grows on behind a collective that needs one of it, as XLA:TPU's do.
    scattered_bytes: of the memory on a chip, in which one op holds all that it scatters, and receives; 0: no
    matter.
    """

    kinds: tuple[str, ...]
    bytes: int
    count: int
    passes_dependent: bool = False
    scattered_bytes: int = 0

    def most(self, kind: str) -> int:
        """The most bytes of `size` that one op of a kind combines."""
        return self.scattered_bytes if kind == _SCATTER and self.scattered_bytes else self.bytes

    def size(self, transfer: Transfer) -> int:
        """The bytes that count of a collective: of its result, or of the memory on a chip."""
        if transfer.kind != _SCATTER or not self.scattered_bytes:
            return transfer.result_bytes
        return held_in_parts(transfer.collective.held_bytes, transfer.collective.group_size)


@dataclass(frozen=True, slots=True)
class Issued:
    """A collective op of the compiled program: one transfer, or several that run as one.

    nodes: of the parts, in the computation. exposed: why a device waits for it; "": it may compute meanwhile.
    """

    parts: tuple[Transfer, ...]
    nodes: tuple[int, ...] = ()
    exposed: str = ""

    @property
    def kind(self) -> str:
        """The kind of all parts."""
        return self.parts[0].kind

    @property
    def times(self) -> int:
        """How often it runs."""
        return self.parts[0].collective.times

    @property
    def result_bytes(self) -> int:
        """The bytes of the results of one run."""
        return sum(part.result_bytes for part in self.parts)


def read_ops(body: DeviceBody) -> ReadOps:
    """Returns the nodes of a computation as ops, without optimization barriers."""
    order, reads = body.without_barriers
    sent = {number: number for number in order if body.nodes[number].transfer is not None}
    return ReadOps({number: reads[number] for number in order}, body.results, sent)


def may_combine(body: DeviceBody, limits: CombinerLimits) -> bool:
    """Returns whether a computation has collectives that may be in one op."""
    transfers = [transfer for node in body.sent if (transfer := body.nodes[node].transfer) is not None]
    return any(_alike(kind, transfers, limits) for kind in limits.kinds)


def combined(body: DeviceBody, ops: ReadOps, limits: CombinerLimits) -> tuple[Issued, ...]:
    """Returns the collectives of one computation, not of those inside, as ops of one or several.

    ops: those of the computation when its collectives are combined.
    """
    nodes = [*ops.sent.values()]
    transfers = [transfer for node in nodes if (transfer := body.nodes[node].transfer) is not None]
    sets = CombinedSets(ops, passes_dependent=limits.passes_dependent)
    for kind in limits.kinds:
        keys = _alike(kind, transfers, limits)
        if keys:
            sizes = [limits.size(each) if place in keys else 0 for place, each in enumerate(transfers)]
            sets.combine(keys, Limit(sizes, limits.most(kind), limits.count))
    return tuple(
        _issued([transfers[each] for each in own], tuple(nodes[each] for each in own)) for own in sets
    )


def _issued(parts: Sequence[Transfer], nodes: tuple[int, ...]) -> Issued:
    if len(parts) == 1:
        return Issued((parts[0],), nodes)
    change = PassChange(f"{parts[0].kind.replace('_', '-')}-combiner", f"{len(parts)} run as one op")
    return Issued(tuple(part.changed(change) for part in parts), nodes)


def _key(transfer: Transfer) -> Hashable:
    """Equal for collectives that may be one op."""
    one = transfer.collective
    groups = one.kind, one.group_size, one.group
    if one.kind == "collective_permute":
        return one.kind, _of_first_group(one.pairs)
    if one.kind in ("all_reduce", "reduce_scatter"):
        return *groups, one.element_type, transfer.reduction
    return groups


@SESSION.cache(256)
def _of_first_group(pairs: Pairs) -> frozenset[tuple[int, int]]:
    """The pairs of the first devices, if others do the same: of several groups a plan may have one only.

    >>> sorted(_of_first_group(((0, 2), (2, 4), (1, 3), (3, 5))))
    [(0, 2), (2, 4)]
    """
    left, groups = {*pairs}, list[list[tuple[int, int]]]()
    while left:
        first = min(map(min, left))
        tied, own = {first}, set[tuple[int, int]]()
        while new := {pair for pair in left if not tied.isdisjoint(pair)}:
            own |= new
            left -= new
            tied.update(device for pair in new for device in pair)
        groups.append(sorted((a - first, b - first) for a, b in own))
    if any(each != groups[0] for each in groups):
        return frozenset(pairs)
    first = min(map(min, pairs), default=0)
    return frozenset((a + first, b + first) for each in groups[:1] for a, b in each)


def _alike(kind: str, transfers: Sequence[Transfer], limits: CombinerLimits) -> dict[int, Hashable]:
    """The keys of the collectives of a kind that may be in one op with others."""
    found: dict[Hashable, list[int]] = {}
    for place, each in enumerate(transfers):
        if each.kind == kind and limits.size(each) <= limits.most(kind):
            found.setdefault(_key(each), []).append(place)
    return {place: key for key, places in found.items() if len(places) > 1 for place in places}
