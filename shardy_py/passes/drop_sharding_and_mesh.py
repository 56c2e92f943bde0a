"""`sdy-drop-sharding-and-mesh`: removes shardings and meshes, as if nobody had asked for any.

    before  sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   func.func @f(%arg0: tensor<8xf32>)

Ops of the dialect stay, with the shardings that are their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.graph.attribute_removal import remove_attributes
from shardy_py.graph.holders import SHARDING
from shardy_py.graph.symbols import MESH
from shardy_py.ir import erase, find_ops


@dataclass(frozen=True)
class DropShardingAndMeshPass(ModulePass):
    """Removes sharding attributes and meshes."""

    name = "sdy-drop-sharding-and-mesh"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remove_attributes(op, {SHARDING})
        for mesh in find_ops(op, MESH):
            erase(mesh)
