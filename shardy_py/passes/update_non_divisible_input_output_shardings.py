"""`sdy-update-non-divisible-input-output-shardings`: what crosses a border is sharded evenly.

Borders are arguments and results of functions, results of calls, and the edges of manual computations. Each
dimension keeps the largest prefix of its axes that divides it.

    on <["x"=2, "y"=2]>
    before  func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
    after   func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from shardy_py.graph.boundary_shardings import transform_function, transform_owners, transform_results
from shardy_py.graph.data_flow import DATA_FLOW
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.top_level import functions_of, meshes_of
from shardy_py.ir import find_ops
from shardy_py.ops import TABLE
from shardy_py.partition.boundary import evenly_divided
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, mesh_of

CALL = "func.call"


@dataclass(frozen=True)
class UpdateNonDivisibleInputOutputShardingsPass(ModulePass):
    """Cuts shardings at borders to the axes that divide their dimensions."""

    name = "sdy-update-non-divisible-input-output-shardings"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        meshes = meshes_of(op)
        known: dict[tuple[int, int], tuple[TensorSharding, TensorSharding, Attribute]] = {}

        def divide(sharding: TensorSharding, type_: Attribute) -> TensorSharding:
            key = (id(sharding), id(type_))
            if key not in known:
                known[key] = (_divided(sharding, type_, meshes), sharding, type_)
            return known[key][0]

        for function in functions_of(op):
            transform_function(function, divide, self.name)
        rules = [row.name for row in TABLE.values() if row.keeps_divisible]
        flows = [n for n, flow in DATA_FLOW.items() if flow.should_keep_edge_owner_shardings_divisible]
        for inner in find_ops(op, CALL, *rules, *flows):
            if inner.name in DATA_FLOW:
                transform_owners(inner, divide, self.name)
            else:
                transform_results(inner, divide, self.name)


def _divided(sharding: TensorSharding, type_: Attribute, meshes: Meshes) -> TensorSharding:
    tensor = tensor_type(type_)
    if tensor is None or None in tensor.shape:
        return sharding
    shape = tuple(size or 0 for size in tensor.shape)
    return evenly_divided(sharding, shape, mesh_of(sharding, meshes))
