"""The cheapest way from one sharding to another: the shortest path over collectives of one axis each.

Shardings are nodes: which axes cut which dimension, major to minor. Edges gather the minor-most axis of a
dimension, slice along an axis that is free, move a minor-most axis to another dimension, or let axes of one
size, or of one dimension, change places. Their lengths are seconds (`cost.py`). A shortest path keeps the
triangle inequality: no detour over a third sharding that cuts axes at the same places is cheaper (E. W.
Dijkstra, "A Note on Two Problems in Connexion with Graphs", 1959). Over one that takes an axis apart there
may be: parts of an axis move on their own.

Not here: the sequence that Shardy takes (`collectives.py`), which need not be the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from math import prod

from shardy_py.errors import ShardyError
from shardy_py.partition.cost import Cost, CostModel
from shardy_py.sharding import AxisRef, Mesh, SubAxis, TensorSharding

State = tuple[tuple[int, ...], ...]
"""By dimension, the numbers of the axes that cut it, major to minor."""

MAX_STATES = 50_000


def reshard_cost(
    source: TensorSharding, target: TensorSharding, mesh: Mesh, whole_bytes: int, model: CostModel
) -> Cost:
    """The cost of the cheapest sequence of collectives; bytes are those that a device takes in along it.

    whole_bytes: of the whole tensor, cut evenly. Axes are taken apart where either sharding names a part.
    Raises `ShardyError` when the ranks differ, or more than `MAX_STATES` shardings would be looked at.
    """
    if source.rank != target.rank:
        raise ShardyError(
            f"shardings of tensors of rank {source.rank} and {target.rank} have no way between them"
        )
    atoms = _atoms((source, target), mesh)
    graph = _Graph(atoms, mesh, whole_bytes, model)
    return graph.shortest(_state(source, atoms, mesh), _state(target, atoms, mesh))


class _Graph:
    def __init__(self, atoms: Sequence[AxisRef], mesh: Mesh, whole_bytes: int, model: CostModel) -> None:
        self.axes = [(atom.name, atom.size(mesh)) for atom in atoms]
        self.whole_bytes = whole_bytes
        self.model = model

    def shortest(self, start: State, end: State) -> Cost:
        best = {start: 0.0}
        waiting: list[tuple[float, int, State]] = [(0.0, 0, start)]
        done: set[State] = set()
        while waiting:
            seconds, moved, state = heappop(waiting)
            if state == end:
                return Cost(moved, seconds)
            if state in done:
                continue
            done.add(state)
            if len(done) > MAX_STATES:
                raise ShardyError(f"more than {MAX_STATES} shardings lie between the two; use a coarser mesh")
            for following, cost in self._edges(state):
                length = seconds + cost.seconds
                if length < best.get(following, float("inf")):
                    best[following] = length
                    heappush(waiting, (length, moved + cost.bytes, following))
        raise ShardyError("no collectives lead from one sharding to the other")

    def _edges(self, state: State) -> Iterator[tuple[State, Cost]]:
        held = self._held(state)
        used = {axis for axes in state for axis in axes}
        free = [axis for axis in range(len(self.axes)) if axis not in used]
        for d, axes in enumerate(state):
            for axis in free:
                yield _with(state, d, (*axes, axis)), Cost()
            if axes:
                shorter = _with(state, d, axes[:-1])
                yield shorter, self.model.all_gather((self.axes[axes[-1]],), held)
                for e, others in enumerate(state):
                    if e != d:
                        moved = _with(shorter, e, (*others, axes[-1]))
                        yield moved, self.model.all_to_all((self.axes[axes[-1]],), held)
        yield from self._permutes(state, free, held)

    def _permutes(self, state: State, free: Sequence[int], held: int) -> Iterator[tuple[State, Cost]]:
        """Two axes of one size, or of one dimension, change places; or one that is free takes a place."""
        places = [(d, i) for d, axes in enumerate(state) for i in range(len(axes))]
        for number, (d, i) in enumerate(places):
            axis = state[d][i]
            for other in free:
                if self.axes[other][1] == self.axes[axis][1]:
                    yield _replaced(state, d, i, other), self._permute((axis, other), held)
            for e, j in places[number + 1 :]:
                other = state[e][j]
                if d == e or self.axes[other][1] == self.axes[axis][1]:
                    swapped = _replaced(_replaced(state, d, i, other), e, j, axis)
                    yield swapped, self._permute((axis, other), held)

    def _permute(self, axes: tuple[int, int], held: int) -> Cost:
        return self.model.collective_permute([self.axes[axis] for axis in axes], held)

    def _held(self, state: State) -> int:
        return -(-self.whole_bytes // prod(self.axes[axis][1] for axes in state for axis in axes))


def _with(state: State, dimension: int, axes: tuple[int, ...]) -> State:
    return (*state[:dimension], axes, *state[dimension + 1 :])


def _replaced(state: State, dimension: int, position: int, axis: int) -> State:
    axes = state[dimension]
    return _with(state, dimension, (*axes[:position], axis, *axes[position + 1 :]))


def _atoms(shardings: Sequence[TensorSharding], mesh: Mesh) -> tuple[AxisRef, ...]:
    """All axes of the mesh, taken apart where one of the shardings names a part."""
    cuts: dict[str, set[int]] = {axis.name: {1, axis.size} for axis in mesh.axes}
    for sharding in shardings:
        for dimension in sharding.dimensions:
            for axis in dimension.axes:
                if axis.sub_axis is not None:
                    cuts[axis.name] |= {axis.sub_axis.pre_size, axis.sub_axis.next_pre_size}
    return tuple(
        atom for axis in mesh.axes if axis.size > 1 for atom in _parts(axis.name, sorted(cuts[axis.name]))
    )


def _parts(name: str, cuts: Sequence[int]) -> Iterator[AxisRef]:
    if len(cuts) == 2:
        yield AxisRef(name)
        return
    for low, high in pairwise(cuts):
        if high % low:
            raise ShardyError(f'parts of axis "{name}" that begin at {low} and {high} overlap')
        yield AxisRef(name, SubAxis(low, high // low))


def _state(sharding: TensorSharding, atoms: Sequence[AxisRef], mesh: Mesh) -> State:
    return tuple(
        tuple(
            number
            for axis in dimension.axes
            for number, atom in enumerate(atoms)
            if atom.name == axis.name and axis.contains(atom)
        )
        for dimension in sharding.dimensions
    )
