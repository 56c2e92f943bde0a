"""`sdy-remove-size-one-axes`: removes axes of size one, which can only conflict.

Meshes are not changed.

    before  sdy.mesh @mesh = <["x"=1, "y"=2]>    <@mesh, [{"x", "y"}p1, {"x"}p2]>
    after   sdy.mesh @mesh = <["x"=1, "y"=2]>    <@mesh, [{"y"}p1, {}]>
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.sdy import MeshOp
from shardy_py.graph.sharding_walk import transform_shardings
from shardy_py.graph.symbols import Symbols
from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding


def remove_size_one_axes(module: ModuleOp) -> None:
    """Removes axes of size one from all shardings."""
    meshes = [inner.mesh.data for inner in module.body.block.ops if isinstance(inner, MeshOp)]
    if any(axis.size == 1 for mesh in meshes for axis in mesh.axes):
        symbols = Symbols(module)
        transform_shardings(module, lambda s: without_size_one_axes(s, symbols.mesh(s.mesh)))


def without_size_one_axes(sharding: TensorSharding, mesh: Mesh | None) -> TensorSharding:
    """The sharding without the axes of `mesh` of size one.

    A dimension that is left empty and closed has no priority.
    """

    def kept(axes: Axes) -> Axes:
        return axes if mesh is None else tuple(axis for axis in axes if axis.size(mesh) != 1)

    def dimension(given: DimensionSharding) -> DimensionSharding:
        axes = kept(given.axes)
        return replace(given, axes=axes, priority=given.priority if axes or not given.is_closed else None)

    return replace(
        sharding,
        dimensions=tuple(map(dimension, sharding.dimensions)),
        replicated_axes=kept(sharding.replicated_axes),
        unreduced_axes=kept(sharding.unreduced_axes),
    )
