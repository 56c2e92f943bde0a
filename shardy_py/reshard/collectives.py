"""The collectives that implement a reshard: a short sequence that sends few bytes.

    all_slice           slices along new axes; sends nothing
    collective_permute  replaces axes of dimensions by others of the same total size
    all_to_all          moves axes from one dimension to another
    all_gather          removes axes

They are in this order because each is cheaper on smaller tensors, which those before it leave. If all axis
sizes are powers of two, one round is enough; otherwise axes may not fit in place of each other, and a second
round completes most reshards. The rest is gathered and sliced.

    from [{"x"}, {}] to [{}, {"x", "y"}]
        all_slice [{"y"}, {}]       [{"x", "y"}, {}]
        all_to_all {"x", "y"}: 0->1     [{}, {"x", "y"}]

Not here: reductions (`steps.py`), inserting reshards (`reshard_plan.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.reshard.axis_moves import AxisMoves, needs_permute, permuted, take_slices
from shardy_py.sharding import Axes, AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, total_size

_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class AllSlice:
    """Slices the tensor along `axes`, by dimension; `sharding` is that of the result, as in all of these."""

    sharding: TensorSharding
    axes: tuple[Axes, ...]


@dataclass(frozen=True, slots=True)
class CollectivePermute:
    """Sends the shard of each device to another device."""

    sharding: TensorSharding


@dataclass(frozen=True, slots=True)
class AllToAll:
    """Moves `axes` from dimension `source` to dimension `target`."""

    sharding: TensorSharding
    axes: Axes
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class AllGather:
    """Joins the shards along `axes`, by dimension."""

    sharding: TensorSharding
    axes: tuple[Axes, ...]


Collective = AllSlice | CollectivePermute | AllToAll | AllGather


def collectives_between(
    source: TensorSharding,
    target: TensorSharding,
    shape: Sequence[int],
    mesh: Mesh,
    *,
    misaligned_in_place: bool = False,
) -> tuple[Collective, ...]:
    """The collectives from `source` to `target`, whose meshes are `mesh` up to the order of devices.

    All intermediate shardings have the unreduced axes of `target`.

    misaligned_in_place: whether dimensions whose uneven parts do not line up move as others do. Otherwise,
        since JAX 0.12, they are gathered whole and sliced, and no axis is gathered that moves elsewhere.
    """
    if misaligned_in_place or not Behaviour.MISALIGNED_PARTS_ARE_GATHERED.holds:
        return tuple(_Sequence(source, target, shape, mesh).run())
    whole = misaligned(source, target, shape, mesh)
    return tuple(_Sequence(source, target, shape, mesh, whole, keeps_wanted=True).run())


def misaligned(
    source: TensorSharding, target: TensorSharding, shape: Sequence[int], mesh: Mesh
) -> frozenset[int]:
    """The dimensions whose parts before and after have different sizes in all, padding included."""
    pairs = zip(shape, source.dimensions, target.dimensions, strict=True)
    return frozenset(
        dimension
        for dimension, (size, have, want) in enumerate(pairs)
        if 1 < (before := total_size(have.axes, mesh)) != (after := total_size(want.axes, mesh)) > 1
        and -(-size // before) * before != -(-size // after) * after
    )


class _Sequence:
    """The sequence of one reshard.

    whole: the misaligned dimensions. The first round only empties them, by an all-to-all of all their axes or
        by a gather; the axes that they are to have wait for that.
    keeps_wanted: whether axes in front of those to gather stay if they move elsewhere.
    """

    def __init__(
        self,
        source: TensorSharding,
        target: TensorSharding,
        shape: Sequence[int],
        mesh: Mesh,
        whole: frozenset[int] = frozenset(),
        *,
        keeps_wanted: bool = False,
    ) -> None:
        self._moves = AxisMoves(source, target, mesh, whole)
        self._whole = whole
        self._keeps_wanted = keeps_wanted
        self._waiting: dict[int, list[AxisRef]] = {}
        self._mesh_name = source.mesh
        self._target = target
        self._shape = shape

    def run(self) -> Iterator[Collective]:
        self._hold()
        for _ in range(_ROUNDS + bool(self._waiting)):
            if self._is_done:
                return
            axes = take_slices(self._moves, self._shape, frozenset(self._waiting))
            if any(axes):
                yield AllSlice(self._current(), axes)
            yield from self._permute()
            # Axes that go directly to their place first: a wrong order there would require a permute.
            yield from self._exchange(only_in_place=True)
            yield from self._exchange(only_in_place=False)
            yield from self._gather()
            self._release()
        if not self._is_done:
            yield from self._start_over()

    def _hold(self) -> None:
        """Lets the axes wait that sharded misaligned dimensions are to have."""
        for dimension in self._whole:
            if self._moves.have[dimension]:
                self._waiting[dimension] = self._moves.want[dimension]
                self._moves.want[dimension] = []

    def _release(self) -> None:
        """Lets them wait no longer where the dimension has been emptied."""
        for dimension in [d for d in self._waiting if not self._moves.have[d]]:
            self._moves.want[dimension] = self._waiting.pop(dimension)

    @property
    def _is_done(self) -> bool:
        return self._mesh_name == self._target.mesh and self._moves.is_done

    def _current(self) -> TensorSharding:
        dimensions = tuple(DimensionSharding(axes, is_closed=True) for axes in self._moves.current)
        return replace(self._target, mesh=self._mesh_name, dimensions=dimensions, replicated_axes=())

    def _permute(self) -> Iterator[Collective]:
        """Permutes if it helps, or if the devices are in another order."""
        moves = permuted(self._moves) if not self._waiting and needs_permute(self._moves) else None
        if moves is not None:
            self._moves = moves
        elif self._mesh_name == self._target.mesh:
            return
        self._mesh_name = self._target.mesh
        yield CollectivePermute(self._current())

    def _exchange(self, *, only_in_place: bool) -> Iterator[Collective]:
        for dimension in range(self._moves.rank):
            while (found := self._movable(dimension, only_in_place=only_in_place)) is not None:
                target, start = found
                axes = self._moves.pop(dimension, start)
                self._moves.arrive(target, axes)
                self._release()
                merged = append_axes((), axes, self._moves.mesh)
                yield AllToAll(self._current(), merged, dimension, target)

    def _movable(self, dimension: int, *, only_in_place: bool) -> tuple[int, int] | None:
        """The other dimension where the last axes of `dimension` are wanted, and the index of the first."""
        have = self._moves.have[dimension]
        if not have:
            return None
        places = self._moves.places()
        target: int | None = None
        start = len(have)
        while start and (place := places.get(have[start - 1])) is not None:
            if place[0] == dimension or target not in (None, place[0]):
                break
            target, start = place[0], start - 1
        if target is None or (start and dimension in self._waiting):
            return None
        axes = have[start:]
        is_in_place = self._moves.want[target][: len(axes)] == axes
        return (target, start) if is_in_place or not only_in_place else None

    def _gather(self) -> Iterator[Collective]:
        """Gathers the axes that follow all those wanted elsewhere, and with them those in front.

        Dimensions that axes wait for are gathered whole.
        """
        wanted = self._moves.places().keys()
        gathered: list[Axes] = []
        for dimension, have in enumerate(self._moves.have):
            start = 0
            if dimension not in self._waiting:
                start = max((index + 1 for index, axis in enumerate(have) if axis in wanted), default=0)
                if not self._keeps_wanted and start < len(have):
                    start = 0
            gathered.append(append_axes((), self._moves.pop(dimension, start), self._moves.mesh))
        if any(gathered):
            yield AllGather(self._current(), tuple(gathered))

    def _start_over(self) -> Iterator[Collective]:
        """Gathers all axes that are not in their place, then slices; the devices are in the right order."""
        moves = self._moves
        gathered = tuple(append_axes((), moves.pop(d), moves.mesh) for d in range(moves.rank))
        if any(gathered):
            yield AllGather(self._current(), gathered)
        sliced = tuple(append_axes((), want, moves.mesh) for want in moves.want)
        for dimension, want in enumerate(moves.want):
            moves.add(dimension, want)
        if any(sliced):
            yield AllSlice(self._current(), sliced)


AxesPerDimension = tuple[Axes, ...]


@dataclass(frozen=True, slots=True)
class ScatterFusion:
    """A reduce-scatter instead of an all-reduce and an all-slice, and the axes left to slice or None."""

    axes: AxesPerDimension
    sharding: TensorSharding
    sliced_after: AxesPerDimension | None


def scatter_fusion(
    reduced: Axes, reduced_from: TensorSharding, sliced: AxesPerDimension, target: TensorSharding, mesh: Mesh
) -> ScatterFusion | None:
    """The fusion of reducing along `reduced` and slicing along `sliced`; None if `sliced` lacks some of them.

    reduced_from: the sharding of the operand. target: that of the result of slicing.
    """
    left = set(reduced)
    scattered: list[Axes] = []
    rest: list[Axes] = []
    for axes in sliced:
        count = 0
        while count < len(axes) and axes[count] in left:
            left.discard(axes[count])
            count += 1
        scattered.append(axes[:count])
        rest.append(axes[count:])
    if left:
        return None
    dimensions = tuple(
        DimensionSharding(append_axes(d.axes, axes, mesh), True)
        for d, axes in zip(reduced_from.dimensions, scattered, strict=True)
    )
    sharding = replace(target, dimensions=dimensions)
    return ScatterFusion(tuple(scattered), sharding, tuple(rest) if any(rest) else None)
