"""Kernels on a GPU that are one with several results: of those that read one value, and of one with a reader.

    KernelGroups(graph, kernels).groups()

They run over equal elements, and none needs another in between. Source: openxla/xla,
xla/backends/gpu/transforms/multi_output_fusion.cc, xla/service/gpu/gpu_fusible.cc. Not here: which ops are
in a kernel (`kernels.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import ScatterOp, SliceOp
from shardy_py.xla.targets.gpu.costs import H100, LAUNCH, GpuDescription
from shardy_py.xla.targets.gpu.diamonds import reduces_columns
from shardy_py.xla.targets.gpu.graph import CONSTANT, CONVERT, DOT, REDUCE, SLICE, TRANSPOSE, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.longest_chain import LongestChain
from shardy_py.xla.targets.gpu.transposes import TiledTranspose, is_of_unknown_order, is_path, tiled_hero

_MOST_BUFFERS = 96
_MOST_REDUCTIONS = 8
_WARP = 32
"""The elements of which one is made, from which on a reduction has threads of its own."""
_LEAST_SLICED = 1024
"""The bytes of a value from which on kernels are not one that read different slices of it."""
_MOST_VISITED = 1_000
"""Kernels between two; where there are more, one needs the other as far as this module knows."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """The loop of a kernel. elements: their number. reduced: of one result; 1: no reduction.

    tiled: the transpose that the kernel computes in tiles.
    """

    elements: int
    reduced: int = 1
    is_column: bool = False
    tiled: TiledTranspose | None = None


class KernelGroups:
    """The groups of kernels of a graph. kernels: by root."""

    def __init__(self, graph: GpuGraph, kernels: Mapping[int, Kernel], gpu: GpuDescription = H100) -> None:
        self.graph, self.kernels, self.gpu = graph, kernels, gpu
        self.group = {root: root for root in kernels}
        """By kernel the first of its group."""
        self.members = {root: [root] for root in kernels}
        self.users: dict[int, list[int]] = {}
        """By value the ops that read it, by their numbers."""
        for number, reads in enumerate(graph.reads):
            kernel = kernels.get(number)
            is_op = kernel is not None or not graph.row(number).is_fused or graph.types[number] is None
            for value in () if not is_op else reads if kernel is None else kernel.reads:
                self.users.setdefault(value, []).append(number)
        self.chain = LongestChain(self.users, len(graph.kinds))
        self.order = [*range(len(graph.kinds))]
        """Groups by their first kernels and other ops, each after what it needs."""
        self.place = dict(enumerate(self.order))
        self.returned = set(graph.results)
        self.loops = {root: self._loop(root) for root in kernels if self._is_root(kernels[root])}

    def groups(self) -> list[list[int]]:
        """The kernels by their roots, those of one op together."""
        for number in range(len(self.graph.kinds) - 1, -1, -1):
            kernel = self.kernels.get(number)
            if self.graph.kinds[number] in (CONSTANT, DOT) or (kernel is not None and kernel.rows):
                continue
            if self.graph.elements(number) > 1:
                self._join_siblings(number)
            if kernel is not None:
                self._join_reader(number, kernel)
        return [each for each in self.members.values() if each]

    def _is_root(self, kernel: Kernel) -> bool:
        """True if a kernel may be one with others."""
        row = self.graph.row(kernel.root)
        is_plain = not row.is_in_place and self.graph.kinds[kernel.root] != ScatterOp.name
        is_used = bool(self.users.get(kernel.root)) or kernel.root in self.returned
        if not is_plain or not is_used or kernel.rows:
            return False
        if any(is_of_unknown_order(self.graph, each) for each in kernel.members):
            return False
        return len(kernel.members) > 1 or self._is_alone(kernel.root)

    def _is_alone(self, number: int) -> bool:
        """True if an op that is a kernel on its own may be one with others."""
        graph = self.graph
        if graph.kinds[number] == TRANSPOSE:
            return tiled_hero(graph, self.kernels[number]) is not None
        return graph.kinds[number] == REDUCE or graph.is_elementwise(number)

    def _loop(self, root: int) -> _Loop:
        graph, tiled = self.graph, tiled_hero(self.graph, self.kernels[root])
        if tiled is not None:
            return _Loop(graph.elements(root), tiled=tiled)
        while graph.kinds[root] == CONVERT and graph.reads[root][0] in self.kernels.get(root, _NONE).members:
            (root,) = graph.reads[root]
        made = graph.elements(root)
        if graph.kinds[root] != REDUCE or not made:
            return _Loop(made)
        given = graph.elements(graph.reads[root][0])
        is_large = given >= _WARP * made
        return _Loop(given, given // made, reduces_columns(graph, root)) if is_large else _Loop(made)

    def _is_fusion(self, root: int) -> bool:
        """True if a kernel has several ops, or several results."""
        return len(self.members[root]) > 1 or len(self.kernels[root].members) > 1

    def _join_siblings(self, value: int) -> None:
        found = dict.fromkeys(self.group[each] for each in self.users.get(value, ()) if each in self.loops)
        left = sorted(found, key=self._priority)
        while left:
            first, *left = left
            if not self._is_fusion(first):
                continue
            for other in tuple(left):
                if not self._fit(first, other) or (
                    self._takes_slice(value, first) and self._takes_slice(value, other)
                ):
                    continue
                if not self._are_connected(first, other):
                    self._join(first, other)
                    left.remove(other)

    def _takes_slice(self, value: int, root: int) -> bool:
        """True if kernels read a large value through one slice only, which those of others do not overlap."""
        graph = self.graph
        if graph.sizes[value] < _LEAST_SLICED:
            return False
        members = {each for own in self.members[root] for each in self.kernels[own].members}
        readers = [each for each in members if value in graph.reads[each]]
        return len(readers) == 1 and graph.kinds[readers[0]] in (SLICE, SliceOp.name)

    def _priority(self, root: int) -> int:
        return -(len(self.members[root]) > 1) - self._is_fusion(root)

    def _join_reader(self, number: int, kernel: Kernel) -> None:
        """Joins a kernel with one that reads what it makes."""
        if number not in self.loops or len(self.members[self.group[number]]) > 1:
            return
        if self.loops[number].reduced > 1:
            return
        readers = dict.fromkeys(self.group.get(each, -1) for each in self.users.get(number, ()))
        if len(readers) + (number in self.returned) == 1:
            (only,) = readers or (-1,)
            if only < 0 or len(self.members[only]) < 2:
                return
        able = [
            each
            for each in readers
            if each >= 0
            and each in self.loops
            and self._fit(each, number)
            and self._is_faster(kernel, each)
            and (self.loops[number].tiled is None or self._stays_tiled(number, each))
            and not self._is_between(number, each)
        ]
        if able:
            self._join(min(able, key=self._priority), number)

    def _is_faster(self, producer: Kernel, reader: int) -> bool:
        """True if it takes no longer to compute what is made for a reader again."""
        again = max(self.kernels[each].uses.get(producer.root, 0.0) for each in self.members[reader]) - 1
        computed = self.gpu.operations(self.gpu.grid(self.loops[reader].elements))
        return again <= 0 or again * producer.operations / computed <= LAUNCH

    def _stays_tiled(self, number: int, reader: int) -> bool:
        """True if kernels only compute each element from that of a value, so that this may be in tiles."""
        kernels = [self.kernels[each] for each in self.members[reader]]
        return all(is_path(self.graph, kernel, number) for kernel in kernels if number in kernel.reads)

    def _fit(self, first: int, second: int) -> bool:
        """True if kernels run over equal elements."""
        loops = [self.loops[each] for each in (*self.members[first], *self.members[second])]
        reduced = {(each.reduced, each.is_column) for each in loops if each.reduced > 1}
        tiled = {each.tiled for each in loops if each.tiled is not None}
        if len({each.elements for each in loops}) > 1 or len(reduced) > 1 or len(tiled) > 1:
            return False
        if tiled and reduced:
            return False
        if sum(each.reduced > 1 for each in loops) > _MOST_REDUCTIONS:
            return False
        return len(self._reads(first) | self._reads(second)) + len(loops) <= _MOST_BUFFERS

    def _reads(self, root: int) -> set[int]:
        return {value for each in self.members[root] for value in self.kernels[each].reads}

    def _join(self, first: int, second: int) -> None:
        """Makes two groups one, behind what they need and before what needs them."""
        ends = self.place[first], self.place[second]
        low, high = min(ends), max(ends)
        after = {*self._needing([self.order[low]], high)}
        region = [each for each in self.order[low : high + 1] if each not in (first, second)]
        moved = [each for each in region if each not in after]
        moved += [first, second, *(each for each in region if each in after)]
        self.order[low : high + 1] = moved
        self.place |= {each: low + n for n, each in enumerate(moved)}
        self.members[first] += self.members[second]
        for each in self.members[second]:
            self.group[each] = first
        self.members[second] = []

    def _are_connected(self, first: int, second: int) -> bool:
        """True if one of two kernels needs the other."""
        if self.place[first] > self.place[second]:
            first, second = second, first
        return self._reaches([first], second)

    def _is_between(self, producer: int, reader: int) -> bool:
        """True if a reader needs another op that needs the producer."""
        others = [self.group.get(each, each) for each in self.users.get(producer, ())]
        return self._reaches([each for each in others if each != reader], reader)

    def _reaches(self, starts: Sequence[int], wanted: int) -> bool:
        """True if an op needs one of others, or as many are between that it is taken to."""
        place, end = self.place, self.place[wanted]
        if wanted in starts or any(self.chain.connects(each, wanted) for each in starts):
            return True  # kernels that are one by now need what each of them needed
        left, found = [each for each in starts if place[each] < end], set[int]()
        members, users, group = self.members, self.users, self.group
        while left:
            number = left.pop()
            for value in members.get(number) or (number,):
                for user in users.get(value, ()):
                    own = group.get(user, user)
                    if own not in found and place[own] <= end:
                        if own == wanted:
                            return True
                        found.add(own)
                        left.append(own)
            if len(found) > _MOST_VISITED:
                return True
        return False

    def _needing(self, starts: Iterable[int], end: int) -> Iterator[int]:
        """The ops that need others, as far as a place in the order, each once."""
        left = [*starts]
        found: set[int] = set()
        members, users, group, place = self.members, self.users, self.group, self.place
        while left:
            number = left.pop()
            for value in members.get(number) or (number,):
                for user in users.get(value, ()):
                    own = group.get(user, user)
                    if own not in found and place[own] <= end:
                        found.add(own)
                        left.append(own)
                        yield own


_NONE = Kernel(-1, set())
