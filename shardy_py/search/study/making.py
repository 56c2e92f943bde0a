"""Makes a variant of a prepared program from the one before: of its ops only those that differ are made.

What an op becomes depends on the closed shardings of its results, on which values stand for its operands, and
around dots and concatenates on the shardings of operands. An op none of whose facts changed stays the step
that it was. Not here: what the passes behind propagation decide (`variant.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress
from operator import itemgetter, ne
from typing import NamedTuple, Protocol

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType
from shardy_py.search.study.base import Decided, Unsupported
from shardy_py.search.study.skeleton import Around, Skeleton, StudiedOp
from shardy_py.xla.spmd.program import Block, PlannedOp, TiledValue
from shardy_py.xla.spmd.tiling import Tiling

Piece = tuple[PlannedOp, ...]
"""The steps of a node: none if it is merged with an equal one before it, two if its result is resharded."""
Reshard = tuple[int, int]
"""The numbers of the shardings in which a dot makes its result, and to which that is resharded."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A program with decided shardings.

    block: for the planner; names are values. numbers: of closed shardings, by value.
    """

    block: Block
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class MadeVariant:
    """A variant, and what the next one is compared with.

    closed: the numbers of closed shardings by value, without reshards. constants: those of what may be
    merged, as propagation decided them. merged: by value an equal one before it, which replaces it.
    reshards, pieces: by the number of a node.
    """

    variant: Variant
    closed: list[int]
    constants: Hashable
    merged: Mapping[int, int]
    reshards: Mapping[int, Reshard]
    pieces: Sequence[Piece]


class Passes(Protocol):
    """The passes behind propagation, as they decide about the values of one program."""

    def closed(self, decided: Decided) -> list[int]:
        """Returns the number of the closed sharding of each slot."""
        ...

    def reshard_of_dot(self, node: StudiedOp, numbers: tuple[int, ...]) -> Reshard | None:
        """Returns the shardings of the result of a dot, if they differ."""
        ...

    def reshard_record(self, type_: TensorType) -> OpRecord:
        """Returns the record of a reshard of a tensor."""
        ...

    def argument(self, slot: int, number: int) -> TiledValue:
        """Returns an argument with a closed sharding."""
        ...

    def tiling(self, number: int, rank: int) -> Tiling:
        """Returns the tiling of a tensor with a closed sharding."""
        ...

    def step(
        self,
        key: int,
        record: OpRecord,
        line: tuple[tuple[int, ...], tuple[int, ...]],
        types: Sequence[TensorType | None],
        numbers: tuple[int, ...],
        source: object,
    ) -> PlannedOp:
        """Returns the step of an op: that of an earlier variant, if it is the same."""
        ...


class Links:
    """The nodes of a program by the values that they make and read.

    nodes: of the skeleton. types: of values, which are the slots, and behind them one for the reshard of each
    dot (`reshards`, by the number of its node).
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        self.nodes = skeleton.nodes
        self.types = list(skeleton.types)
        self.reshards: dict[int, int] = {}
        for index, node in enumerate(self.nodes):
            if node.around is Around.DOT:
                self.reshards[index] = len(self.types)
                self.types.append(self.types[node.results[0]])

    @cached_property
    def makers(self) -> dict[int, int]:
        """By value the number of the node that makes it."""
        return {value: index for index, node in enumerate(self.nodes) for value in node.results}

    @cached_property
    def readers(self) -> dict[int, list[int]]:
        """By value the numbers of the nodes that read it."""
        return self._readers([*range(len(self.nodes))])

    @cached_property
    def readers_around(self) -> dict[int, list[int]]:
        """The same of those around which reshards depend on operands."""
        return self._readers([i for i, node in enumerate(self.nodes) if node.around is not Around.NONE])

    def _readers(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index in numbers:
            for value in dict.fromkeys(self.nodes[index].operands):
                found.setdefault(value, []).append(index)
        return found

    @cached_property
    def _mergeable(self) -> list[_Mergeable]:
        """The nodes that are equal to others if all shardings are: with different ones there are no more."""
        keys: dict[Hashable, int] = {}
        nodes = [
            _Mergeable(keys.setdefault(node.merge_key, len(keys)), node.operands, node.results[0])
            for node in self.nodes
            if node.merge_key is not None
        ]
        same = _merged(nodes, [0] * len(self.types), {})
        alike = {*same, *same.values()}
        return [node for node in nodes if node.value in alike]

    @cached_property
    def _all_merged(self) -> dict[int, int]:
        """By value the first equal one, if all shardings are equal."""
        return _merged(self._mergeable, [0] * len(self.types), {})

    @cached_property
    def _firsts(self) -> tuple[int, ...]:
        """By each that may be merged, the first of those that it is equal to if all shardings are."""
        return tuple([self._all_merged.get(value, value) for value in self._merged_values])

    @cached_property
    def _alike(self) -> dict[int, list[tuple[int, _Mergeable]]]:
        """By the first the nodes that are equal to it if all shardings are, with their places in order."""
        found: dict[int, list[tuple[int, _Mergeable]]] = {}
        for place, (first, node) in enumerate(zip(self._firsts, self._mergeable, strict=True)):
            found.setdefault(first, []).append((place, node))
        return found

    def constants(self, numbers: Sequence[int]) -> Hashable:
        """Returns the numbers of what may be merged."""
        values = self._merged_values
        return itemgetter(*values)(numbers) if values else None

    @cached_property
    def _merged_values(self) -> tuple[int, ...]:
        return tuple([node.value for node in self._mergeable])

    def merged(self, numbers: Sequence[int]) -> dict[int, int]:
        """Returns, by the values of constants, equal ones before them. numbers: of decided shardings."""
        firsts, values, number = self._firsts, self._merged_values, numbers.__getitem__
        apart = {*compress(firsts, map(ne, map(number, firsts), map(number, values)))}
        if not apart:
            return self._all_merged
        same = dict(self._all_merged)
        again: list[tuple[int, _Mergeable]] = []
        for first, nodes in self._alike.items():  # what the first reads is before it, and like what others do
            if first in apart or any(same.get(each, each) in apart for each in nodes[0][1].operands):
                apart.add(first)
                again += nodes
        for _, node in again:
            same.pop(node.value, None)
        return _merged([node for _, node in sorted(again)], numbers, same)


class _Mergeable(NamedTuple):
    """A node that equal ones before it stand for. key: equal for nodes that compute the same of operands."""

    key: int
    operands: tuple[int, ...]
    value: int


def _merged(nodes: Iterable[_Mergeable], numbers: Sequence[int], same: dict[int, int]) -> dict[int, int]:
    """Adds to `same` by value the first equal one, and returns it. numbers: of shardings."""
    first: dict[Hashable, int] = {}
    for key, operands, value in nodes:
        if same and not same.keys().isdisjoint(operands):
            operands = tuple([same.get(each, each) for each in operands])
        known = first.setdefault((key, operands, numbers[value]), value)
        if known != value:
            same[value] = known
    return same


def made_variant(passes: Passes, links: Links, decided: Decided, last: MadeVariant | None) -> MadeVariant:
    """Returns a variant of the program with these nodes. last: one that was made before.

    Raises:
        Unsupported: a pass would change it in a way that is not emulated here.
    """
    return _Maker(passes, links, decided, last).made()


class _Maker:
    def __init__(self, passes: Passes, links: Links, decided: Decided, last: MadeVariant | None) -> None:
        self.passes, self.links, self.last = passes, links, last
        raw = decided.numbers
        self.closed = passes.closed(decided)
        self.closed += [0] * (len(links.types) - len(self.closed))
        self.constants = links.constants(raw)
        is_known = last is not None and last.constants == self.constants
        self.merged = last.merged if last is not None and is_known else links.merged(raw)
        self.reshards: dict[int, Reshard] = {} if last is None else dict(last.reshards)
        self.pieces: list[Piece] = [()] * len(links.nodes) if last is None else [*last.pieces]
        self.same = dict(self.merged)
        self.numbers = [*self.closed]
        for index, (made, wanted) in self.reshards.items():
            (value,), new = links.nodes[index].results, links.reshards[index]
            self.same[value], self.numbers[value], self.numbers[new] = new, made, wanted

    def made(self) -> MadeVariant:
        due, index, nodes = self._due(), -1, self.links.nodes
        while (index := due.find(1, index + 1)) >= 0:
            self.pieces[index] = self._piece(index, nodes[index], due)
        own = self.constants, self.merged, self.reshards, self.pieces
        return MadeVariant(Variant(self._block(), self.numbers), self.closed, *own)

    def _due(self) -> bytearray:
        """By node: 1 if it may differ from the last variant."""
        last, links = self.last, self.links
        if last is None:
            return bytearray(b"\1") * len(links.nodes)
        due = bytearray(len(links.nodes))
        makers, around = links.makers, links.readers_around
        closed = self.closed
        for value in compress(range(len(closed)), map(ne, closed, last.closed)):
            if value in makers:
                due[makers[value]] = 1
            self._note(around.get(value, ()), due)
        if self.merged is not last.merged:
            for value in {value for value, _ in self.merged.items() ^ last.merged.items()}:
                due[makers[value]] = 1
                self._note(links.readers.get(value, ()), due)
        return due

    def _note(self, nodes: Sequence[int], due: bytearray) -> None:
        for index in nodes:
            due[index] = 1

    def _piece(self, index: int, node: StudiedOp, due: bytearray) -> Piece:
        operands, numbers = node.operands, self.numbers
        if node.merge_key is not None and node.results[0] in self.merged:
            return ()
        if not self.same.keys().isdisjoint(operands):
            operands = tuple([self.same.get(value, value) for value in operands])
        if node.around is Around.CONCATENATE:
            made = numbers[node.results[0]]
            if any(numbers[value] != made for value in operands):
                raise Unsupported("operands of a concatenate are resharded")
        elif node.around is Around.DOT:
            return self._dot(index, node, operands, due)
        return (self._step(2 * index, node.record, operands, node.results, node.op),)

    def _dot(self, index: int, node: StudiedOp, operands: tuple[int, ...], due: bytearray) -> Piece:
        """A dot, and the reshard of its result, which takes the place of the result."""
        (value,), new, numbers = node.results, self.links.reshards[index], self.numbers
        facts = (*[numbers[each] for each in operands], self.closed[value])
        before, found = self.reshards.get(index), self.passes.reshard_of_dot(node, facts)
        if found is None:
            numbers[value], numbers[new] = self.closed[value], 0
            self.reshards.pop(index, None)
            self.same.pop(value, None)
        else:
            numbers[value], numbers[new] = self.reshards[index] = found
            self.same[value] = new
        if found != before:
            self._note(self.links.readers.get(value, ()), due)
        dot = self._step(2 * index, node.record, operands, (value,), node.op)
        type_ = self.links.types[value]
        if found is None or type_ is None:
            return (dot,)
        record = self.passes.reshard_record(type_)
        return dot, self._step(2 * index + 1, record, (value,), (new,), node.op)

    def _step(
        self,
        key: int,
        record: OpRecord,
        operands: tuple[int, ...],
        results: tuple[int, ...],
        source: object,
    ) -> PlannedOp:
        types = tuple([self.links.types[value] for value in results])
        numbers = tuple([self.numbers[value] for value in results])
        return self.passes.step(key, record, (operands, results), types, numbers, source)

    def _block(self) -> Block:
        skeleton, numbers, same = self.links.skeleton, self.numbers, self.same
        arguments = tuple([self.passes.argument(slot, numbers[slot]) for slot in skeleton.arguments])
        returned = tuple([same.get(value, value) for value in skeleton.returned])
        ends = zip(returned, skeleton.targets, strict=True)
        tilings = tuple([self._tiling(value, numbers[slot] or numbers[value]) for value, slot in ends])
        return Block(arguments, tuple(chain.from_iterable(self.pieces)), returned, tilings)

    def _tiling(self, value: int, number: int) -> Tiling | None:
        type_ = self.links.types[value]
        return None if type_ is None else self.passes.tiling(number, len(type_.shape))
