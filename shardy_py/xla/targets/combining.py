"""Passes that put several collectives of one kind into one op.

In each computation, in XLA's post-order: a set grows until the next one would exceed the threshold or needs
one of the set. Then they are one op, which the next walk reaches with the first of its results, so that what
its other parts need comes earlier than before. Source: openxla/xla, xla/service/collective_combiner_utils.h,
xla/hlo/transforms/collectives/*_combiner.cc. Not here: which ops are fused before (`gpu/computation.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.xla.spmd.model import Pairs
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


@dataclass(frozen=True, slots=True)
class ReadOps:
    """The ops of a computation as its combiners find them.

    reads: by op what it reads, in the order of its operands; an op comes after these. ends: those that make
    the results, in their order. sent: the nodes of ops that are collectives.
    """

    reads: Mapping[int, Sequence[int]]
    ends: Sequence[int]
    sent: Mapping[int, int]


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
    sets = _Sets(transfers, _graph(ops), limits)
    for kind in limits.kinds:
        sets.combine(kind)
    return tuple(
        _issued([transfers[each] for each in own], tuple(nodes[each] for each in own))
        for own in (sets.parts[first] for first in sets.order if first in sets.parts)
    )


def _issued(parts: Sequence[Transfer], nodes: tuple[int, ...]) -> Issued:
    if len(parts) == 1:
        return Issued((parts[0],), nodes)
    change = PassChange(f"{parts[0].kind.replace('_', '-')}-combiner", f"{len(parts)} run as one op")
    return Issued(tuple(part.changed(change) for part in parts), nodes)


@dataclass(frozen=True, slots=True)
class _Graph:
    """The collectives of a computation that each of them needs, in the order in which a walk meets these.

    before: by node those that a walk through its operands meets first. Nodes are the collectives, numbered
    as they are in `ReadOps.sent`, then the other ops behind which several of them are. ends: of the results.
    needs: by collective all that it needs, as bits.
    """

    before: list[tuple[int, ...]]
    ends: tuple[int, ...]
    needs: list[int]


def _graph(ops: ReadOps) -> _Graph:
    """Returns a graph through which a walk reaches collectives in the order of one through all ops."""
    places = {op: place for place, op in enumerate(ops.sent)}
    before: list[tuple[int, ...]] = [()] * len(places)
    within, node_of = [0] * len(places), dict[int, int]()
    for op, reads in ops.reads.items():
        met = [node_of[each] for each in reads if each in node_of]
        node = places.get(op)
        if node is None and len(met) < 2:
            if met:
                node_of[op] = met[0]
            continue
        first, bits = _first_of(met, within)
        if node is not None:
            before[node], within[node] = first, bits | 1 << node
        elif len(first) == 1:
            (node,) = first
        else:
            node = len(before)
            before.append(first)
            within.append(bits)
        node_of[op] = node
    ends, _ = _first_of([node_of[each] for each in ops.ends if each in node_of], within)
    return _Graph(before, ends, [within[place] ^ 1 << place for place in range(len(places))])


def _first_of(nodes: Iterable[int], within: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Nodes that have collectives which none before them has, and the collectives of all, as bits.

    within: by node the collectives that it is, and needs.

    >>> _first_of([1, 0, 2], [0b1, 0b11, 0b100])
    ((1, 2), 7)
    """
    met, found = 0, list[int]()
    for node in nodes:
        own = met | within[node]
        if own != met:
            met = own
            found.append(node)
    return tuple(found), met


def post_order(ends: Iterable[int], reads: Callable[[int], Sequence[int]]) -> list[int]:
    """Returns what ends need, each after what it reads: operands first, from left to right.

    >>> post_order([3], {3: [2, 1], 2: [0], 1: [0], 0: []}.__getitem__)
    [0, 2, 1, 3]
    """
    found: list[int] = []
    entered = set[int]()
    left = [*ends][::-1]
    while left:
        number = left.pop()
        if number < 0:  # all that it reads is there
            found.append(~number)
        elif number not in entered:
            entered.add(number)
            left.append(~number)
            left += [each for each in reads(number)[::-1] if each not in entered]
    return found


