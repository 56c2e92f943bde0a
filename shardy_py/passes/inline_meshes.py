"""`sdy-inline-meshes`: replaces mesh symbols by the meshes themselves, and erases the symbols.

    before  sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>})

Replica groups over axes of a mesh get that mesh too, as StableHLO spells it. The inverse is
`sdy-lift-inlined-meshes`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, SymbolRefAttr, TensorType, i64
from xdsl.ir import Attribute

from shardy_py.dialects.sdy import MeshOp
from shardy_py.dialects.stablehlo.attributes import MeshAttr, ReplicaGroupMeshAxesAttr
from shardy_py.dialects.stablehlo.structs import Mesh as StablehloMesh
from shardy_py.dialects.stablehlo.structs import MeshAxis, ReplicaGroupMeshAxes
from shardy_py.graph.sharding_walk import transform_shardings
from shardy_py.graph.symbols import meshes_of, top_level_ops
from shardy_py.ir import erase, walk_pre_order
from shardy_py.sharding import Mesh
from shardy_py.sharding.meshes import mesh_of

GROUPS = "replica_groups"


def inline_meshes(module: ModuleOp) -> None:
    """Replaces references to meshes by the meshes, and removes the meshes of the module."""
    meshes = meshes_of(module)
    transform_shardings(module, lambda sharding: replace(sharding, mesh=mesh_of(sharding, meshes)))
    for inner in walk_pre_order(module):
        groups = inner.properties.get(GROUPS)
        if isinstance(groups, ReplicaGroupMeshAxesAttr):
            inner.properties[GROUPS] = _with_mesh(groups, meshes)
    for inner in list(top_level_ops(module)):
        if inner.name == MeshOp.name:
            erase(inner)


def _with_mesh(groups: Attribute, meshes: dict[str, Mesh]) -> Attribute:
    given = cast(ReplicaGroupMeshAxes, cast(Any, groups).data)
    name = given.mesh.root_reference.data if isinstance(given.mesh, SymbolRefAttr) else None
    if name not in meshes:
        return groups
    return ReplicaGroupMeshAxesAttr(replace(given, mesh=MeshAttr(_stablehlo_mesh(meshes[name]))))


def _stablehlo_mesh(mesh: Mesh) -> StablehloMesh:
    axes = tuple(MeshAxis(axis.name, axis.size) for axis in mesh.axes)
    ids = mesh.device_ids
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(ids)]), ids) if ids else None
    return StablehloMesh(axes, dense)
