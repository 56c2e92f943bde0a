"""Tensors as each device holds them, with the collectives that were sent to get them.

A plan is a chain of such values. Not here: the choices (`reshard.py` and the module of each kind of op).

>>> from shardy_py.sharding import Mesh
>>> value = HeldTensor.of((8, 6), Tiling.of(Mesh.of(x=4), [("x",), ()]), "f32")
>>> value.local, value.sent("all_gather", (0, 1, 2, 3), local=(8, 6)).collectives[0].bytes
((2, 6), 144)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field, replace
from itertools import pairwise

from shardy_py.base.records import dataclass
from shardy_py.xla.spmd.halo import HaloPart
from shardy_py.xla.spmd.model import Pairs, PlannedCollective
from shardy_py.xla.spmd.tiling import Shape, Tiling

Rematerialization = tuple[Tiling, Tiling]
"""Two tilings between which a tensor is whole on every device, where XLA logs a warning."""


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """A tensor as each device holds it.

    shape: of the whole tensor. local: of the part on each device. element: the name of the element type.
    collectives: what was sent for it, in order. rematerialized: where XLA warns of an involuntary full
    rematerialization. chain: of a named value, its name and what was sent since, so that collectives of
    equal `key` are one; None otherwise. call: the reshard under way, which XLA looks up by value and this
    before it makes it; what is sent outside of any has no equal. earlier: the values that it was resharded
    from, to whose tilings it can go back for free. is_splat: whether it is a broadcast of a scalar, which a
    reshard makes anew. number: the value of a constant scalar of integers.
    """

    shape: Shape
    local: Shape
    tiling: Tiling
    element: str
    collectives: tuple[PlannedCollective, ...] = ()
    rematerialized: tuple[Rematerialization, ...] = ()
    chain: Hashable = field(default=None, compare=False, repr=False)
    call: Hashable = field(default=None, compare=False, repr=False)
    earlier: tuple[HeldTensor, ...] = field(default=(), compare=False, repr=False)
    is_splat: bool = field(default=False, compare=False, repr=False)
    number: int | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(shape: Sequence[int], tiling: Tiling, element: str, *, name: Hashable = None) -> HeldTensor:
        """A tensor in tiles, for which nothing was sent; name: of the value, for its reshards."""
        return HeldTensor(tuple(shape), tiling.local_shape(shape), tiling, element, chain=name)

    def sent(
        self,
        kind: str,
        devices: Sequence[int],
        *,
        local: Shape,
        held: Shape | None = None,
        target: Tiling | None = None,
        pairs: Pairs = (),
        continues: bool = False,
    ) -> HeldTensor:
        """The value after a collective over `held` (by default the local shape), then `local` in shape.

        devices: of the mesh, the first group that communicates; for a permute the senders, each with its
        receiver; pairs: all of these. target: the tiles after it, if the shapes do not tell. continues: see
        `PlannedCollective`.
        """
        group = tuple(devices)
        size = 2 if kind == "collective_permute" else len(group)
        operand = self.local if held is None else held
        chain = self._next(kind, size, operand, local, self.tiling, target)
        sent = PlannedCollective(
            kind,
            size,
            self.element,
            operand,
            key=chain,
            group=group,
            made_shape=local,
            pairs=pairs,
            continues=continues,
        )
        return replace(
            self, local=local, collectives=(*self.collectives, sent), chain=chain, earlier=(), is_splat=False
        )

    def summed(self, tiling: Tiling, dimensions: Iterable[int]) -> HeldTensor:
        """The value after an all-reduce for each of the dimensions that `tiling` shards, minor first."""
        value = self
        for i in reversed([*dimensions]):
            if tiling.tiles(i) > 1:
                more = value is not self
                value = value.sent("all_reduce", tiling.along([i]), local=value.local, continues=more)
        return value

    def permuted(self, halos: Iterable[HaloPart], dimension: int, *, size: int) -> HeldTensor:
        """The value after permutes of parts along `dimension`, which then has `size`."""
        devices = self.tiling.along([dimension])
        neighbours = tuple(device for pair in pairwise(devices) for device in pair)
        parts = [part for part in halos if part.size > 0]
        key = self._next(self.tiling, dimension, size)
        sent = tuple(
            PlannedCollective(
                "collective_permute",
                2,
                self.element,
                with_size(self.local, dimension, part.size),
                key=key and (key, i),
                group=neighbours,
                pairs=self.tiling.pairs(dimension, part.pairs),
                start=part.start,
            )
            for i, part in enumerate(parts)
        )
        local = with_size(self.local, dimension, size)
        return replace(
            self, local=local, collectives=(*self.collectives, *sent), chain=key, earlier=(), is_splat=False
        )

    def during(self, *call: Hashable) -> HeldTensor:
        """The value during a reshard that is made once; call: what tells it from others of this value."""
        return replace(self, call=ReshardKey(call, self.shape, self.local, self.tiling, self.tiling.names))

    def _next(self, *sent: Hashable) -> Hashable:
        """The chain after something more was sent."""
        return self.chain and self.call and (self.chain, self.call, *sent)


@dataclass(frozen=True, slots=True)
class ReshardKey:
    """A key of a reshard among those of one value: the sharding asked for, and the one before."""

    asked: tuple[Hashable, ...]
    shape: Shape
    local: Shape
    tiling: Tiling
    names: tuple[int, ...]


def without_axes(value: HeldTensor) -> HeldTensor:
    """The value as the partitioner has it once it has forgotten the axes of its tiling."""
    return replace(value, tiling=value.tiling.by(None)) if value.tiling.axes else value


def with_size(shape: Shape, dimension: int, size: int) -> Shape:
    """The shape with another size of one dimension."""
    return (*shape[:dimension], size, *shape[dimension + 1 :])
