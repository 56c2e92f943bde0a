"""The axes of a tiling: what XLA's partitioner knows of it beside the devices, since shardings have axes.

Such a tiling moves the data of any other of the same tiles; but two of them merge axis by axis, and no
all-to-all goes between one and a partial tiling without axes (`all_to_all.py`). Tilings that the
partitioner makes in other ways than those here, such as those of products and of groups of devices, have no
axes. Source: openxla/xla, xla/hlo/ir/named_sharding.h, `MergeShardingIfCompatible` in
xla/hlo/utils/hlo_sharding_util.cc. Not here: tiles and devices (`tiling.py`).

>>> mesh, x, y = Mesh.of(x=2, y=2, z=2), AxisRef("x"), AxisRef("y")
>>> merged = ByAxes(mesh, ((), (y,))).merged(ByAxes(mesh, ((x, y), ())))
>>> [[axis.name for axis in axes] for axes in merged.dimensions]
[['x'], ['y']]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import gcd

from shardy_py.base.records import dataclass
from shardy_py.sharding import AxisRef, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import Prefix, append_axes, prefix_status, truncate_overlaps

Axes = tuple[AxisRef, ...]


@dataclass(frozen=True, slots=True)
class ByAxes:
    """The axes along which each dimension is sharded, major to minor.

    fixed: axes that shard no dimension: those that are explicitly replicated, and those that are unreduced.
    """

    mesh: Mesh
    dimensions: tuple[Axes, ...]
    fixed: tuple[Axes, Axes] = ((), ())

    @staticmethod
    def of(sharding: TensorSharding, mesh: Mesh) -> ByAxes:
        """The axes of a sharding."""
        dimensions = tuple(dimension.axes for dimension in sharding.dimensions)
        return ByAxes(mesh, dimensions, (sharding.replicated_axes, sharding.unreduced_axes))

    def at(self, places: Sequence[int | None]) -> ByAxes:
        """The axes of a tensor whose dimension i is dimension `places[i]`; None: it is whole."""
        return replace(self, dimensions=tuple(() if at is None else self.dimensions[at] for at in places))

    def replicated_on(self, dimensions: Collection[int]) -> ByAxes:
        """The axes of the tensor with these dimensions whole."""
        return self.at([None if i in dimensions else i for i in range(len(self.dimensions))])

    def moved(self, source: int, target: int, size: int) -> ByAxes | None:
        """The axes with the tiles of `source` behind its first `size` as the minor ones of `target`."""
        split = _split(self.dimensions[source], size, self.mesh)
        if split is None:
            return None
        dimensions = [*self.dimensions]
        dimensions[source] = split[0]
        dimensions[target] = append_axes(dimensions[target], split[1], self.mesh)
        return replace(self, dimensions=tuple(dimensions))

    def merged(self, more: ByAxes) -> ByAxes | None:
        """The axes, with further ones of `more`, as far as other dimensions do not have them.

        None: a dimension is sharded along different axes in both, or others have all of its further ones.
        """
        if self.fixed[1] != more.fixed[1]:
            return None
        found: list[Axes] = []
        for i, (own, others) in enumerate(zip(self.dimensions, more.dimensions, strict=True)):
            if prefix_status(others, own) is not Prefix.NONE:
                found.append(own)
                continue
            if prefix_status(own, others) is Prefix.NONE:
                return None
            used = [axis for j, axes in enumerate(self.dimensions) if j != i for axis in axes]
            kept = truncate_overlaps(others, [*used, *self.fixed[0], *self.fixed[1]])
            if kept != others and len(kept) == len(own) and kept[-1:] == own[-1:]:
                return None
            found.append(kept)
        return replace(self, dimensions=tuple(found))


def _split(axes: Axes, size: int, mesh: Mesh) -> tuple[Axes, Axes] | None:
    """The major axes, of `size` tiles together, and the rest; None if there are none."""
    for i, axis in enumerate(axes):
        if size == 1:
            return axes[:i], axes[i:]
        own = axis.size(mesh)
        if own > size:
            if gcd(own, size) != size:
                return None
            major = AxisRef(axis.name, SubAxis(axis.pre_size, size))
            minor = AxisRef(axis.name, SubAxis(axis.pre_size * size, own // size))
            return (*axes[:i], major), (minor, *axes[i + 1 :])
        if size % own:
            return None
        size //= own
    return (axes, ()) if size == 1 else None
