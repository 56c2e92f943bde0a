"""Passes that put several collectives of one kind into one op.

In each computation, in XLA's post-order: a set grows until the next one would exceed the threshold or needs
one of the set; then the next set starts with what is left. Source: openxla/xla,
xla/service/collective_combiner_utils.h, xla/hlo/transforms/collectives/*_combiner.cc. Not here: how ops are
ordered after fusion, which may differ, so that other sets are formed; bytes are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

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
    order = [number for number in nodes if body.transfer(number) is not None]
    places = {number: i for i, number in enumerate(order)}
    needs = _needs(nodes, reads, places)
    transfers = [_transfer(body, number) for number in order]
    found: dict[int, list[int]] = {}
    for kind in limits.kinds:
        for members in _sets(kind, transfers, needs, limits):
            found[members[0]] = members
            _join(needs, members)
    joined = {each for members in found.values() for each in members[1:]}
    alone = (i for i in range(len(order)) if i not in joined)
    sets = (found.get(first, [first]) for first in alone)
    return tuple(_issued([transfers[i] for i in own], tuple(order[i] for i in own)) for own in sets)


def _issued(parts: Sequence[Transfer], nodes: tuple[int, ...]) -> Issued:
    if len(parts) == 1:
        return Issued((parts[0],), nodes)
    change = PassChange(f"{parts[0].kind.replace('_', '-')}-combiner", f"{len(parts)} run as one op")
    return Issued(tuple(part.changed(change) for part in parts), nodes)


def _transfer(body: DeviceBody, number: int) -> Transfer:
    found = body.transfer(number)
    assert found is not None
    return found


def _needs(order: Iterable[int], reads: Mapping[int, Iterable[int]], places: Mapping[int, int]) -> list[int]:
    """For each collective the set of those that it needs, as bits."""
    before: dict[int, int] = {}
    needs = [0] * len(places)
    for number in order:
        found = 0
        for each in reads[number]:
            if each in before:
                found |= before[each]
        if number in places:
            place = places[number]
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


def _sets(
    kind: str, transfers: Sequence[Transfer], needs: Sequence[int], limits: CombinerLimits
) -> Iterable[list[int]]:
    """The sets of several collectives of a kind that become one."""
    left = [i for i, each in enumerate(transfers) if each.kind == kind and each.result_bytes <= limits.bytes]
    while left:
        key, members, size = _key(transfers[left[0]]), list[int](), 0
        for i in left:
            if _key(transfers[i]) != key:
                continue
            is_apart = not any(needs[i] >> member & 1 for member in members)
            if not is_apart and limits.passes_dependent:
                continue
            size += transfers[i].result_bytes
            if size > limits.bytes or not is_apart:
                break
            members.append(i)
            if len(members) >= limits.count:
                break
        left = [i for i in left if i not in members]
        if len(members) > 1:
            yield members


def _join(needs: list[int], members: Sequence[int]) -> None:
    """Nodes that need one of the members need all, and all that they need."""
    own = sum(1 << i for i in members)
    both = own
    for i in members:
        both |= needs[i]
    needs[:] = [needed | both if needed & own else needed for needed in needs]
    for i in members:
        needs[i] = both & ~own
