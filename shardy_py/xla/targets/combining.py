"""Passes that put several collectives of one kind into one op.

In each computation, in XLA's post-order: a set grows until the next one would exceed the threshold or needs
one of the set; then the next set starts with what is left. Source: openxla/xla,
xla/service/collective_combiner_utils.h, xla/hlo/transforms/collectives/*_combiner.cc. Not here: how ops are
ordered after fusion, which may differ, so that other sets are formed; bytes are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.xla.targets.model import DeviceBody, PassChange, Transfer


@dataclass(frozen=True, slots=True)
class CombinerLimits:
    """The most that one op combines: bytes of results, and members; no kind that is not in `kinds`.

    passes_dependent: whether a set grows on behind a collective that needs one of it, as XLA:TPU's do.
    """

    kinds: tuple[str, ...]
    bytes: int
    count: int
    passes_dependent: bool = False


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


def combined(body: DeviceBody, limits: CombinerLimits) -> tuple[Issued, ...]:
    """Returns the collectives of one computation, not of those inside, as ops of one or several."""
    nodes, reads = body.without_barriers
    sent = [(number, transfer) for number in nodes if (transfer := body.nodes[number].transfer) is not None]
    order, transfers = [number for number, _ in sent], [transfer for _, transfer in sent]
    alike = [_alike(kind, transfers, limits) for kind in limits.kinds]
    places = {order[i]: i for of_kind in alike for each in of_kind for i in each}
    needs = _needs(nodes, reads, places) if places else {}
    found: dict[int, list[int]] = {}
    for of_kind in alike:
        for members in _sets(of_kind, transfers, needs, limits):
            found[members[0]] = members
    joined = {each for members in found.values() for each in members[1:]}
    alone = (i for i in range(len(order)) if i not in joined)
    sets = (found.get(first, [first]) for first in alone)
    return tuple(_issued([transfers[i] for i in own], tuple(order[i] for i in own)) for own in sets)


def _issued(parts: Sequence[Transfer], nodes: tuple[int, ...]) -> Issued:
    if len(parts) == 1:
        return Issued((parts[0],), nodes)
    change = PassChange(f"{parts[0].kind.replace('_', '-')}-combiner", f"{len(parts)} run as one op")
    return Issued(tuple(part.changed(change) for part in parts), nodes)


def _needs(
    order: Iterable[int], reads: Mapping[int, Iterable[int]], places: Mapping[int, int]
) -> dict[int, int]:
    """For each collective that may be combined the set of those that it needs, as bits; places: by node."""
    before: dict[int, int] = {}
    needs: dict[int, int] = {}
    for number in order:
        found = 0
        for each in reads[number]:
            if each in before:
                found |= before[each]
        place = places.get(number)
        if place is not None:
            needs[place] = found
            found |= 1 << place
        if found:
            before[number] = found
    return needs


def _key(transfer: Transfer) -> Hashable:
    """Equal for collectives that may be one op."""
    one = transfer.collective
    groups = one.kind, one.group_size, one.group
    if one.kind == "collective_permute":
        return one.kind, one.pairs
    if one.kind in ("all_reduce", "reduce_scatter"):
        return *groups, one.element_type, transfer.reduction
    return groups


def _alike(kind: str, transfers: Sequence[Transfer], limits: CombinerLimits) -> list[deque[int]]:
    """The collectives of a kind that may be in one op, several at a time, in their order."""
    found: dict[Hashable, deque[int]] = {}
    for i, each in enumerate(transfers):
        if each.kind == kind and each.result_bytes <= limits.bytes:
            found.setdefault(_key(each), deque()).append(i)
    return [each for each in found.values() if len(each) > 1]


def _sets(
    alike: Sequence[deque[int]], transfers: Sequence[Transfer], needs: dict[int, int], limits: CombinerLimits
) -> Iterator[list[int]]:
    """The sets of several collectives that become one: each begins with what comes first of all that is left.

    alike: those that may be in one set. needs: of all that are in no set yet.
    """
    left = [_chains(each, needs) for each in alike]
    while left := [each for each in left if each]:
        own = min(left, key=lambda each: each[0][0])
        members, others, size = list[int](), 0, 0
        for chain in own:
            if len(members) == limits.count:
                break
            is_dependent = bool(needs[chain[0]] & others)
            if not is_dependent:
                size += transfers[chain[0]].result_bytes
                if size > limits.bytes:
                    break
                others |= 1 << chain[0]
                members.append(chain.popleft())
            if (is_dependent or chain) and not limits.passes_dependent:
                break
        own[:] = [chain for chain in own if chain]
        _join(needs, members)
        if len(members) > 1:
            yield members


def _chains(alike: Sequence[int], needs: Mapping[int, int]) -> list[deque[int]]:
    """The collectives as runs of which each needs the one before it, and so all that this one needs.

    Of a run at most the first one joins a set: the others need it, or something that it needs.
    """
    found: list[deque[int]] = []
    for i in alike:
        if found and needs[i] >> found[-1][-1] & 1:
            found[-1].append(i)
        else:
            found.append(deque([i]))
    return found


def _join(needs: dict[int, int], members: Sequence[int]) -> None:
    """Adds to what needs one of the members all of them, and all that they need; they are in a set now."""
    own = both = 0
    for i in members:
        own |= 1 << i
        both |= needs.pop(i)
    if len(members) > 1:
        both |= own
        for i, needed in needs.items():
            if needed & own:
                needs[i] = needed | both
