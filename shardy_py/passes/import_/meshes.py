"""The passes that convert inlined meshes to symbols, and symbols to inlined meshes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.dialects.sdy import MeshAttr, MeshOp
from shardy_py.mlir.dialects.stablehlo import attributes, structs
from shardy_py.mlir.ir import erase, find_ops, place_after, place_at_start, walk_pre_order
from shardy_py.mlir.sharding_walk import transform_shardings
from shardy_py.mlir.symbols import Symbols
from shardy_py.passes.options import LiftInlinedMeshesOptions
from shardy_py.sharding import Mesh, MeshAxis, TensorSharding
from shardy_py.sharding.meshes import mesh_of

STABLEHLO_MESH = "stablehlo.mesh"
REPLICA_GROUPS = "replica_groups"
_WITH_REPLICA_GROUPS = tuple(
    op.name
    for op in (
        *(stablehlo.AllGatherOp, stablehlo.AllReduceOp, stablehlo.ReduceScatterOp),
        *(stablehlo.AllToAllOp, stablehlo.CollectiveBroadcastOp),
    )
)
"""Ops whose groups may be given as axes of a mesh, in the order in which their meshes get names."""


_MAXIMAL, _SINGLE = "maximal_mesh", "single_device"
_DEFAULT_NAMES = LiftInlinedMeshesOptions()


def lift_inlined_meshes(module: builtin.ModuleOp, options: LiftInlinedMeshesOptions = _DEFAULT_NAMES) -> None:
    """`sdy-lift-inlined-meshes`: converts meshes inlined in shardings to symbols, one per distinct mesh.

    Equal mesh symbols are merged. Each mesh also gets StableHLO's description of it.

    before  sdy.mesh @a = <["x"=2]>   sdy.mesh @b = <["x"=2]>    <@b, [{"x"}]>   <mesh<["y"=4]>, [{"y"}]>
    after   sdy.mesh @a = <["x"=2]>   sdy.mesh @mesh = <["y"=4]> <@a, [{"x"}]>   <@mesh, [{"y"}]>
    """
    names = MeshNames(module, _SINGLE if options.use_single_device_mesh_names else _MAXIMAL)
    transform_shardings(module, names.lift)
    collectives = find_ops(module, *_WITH_REPLICA_GROUPS)
    for collective in sorted(collectives, key=lambda inner: _WITH_REPLICA_GROUPS.index(inner.name)):
        names.lift_replica_groups(collective)
    for mesh in _meshes(module):
        if STABLEHLO_MESH not in mesh.attributes:
            mesh.attributes[STABLEHLO_MESH] = stablehlo_mesh(mesh.mesh.data)


class MeshNames:
    """The name of each mesh and, for an erased symbol, of the mesh that replaces it."""

    def __init__(self, module: builtin.ModuleOp, of_one_device: str = _MAXIMAL) -> None:
        """of_one_device: how names of meshes of one device begin."""
        self._of_one_device = of_one_device
        self._symbols = Symbols(module)
        self._names: dict[Hashable, str] = {}
        self._last: Operation | None = None
        self._module = module
        for op in _meshes(module):
            first = self._names.setdefault(op.mesh.data, op.sym_name.data)
            if first == op.sym_name.data:
                self._last = op
            else:
                self._names[op.sym_name.data] = first
                self._symbols.erase(op)

    def lift(self, sharding: TensorSharding) -> TensorSharding:
        """The sharding with the name of its mesh."""
        mesh = sharding.mesh
        name = self._names.get(mesh)
        if name is None:
            if isinstance(mesh, str):
                return sharding
            name = self._add(mesh, mesh, self._module.location)
        return replace(sharding, mesh=name)

    def lift_replica_groups(self, op: Operation) -> None:
        """Names the mesh that the replica groups of `op` refer to."""
        groups: Any = op.properties.get(REPLICA_GROUPS)
        reference = getattr(getattr(groups, "data", None), "mesh", None)
        if reference is None:
            return
        mesh = _mesh_value(reference)
        name = self._names.get(mesh)
        if name is None:
            if isinstance(mesh, str):
                return
            name = self._add(mesh, _as_sdy(mesh), op.location)
        op.properties[REPLICA_GROUPS] = type(groups)(replace(groups.data, mesh=builtin.SymbolRefAttr(name)))

    def _add(self, key: Hashable, mesh: Mesh, location: Any) -> str:
        op = MeshOp(self._default_name(mesh), mesh)
        op.location = location
        if self._last is None:
            place_at_start(op, self._module.body.block)
        else:
            place_after(op, self._last)
        self._last = op
        name = self._names[key] = self._symbols.insert(op)
        return name

    def _default_name(self, mesh: Mesh) -> str:
        if mesh.is_maximal:
            return f"{self._of_one_device}_{mesh.maximal_device_id}"
        return "mesh" if mesh.axes or mesh.device_ids else "empty_mesh"


def stablehlo_mesh(mesh: Mesh) -> builtin.DictionaryAttr:
    """`{axes = [{name = "x", size = 2 : i64}], device_ids = dense<[1, 0]> : tensor<2xi64>}`."""
    axes = [
        builtin.DictionaryAttr(
            {"name": builtin.StringAttr(axis.name), "size": builtin.IntegerAttr(axis.size, builtin.i64)}
        )
        for axis in mesh.axes
    ]
    entries: dict[str, Attribute] = {"axes": builtin.ArrayAttr(axes)}
    if (device_ids := _device_ids(mesh)) is not None:
        entries["device_ids"] = device_ids
    return builtin.DictionaryAttr(entries)


def _device_ids(mesh: Mesh) -> builtin.DenseIntOrFPElementsAttr | None:
    ids = mesh.device_ids
    return (
        builtin.DenseIntOrFPElementsAttr.from_list(builtin.TensorType(builtin.i64, [len(ids)]), ids)
        if ids
        else None
    )


def _meshes(module: builtin.ModuleOp) -> list[MeshOp]:
    return [op for op in module.body.block.ops if isinstance(op, MeshOp)]


def _mesh_value(reference: Attribute) -> object:
    """The key of a mesh reference in replica groups: a name, or a mesh of sdy or StableHLO."""
    if isinstance(reference, builtin.SymbolRefAttr):
        return reference.root_reference.data
    return reference.data if isinstance(reference, MeshAttr) else reference


def _as_sdy(mesh: Any) -> Mesh:
    """The mesh that one of StableHLO describes; its device ids are not kept."""
    if isinstance(mesh, Mesh):
        return mesh
    return Mesh(tuple(MeshAxis(axis.name, axis.size) for axis in mesh.data.axes))


def inline_meshes(module: builtin.ModuleOp) -> None:
    """`sdy-inline-meshes`: replaces mesh symbols by the meshes themselves, and erases the symbols.

    before  sdy.mesh @mesh = <["x"=2]>
        func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>})

    Replica groups over axes of a mesh get that mesh too, as StableHLO spells it. The inverse is
    `sdy-lift-inlined-meshes`.
    """
    meshes = Symbols(module).meshes()
    transform_shardings(module, lambda sharding: replace(sharding, mesh=mesh_of(sharding, meshes)))
    inline_replica_group_meshes(module, meshes)
    for mesh in _meshes(module):
        erase(mesh)


def inline_replica_group_meshes(module: builtin.ModuleOp, meshes: dict[str, Mesh]) -> None:
    """Replaces mesh symbols in replica groups by the meshes."""
    for inner in walk_pre_order(module):
        groups = inner.properties.get(REPLICA_GROUPS)
        if isinstance(groups, attributes.ReplicaGroupMeshAxesAttr):
            inner.properties[REPLICA_GROUPS] = _with_mesh(groups, meshes)


def _with_mesh(groups: Attribute, meshes: dict[str, Mesh]) -> Attribute:
    given = cast(structs.ReplicaGroupMeshAxes, cast(Any, groups).data)
    name = given.mesh.root_reference.data if isinstance(given.mesh, builtin.SymbolRefAttr) else None
    if name not in meshes:
        return groups
    return attributes.ReplicaGroupMeshAxesAttr(replace(given, mesh=inlined_mesh(meshes[name])))


def replica_group_meshes(module: builtin.ModuleOp) -> set[str]:
    """The symbols of the meshes that replica groups name."""
    found: set[str] = set()
    for inner in walk_pre_order(module):
        groups = inner.properties.get(REPLICA_GROUPS)
        if isinstance(groups, attributes.ReplicaGroupMeshAxesAttr):
            mesh = groups.data.mesh
            if isinstance(mesh, builtin.SymbolRefAttr):
                found.add(mesh.root_reference.data)
    return found


def inlined_mesh(mesh: Mesh) -> Attribute:
    """`#stablehlo.mesh<...>`: a mesh as replica groups refer to it without a symbol."""
    axes = tuple(structs.StablehloMeshAxis(axis.name, axis.size) for axis in mesh.axes)
    return attributes.MeshAttr(structs.StablehloMesh(axes, _device_ids(mesh)))
