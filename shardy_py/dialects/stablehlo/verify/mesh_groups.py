"""Replica groups that are axes of a mesh: the mesh exists."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from shardy_py.dialects.faults import Fault
from shardy_py.dialects.stablehlo.structs import ReplicaGroupMeshAxes
from shardy_py.dialects.verification.scope import Scope


def check_mesh_groups(op: Operation, scope: Scope) -> None:
    """The mesh that replica groups name is a symbol of the module."""
    attribute: Any = op.properties.get("replica_groups")
    groups = getattr(attribute, "data", None)
    if isinstance(groups, ReplicaGroupMeshAxes) and isinstance(groups.mesh, SymbolRefAttr):
        name = groups.mesh.string_value()
        if name not in scope.symbols:
            raise Fault(f"replica_groups: mesh symbol '{name}' not found")