class _Sets:
    """The sets of collectives that become one op, in the order in which XLA finds them.

    before, needs: see `_Graph`; needed_by: by collective those that need it, where sets grow on behind these,
    else none. first: by node the first member of its set. parts: by this all members; order: of these and
    the other nodes, in the graph as it is by now.
    """

    def __init__(self, transfers: Sequence[Transfer], graph: _Graph, limits: CombinerLimits) -> None:
        self.transfers, self.limits = transfers, limits
        self.before, self.needs = graph.before, _TiedBits(graph.needs)
        self.first = [*range(len(graph.before))]
        self.parts: dict[int, Sequence[int]] = {place: (place,) for place in range(len(transfers))}
        self.order = post_order(graph.ends, self.before.__getitem__)
        needed_by = [0] * len(graph.before)
        for node in reversed(self.order) if limits.passes_dependent else ():
            own = needed_by[node] | (1 << node if node in self.parts else 0)
            for each in self.before[node]:
                needed_by[each] |= own
        self.needed_by = _TiedBits(needed_by)

    def combine(self, kind: str) -> None:
        """Finds the sets of collectives of one kind."""
        keys = _alike(kind, self.transfers, self.limits)
        while keys:
            self._combine_in_order(keys)

    def _combine_in_order(self, keys: dict[int, Hashable]) -> None:
        """Finds sets until the order of what is left has changed, and removes their members from keys."""
        ordered = [place for place in self.order if place in keys]
        alike: dict[Hashable, dict[int, None]] = defaultdict(dict)
        for place in ordered:
            alike[keys[place]][place] = None
        left = {key: sum(1 << place for place in places) for key, places in alike.items()}
        for place in ordered:
            key = keys.get(place)
            if key is None:  # of a set that began before
                continue
            members = self._members(alike[key], left[key])
            for each in members:
                del keys[each], alike[key][each]
                left[key] ^= 1 << each
            if len(members) > 1 and not keys.keys().isdisjoint(self._join(members)):
                return
        keys.clear()  # the results need none of what is left

    def _members(self, alike: Iterable[int], left: int) -> list[int]:
        """The set that begins with the first of alike collectives, which are in order.

        left: these as bits.
        """
        limits, needs, members, size, bits = self.limits, self.needs, list[int](), 0, 0
        for place in alike:
            is_dependent = bool(needs[place] & bits)
            if is_dependent and limits.passes_dependent:
                continue
            transfer = self.transfers[place]
            size += limits.size(transfer)
            if size > limits.most(transfer.kind) or is_dependent:
                break
            members.append(place)
            bits |= 1 << place
            if len(members) == limits.count:
                break
            if limits.passes_dependent:
                left &= ~(self.needed_by[place] | 1 << place)
                if not left:  # as in a chain
                    break
        return members

    def _join(self, members: Sequence[int]) -> Sequence[int]:
        """Makes collectives one op: what needs one of them needs all, and all that these need.

        Returns the others that come earlier in the order than before.
        """
        first = members[0]
        for place in members:
            self.first[place] = first
        self.parts[first] = members
        self.before[first] = tuple(dict.fromkeys(node for place in members for node in self.before[place]))
        self.needs.tie(members)
        self.needed_by.tie(members)
        return self._move(members)

    def _move(self, members: Sequence[int]) -> Sequence[int]:
        """Puts a set in the place of its first member, behind what the others need, which is returned.

        A walk from the results meets all that comes before in the order as it did, and in what comes behind
        nothing but what it has met by then is gone.
        """
        first, order, before = self.first, self.order, self.before
        place = order.index(members[0])
        later = {*order[place + 1 :]}
        earlier = post_order(
            [first[each] for each in before[members[0]] if first[each] in later],
            lambda op: [found for each in before[op] if (found := first[each]) in later],
        )
        later.difference_update(members, earlier)
        order[place:] = [*earlier, members[0], *filter(later.__contains__, order[place + 1 :])]
        return earlier


class _TiedBits:
    """For each collective a set of others, as bits: those that it needs, or those that need it.

    What has one member of a set has them all, and what these have; that is found when it is asked for.
    """

    def __init__(self, bits: list[int]) -> None:
        self._bits = bits
        self._tied: list[tuple[int, int]] = []
        self._known = [0] * len(bits)

    def __getitem__(self, place: int) -> int:
        own = self._bits[place]
        if self._known[place] < len(self._tied):
            for members, every in self._tied[self._known[place] :]:
                if own & members:
                    own |= every
            self._bits[place], self._known[place] = own, len(self._tied)
        return own

    def tie(self, places: Iterable[int]) -> None:
        """Makes collectives one op."""
        members, every = 0, 0
        for place in places:
            members |= 1 << place
            every |= self[place]
        self._tied.append((members, members | every))


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
