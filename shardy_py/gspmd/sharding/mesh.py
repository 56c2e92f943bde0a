"""Derives a mesh on which given shardings by tiles are representable, for dumps without one.

Each tiled sharding splits the devices at some strides; the mesh has an axis between any two consecutive
strides of all shardings. Source, also of the names of axes: openxla/xla,
xla/service/spmd/shardy/stablehlo_round_trip/stablehlo_import.cc. Not here: converting the shardings
(`axes.py`).

>>> from shardy_py.gspmd.sharding.text import hlo_sharding_from_text
>>> texts = ("{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "{devices=[2,4]<=[4,2]T(1,0)}")
>>> str(mesh_of_hlo_shardings(map(hlo_sharding_from_text, texts)))
'<["_axis_0"=4, "_axis_1"=2]>'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.gspmd.sharding.axes import position_digits
from shardy_py.gspmd.sharding.hlo_sharding import REPLICATED, HloSharding
from shardy_py.sharding.mesh import Mesh, MeshAxis

AXIS_PREFIX = "_axis_"
"""The names of axes are this prefix and a number, 0 for the major-most."""

_ORDER_LIMIT = 16
"""The most lists of devices tried as the order of the mesh."""


def mesh_of_hlo_shardings(shardings: Iterable[HloSharding]) -> Mesh | None:
    """The common mesh: that of a sharding by mesh and axes if there is one.

    None if no sharding is tiled: then any mesh is suitable.

    Raises:
        ShardyError: all shardings are not representable on one mesh.
    """
    leaves = dict.fromkeys(leaf for sharding in shardings for leaf in sharding.leaves)
    for leaf in leaves:
        if leaf.named is not None and leaf.named.mesh.axes:
            return leaf.named.mesh
    grids = ((leaf, leaf.tile_assignment) for leaf in leaves if leaf.is_tiled)
    tiled = [leaf for leaf, tiles in grids if tiles and tiles.size > 1]
    if not tiled:
        return None
    _check_sizes(tiled)
    # Replicas are in ascending order, not in that of the mesh: lists without replicas come first.
    likely_first = sorted(tiled, key=lambda leaf: REPLICATED in leaf.all_subgroup_types)
    lists = (leaf.tile_assignment.device_list for leaf in likely_first if leaf.tile_assignment)
    orders = [(), *dict.fromkeys(order for order in lists if order)][:_ORDER_LIMIT]
    for order in orders:
        mesh = _mesh_in_order(tiled, order)
        if mesh is not None:
            return mesh
    texts = ", ".join(map(str, tiled[:4])) + (", ..." if len(tiled) > 4 else "")
    raise ShardyError(
        Diagnostic(f"not representable on one mesh: {texts}", remedy="set the axes of their mesh: mesh-axes")
    )


def _check_sizes(tiled: Sequence[HloSharding]) -> None:
    first = tiled[0]
    for other in tiled:
        counts = [leaf.tile_assignment.size if leaf.tile_assignment else 0 for leaf in (first, other)]
        if counts[0] != counts[1]:
            expected = f"{counts[0]} devices, as of {first}"
            raise ShardyError.unexpected(str(other), expected=expected, got=str(counts[1]))


def _mesh_in_order(tiled: Sequence[HloSharding], order: tuple[int, ...]) -> Mesh | None:
    """The mesh over devices in `order` (empty: 0, 1, ...); None if the strides do not divide each other."""
    strides: set[int] = set()
    for leaf in tiled:
        dimensions = position_digits(leaf, order)
        if dimensions is None:
            return None
        for size, stride in (digit for digits in dimensions for digit in digits):
            strides |= {stride, stride * size}
    ordered = sorted(strides | {1}, reverse=True)
    if any(high % low for high, low in pairwise(ordered)):
        return None
    sizes = [high // low for high, low in pairwise(ordered)]
    axes = (MeshAxis(f"{AXIS_PREFIX}{index}", size) for index, size in enumerate(sizes))
    return Mesh(tuple(axes), order)
