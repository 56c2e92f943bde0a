"""Which ops of a computation become one op: sets that grow in XLA's post-order.

    sets = CombinedSets(ops)
    sets.combine({0: "f32", 2: "f32"}, NO_LIMIT)
    [*sets]  # (0, 2), (1,)

A set grows until the next op would exceed the limit or needs one of the set. Then they are one op, which the
next walk reaches with the first of its results, so that what its other parts need comes earlier than before.
Source: openxla/xla, xla/service/collective_combiner_utils.h. Not here: which collectives are alike, and their
bytes (`combining.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class ReadOps:
    """The ops of a computation as its combiners find them.

    reads: by op what it reads, in the order of its operands; an op comes after these. ends: those that make
    the results, in their order. sent: the nodes of ops that are collectives.
    """

    reads: Mapping[int, Sequence[int]]
    ends: Sequence[int]
    sent: Mapping[int, int]


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


class Limit(NamedTuple):
    """The most that one op combines: of the sizes of its members, and how many. sizes: of all, by place."""

    sizes: Sequence[int]
    most: int
    members: int


NO_LIMIT = Limit((), 0, 2**31)


class CombinedSets:
    """The sets of ops that become one op, in the order in which XLA finds them; iterated, all of them.

    passes_dependent: whether a set grows on behind an op that needs one of it. before, needs: see `_Graph`;
    needed_by: by op those that need it, where sets grow on behind these, else none. first: by node the first
    member of its set. parts: by this all members; order: of these and the other nodes, in the graph as it is
    by now. Members are the places of ops in `ReadOps.sent`.
    """

    def __init__(self, ops: ReadOps, *, passes_dependent: bool = False) -> None:
        graph = _graph(ops)
        self.passes_dependent = passes_dependent
        self.before, self.needs = graph.before, _TiedBits(graph.needs)
        self.first = [*range(len(graph.before))]
        self.parts: dict[int, Sequence[int]] = {place: (place,) for place in range(len(graph.needs))}
        self.order = post_order(graph.ends, self.before.__getitem__)
        needed_by = [0] * len(graph.before)
        for node in reversed(self.order) if passes_dependent else ():
            own = needed_by[node] | (1 << node if node in self.parts else 0)
            for each in self.before[node]:
                needed_by[each] |= own
        self.needed_by = _TiedBits(needed_by)

    def __iter__(self) -> Iterator[Sequence[int]]:
        """The sets that the results need, also of one op."""
        return iter([self.parts[first] for first in self.order if first in self.parts])

    def combine(self, keys: dict[int, Hashable], limit: Limit) -> None:
        """Finds sets of ops with equal keys; the others stay alone. keys: by place, is emptied."""
        while keys:
            self._combine_in_order(keys, limit)

    def _combine_in_order(self, keys: dict[int, Hashable], limit: Limit) -> None:
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
            members = self._members(alike[key], left[key], limit)
            for each in members:
                del keys[each], alike[key][each]
                left[key] ^= 1 << each
            if len(members) > 1 and not keys.keys().isdisjoint(self._join(members)):
                return
        keys.clear()  # the results need none of what is left

    def _members(self, alike: Iterable[int], left: int, limit: Limit) -> list[int]:
        """The set that begins with the first of alike ops, which are in order. left: these as bits."""
        needs, members, size, bits = self.needs, list[int](), 0, 0
        for place in alike:
            is_dependent = bool(needs[place] & bits)
            if is_dependent and self.passes_dependent:
                continue
            size += limit.sizes[place] if limit.sizes else 0
            if size > limit.most or is_dependent:
                break
            members.append(place)
            bits |= 1 << place
            if len(members) == limit.members:
                break
            if self.passes_dependent:
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

    What has one member of a set has them all, and what these have; that is found when it is asked for. No
    collective is in two sets. numbers: by member that of its set; every: by set what has one member has,
    with all that sets before it add; tied: the members of as many sets, as bits.

    >>> bits = _TiedBits([0b000, 0b001, 0b000, 0b010])
    >>> bits.tie([1, 2])
    >>> bin(bits[3])
    '0b111'
    """

    def __init__(self, bits: list[int]) -> None:
        self._bits = bits
        self._numbers: dict[int, int] = {}
        self._every: list[int] = []
        self._tied = [0]
        self._known = [0] * len(bits)

    def __getitem__(self, place: int) -> int:
        own, known = self._bits[place], self._known[place]
        if known < len(self._every):
            new = self._tied[-1] ^ self._tied[known]
            while met := own & new:
                number = self._numbers[met.bit_length() - 1]
                own |= self._every[number]
                new &= ~(self._tied[number + 1] & self._every[number])
            self._bits[place], self._known[place] = own, len(self._every)
        return own

    def tie(self, places: Iterable[int]) -> None:
        """Makes collectives one op."""
        members, every = 0, 0
        for place in places:
            members |= 1 << place
            every |= self[place]
            self._numbers[place] = len(self._every)
        self._every.append(members | every)
        self._tied.append(self._tied[-1] | members)
