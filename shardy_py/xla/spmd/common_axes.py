"""Dimensions of two tensors that are sharded along common axes, as XLA's partitioner compares them.

A tiling without axes gets some: one for each run of devices at equal distances along a dimension. Axes of
two meshes are the same if the meshes have axes of the same sizes, and these are at the same place. Source:
openxla/xla, `HloSharding::ToNamedSharding` in xla/hlo/ir/hlo_sharding.cc,
`GetScatterOperandReductionConflictDims` in xla/service/spmd/gather_scatter_handler.cc.

>>> rows = Tiling.of(Mesh.of(x=4, y=2), [("x",), ()])
>>> common_axes(rows, [0], rows, [0, 1]), common_axes(rows, [1], rows, [0, 1])
([0], [])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.tiling import Tiling

Place = tuple[int, int, int]
"""An axis by its number in the mesh, the size of what is major to it in that, and its own size."""
Places = tuple[tuple[int, ...], list[list[Place]]]
"""The sizes of the axes of a mesh, and the axes of each dimension."""


def common_axes(
    first: Tiling, of_first: Iterable[int], second: Tiling, of_second: Sequence[int]
) -> list[int]:
    """The dimensions of the second tiling that have an axis of one of the first's."""
    (sizes, theirs), (others, own) = map(_places, (first, second))
    if sizes != others:
        return []
    taken = {place for i in of_first for place in theirs[i]}
    return [i for i in of_second if not taken.isdisjoint(own[i])]


def _places(tiling: Tiling) -> Places:
    axes = tiling.axes
    if axes is None:
        return _inferred(tiling)
    mesh: Mesh = axes.mesh
    order = [axis.name for axis in mesh.axes]
    found = [
        [(order.index(axis.name), axis.pre_size, axis.size(mesh)) for axis in each]
        for each in axes.dimensions
    ]
    return tuple(axis.size for axis in mesh.axes), found


def _inferred(tiling: Tiling) -> Places:
    """The axes of the grid: by distance of the devices if these are in such an order, else its dimensions."""
    cells, sizes = tiling.cells, tiling.grid_dimensions
    runs = [_runs(cells.along({i})) for i in range(len(sizes))]
    offsets = [0]
    for each in runs:
        for size, distance in each:
            offsets = [start + n * distance for start in offsets for n in range(size)]
    if offsets != [*tiling.devices]:
        return tuple(sizes), [[(i, 1, size)] if size > 1 else [] for i, size in enumerate(sizes)]
    ordered = sorted((run for each in runs for run in each), key=lambda run: -run[1])
    places = [[(ordered.index(run), 1, run[0]) for run in each] for each in runs]
    return tuple(size for size, _ in ordered), places[: tiling.rank]


def _runs(devices: Sequence[int]) -> list[tuple[int, int]]:
    """The sizes and distances of the runs of devices along a dimension, major to minor."""
    found: list[tuple[int, int]] = []
    rest = [*devices]
    while len(rest) > 1:
        distance = rest[1] - rest[0]
        size = next((i for i, device in enumerate(rest) if device != rest[0] + i * distance), len(rest))
        found.append((size, distance))
        rest = rest[::size]
    return found[::-1]
