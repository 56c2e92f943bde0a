"""One step of propagation: from the shardings of an op's tensors to those that change, memoized.

`StepTable` maps shardings, as numbers, to changes, as (position, number) pairs, and computes missing entries.
Ops of one kind share a table, so in a program of many layers most steps are look-ups.

Not here: when a step runs, and the steps that depend on a change (`fixpoint.py`).
"""

from __future__ import annotations

from threading import Lock

from shardy_py.base.records import dataclass
from shardy_py.base.session import PARTS_PER_ENTRY, SESSION
from shardy_py.propagation.basic import StepOptions, Strategy
from shardy_py.propagation.flat import ManualBoundary
from shardy_py.sharding import Mesh, Projection, ShardingRule, TensorSharding
from shardy_py.sharding.meshes import Meshes, mesh_of
from shardy_py.sharding.tensor_sharding import with_free_axes, without_manual_axes

Shardings = tuple[TensorSharding | None, ...]
NO_SHARDING = 0
"""The number of a missing sharding."""


class Interner:
    """Numbers shardings, so that a look-up by several of them hashes a few integers; values: by number.

    Several threads may number shardings at once.
    """

    def __init__(self) -> None:
        self.values: list[TensorSharding | None] = [None]
        self._numbers: dict[TensorSharding | None, int] = {None: NO_SHARDING}
        self._lock = Lock()

    def number(self, sharding: TensorSharding | None) -> int:
        """Returns the number of `sharding`, a new one if it is new."""
        number = self._numbers.get(sharding)
        return self._new(sharding) if number is None else number

    def _new(self, sharding: TensorSharding | None) -> int:
        with self._lock:
            number = self._numbers.get(sharding)
            if number is None:
                number = len(self.values)
                self.values.append(sharding)
                self._numbers[sharding] = number  # last, as others may look it up without the lock
            return number


Change = tuple[int, int]
"""The position of a tensor in the step and the number of its new sharding."""


@dataclass(frozen=True, slots=True)
class Step:
    """The propagation through an op: rule, strategy, options, boundary of a manual computation."""

    rule: ShardingRule
    strategy: Strategy
    options: StepOptions
    boundary: ManualBoundary | None = None

    def take(self, shardings: Shardings, meshes: Meshes) -> list[tuple[int, TensorSharding]]:
        """The tensors that change, operands first, with their new shardings."""
        passage = self.passage(shardings, meshes)
        if passage is None:
            return []
        changes: list[tuple[int, TensorSharding]] = []
        for position in passage.after.changed_since(passage.before):
            mapping = self.rule.tensors[position]
            new = passage.after.tensors[position].to_sharding(
                mapping, self.options.factor_sizes, passage.mesh_name, passage.mesh
            )
            old = passage.seen[position]
            if new == old or (old is None and new.has_no_axes):
                continue
            if self.boundary is not None and position == len(shardings) - 1:
                new = after_edge(self.boundary, new)
            changes.append((position, new))
        return changes

    def passage(self, shardings: Shardings, meshes: Meshes) -> Passage | None:
        """The projections before and after the strategy; None if there is no common, non-maximal mesh."""
        seen = shardings
        if self.boundary is not None and (last := shardings[-1]) is not None:
            seen = (*shardings[:-1], before_edge(self.boundary, last))
        found = common_mesh(seen, meshes)
        if found is None or found[1].is_maximal:
            return None
        name, mesh = found
        before = Projection.build(self.rule, seen, mesh)
        return Passage(seen, name, mesh, before, self.strategy(before, self.options, mesh))


@dataclass(frozen=True, slots=True)
class Passage:
    """One application of a step.

    seen: the shardings in terms of the rule; that of an edge at a boundary as seen by its source.
    before, after: their projections.
    """

    seen: Shardings
    mesh_name: str | Mesh
    mesh: Mesh
    before: Projection
    after: Projection


class StepTable(dict[tuple[int, ...], tuple[Change, ...]]):
    """The changes of a step, by the numbers of its shardings."""

    __slots__ = ("_interner", "_meshes", "step")

    def __init__(self, step: Step, interner: Interner, meshes: Meshes) -> None:
        super().__init__()
        self.step = step
        self._interner = interner
        self._meshes = meshes

    def __missing__(self, numbers: tuple[int, ...]) -> tuple[Change, ...]:
        values = self._interner.values
        taken = self.step.take(tuple(values[number] for number in numbers), self._meshes)
        changes = tuple((position, self._interner.number(new)) for position, new in taken)
        SESSION.charge(PARTS_PER_ENTRY)
        return self.setdefault(numbers, changes)


def common_mesh(shardings: Shardings, meshes: Meshes) -> tuple[str | Mesh, Mesh] | None:
    """The common mesh of all `shardings` and its first name; None if they have several meshes or none.

    Missing shardings and empty meshes are compatible with any mesh.
    """
    found: tuple[str | Mesh, Mesh] | None = None
    for sharding in shardings:
        if sharding is None:
            continue
        mesh = mesh_of(sharding, meshes)
        if found is None or found[1] == Mesh():
            found = (sharding.mesh, mesh)
        elif mesh not in (Mesh(), found[1]):
            return None
    return found


def before_edge(boundary: ManualBoundary, sharding: TensorSharding) -> TensorSharding:
    """The sharding of an edge as seen by its source: outside for an argument, inside for a result."""
    if boundary.is_argument:
        return with_free_axes(boundary.outer, sharding, boundary.manual_axes)
    return without_manual_axes(sharding, boundary.manual_axes)


def after_edge(boundary: ManualBoundary, sharding: TensorSharding) -> TensorSharding:
    """The inverse of `before_edge`: the sharding of the edge itself."""
    if boundary.is_argument:
        return without_manual_axes(sharding, boundary.manual_axes)
    return with_free_axes(boundary.outer, sharding, boundary.manual_axes)
