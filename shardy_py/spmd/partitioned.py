"""Tensors as each device holds them, with the collectives that were sent to get them.

A plan is a chain of such values. Not here: the choices (`reshard.py` and the module of each kind of op).

>>> from shardy_py.sharding import Mesh
>>> value = Partitioned.of((8, 6), Tiling.of(Mesh.of(x=4), [("x",), ()]), "f32")
>>> value.local, value.sent("all_gather", 4, local=(8, 6)).collectives[0].bytes
((2, 6), 144)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shardy_py.spmd.model import Collective
from shardy_py.spmd.tiling import Shape, Tiling

Rematerialization = tuple[Tiling, Tiling]
"""Two tilings between which a tensor is whole on every device, where XLA logs a warning."""


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A tensor as each device holds it.

    shape: of the whole tensor. local: of the part on each device. element: the name of the element type.
    collectives: what was sent for it, in order. rematerialized: where XLA warns of an involuntary full
    rematerialization.
    """

    shape: Shape
    local: Shape
    tiling: Tiling
    element: str
    collectives: tuple[Collective, ...] = ()
    rematerialized: tuple[Rematerialization, ...] = ()

    @staticmethod
    def of(shape: Sequence[int], tiling: Tiling, element: str) -> Partitioned:
        """A tensor in tiles, for which nothing was sent."""
        return Partitioned(tuple(shape), tiling.local_shape(shape), tiling, element)

    def sent(self, kind: str, group_size: int, *, local: Shape, held: Shape | None = None) -> Partitioned:
        """The value after a collective over `held` (by default the local shape), then `local` in shape."""
        operand = self.local if held is None else held
        sent = Collective(kind, group_size, self.element, operand)
        return replace(self, local=local, collectives=(*self.collectives, sent))

    def permuted(self, sizes: Iterable[int], dimension: int, *, size: int) -> Partitioned:
        """The value after permutes of parts of `sizes` elements along `dimension`, which then has `size`."""
        parts = [with_size(self.local, dimension, part) for part in sizes if part > 0]
        sent = tuple(Collective("collective_permute", 2, self.element, part) for part in parts)
        local = with_size(self.local, dimension, size)
        return replace(self, local=local, collectives=(*self.collectives, *sent))


def with_size(shape: Shape, dimension: int, size: int) -> Shape:
    """The shape with another size of one dimension."""
    return (*shape[:dimension], size, *shape[dimension + 1 :])
