"""`sdy-drop-sharding-and-mesh`: removes all shardings and meshes.

    before  sdy.mesh @mesh = <["x"=2]>
            func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   func.func @f(%arg0: tensor<8xf32>)

Ops of the dialect, and the shardings in their properties, are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.dialects.sdy import MeshOp
from shardy_py.graph.holders import SHARDING
from shardy_py.ir import erase, find_ops, walk_pre_order


def drop_sharding_and_mesh(module: ModuleOp) -> None:
    """Removes sharding attributes and meshes."""
    remove_attributes(module, {SHARDING})
    for mesh in find_ops(module, MeshOp.name):
        erase(mesh)


def remove_attributes(root: Operation, names: Collection[str]) -> None:
    """Remove discardable attributes from all ops in `root`, and from function arguments and results."""
    for op in walk_pre_order(root):
        for name in names:
            op.attributes.pop(name, None)
        if isinstance(op, FuncOp):
            for place in ("arg_attrs", "res_attrs"):
                _remove_from_values(op, place, names)


def _remove_from_values(function: Operation, place: str, names: Collection[str]) -> None:
    given = function.properties.get(place)
    if given is None:
        return
    old = [dictionary.data for dictionary in cast("ArrayAttr[DictionaryAttr]", given).data]
    new = [{name: value for name, value in entries.items() if name not in names} for entries in old]
    if not any(new):
        del function.properties[place]
    elif new != old:
        function.properties[place] = ArrayAttr(map(DictionaryAttr, new))
