"""`sdy-optimize-collectives`: erases permutes that prepare a dimension for all-to-alls.

%arg0: [{"x", "y"}, {}, {}]
before  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"y", "x"}, {}, {}]> : tensor<16x8x8xf32>
        %1 = sdy.all_to_all [{"x"}: 0->2] %0 out_sharding=<@mesh, [{"y"}, {}, {"x"}]>
        %2 = sdy.all_to_all [{"y"}: 0->1] %1 out_sharding=<@mesh, [{}, {"y"}, {"x"}]>
after   %0 = stablehlo.reshape %arg0 : (tensor<16x8x8xf32>) -> tensor<2x2x4x8x8xf32>
        %1 = sdy.all_to_all [{"x"}: 0->4] %0 out_sharding=<@mesh, [{}, {"y"}, {}, {}, {"x"}]>
        %2 = sdy.all_to_all [{"y"}: 1->3] %1 out_sharding=<@mesh, [{}, {}, {}, {"y"}, {"x"}]>
        %3 = stablehlo.reshape %2 : (tensor<2x2x4x8x8xf32>) -> tensor<16x8x8xf32>

`canonicalize` makes one all-to-all of both. Not here: when it is possible (`reshard/exchange_chains.py`).
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.sdy import TensorShardingAttr
from shardy_py.mlir.ir import build_operation, erase, operands_of, place_before
from shardy_py.mlir.movements import Movement, note, replace_by_values
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, shape_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.typed import property_of
from shardy_py.mlir.value_shardings import ShardingReader, set_sharding
from shardy_py.passes.export.communication_ops import only_user, sizes_of
from shardy_py.passes.rewrites import FOLDS, Rewrite, apply_rewrites
from shardy_py.reshard.exchange_chains import Params, SplitExchange, permuted_dimension, split_exchange
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, mesh_of

_PASS = "sdy-optimize-collectives"


def optimize_collectives(module: ModuleOp) -> None:
    """Replaces all permutes before all-to-alls for which there is a plan; folds as `canonicalize` does."""
    without_permute = partial(_without_permute, meshes=meshes_of(module), reader=ShardingReader())
    apply_rewrites(module, [*FOLDS, Rewrite(sdy.CollectivePermuteOp, without_permute)])


def _without_permute(permute: Operation, meshes: Meshes, reader: ShardingReader) -> bool:
    value = operands_of(permute)[0]
    type_ = tensor_type(value.type)
    source = reader.of(value)
    if type_ is None or None in type_.shape or source is None:
        return False
    mesh = mesh_of(source, meshes)
    permuted = _sharding(permute)
    dimension = permuted_dimension(source, permuted, mesh)
    chain = [] if dimension is None else _chain(permute, dimension)
    if not chain:
        return False
    target, exchanges = _sharding(chain[-1]), [_params(op) for op in chain]
    plan = split_exchange(shape_of(value), source, permuted, exchanges, target, mesh)
    if plan is None:
        return False
    _replace(permute, chain, plan)
    return True


def _chain(permute: Operation, dimension: int) -> list[Operation]:
    """The all-to-alls after the permute that only leave `dimension`, each the only user of the one before."""
    found: list[Operation] = []
    user = only_user(permute)
    while isinstance(user, sdy.AllToAllOp) and all(source == dimension for _, source, _ in _params(user)):
        found.append(user)
        user = only_user(user)
    return found


def _replace(permute: Operation, chain: list[Operation], plan: SplitExchange) -> None:
    last = chain[-1]
    build = StablehloBuilder(last, location=permute.location)
    value = build.reshape(operands_of(permute)[0], plan.shape)
    set_sharding(value, plan.sharding)
    for stage in plan.stages:
        properties: dict[str, Attribute] = {
            "params": sdy.AllToAllParamListAttr(stage.params),
            "out_sharding": sdy.TensorShardingAttr(stage.sharding),
        }
        op = build_operation(sdy.AllToAllOp, (value,), (value.type,), properties, {}, permute.location)
        note(Movement(op.results[0], last.results[0], _PASS, new=stage.sharding))
        place_before(op, last)
        value = op.results[0]
    target = _sharding(last)
    value = build.reshape(value, sizes_of(last.results[0]))
    set_sharding(value, target)
    replace_by_values(last, (value,))
    for op in (*reversed(chain[:-1]), permute):
        erase(op)


def _params(op: Operation) -> Params:
    return plain(op.properties["params"])


def _sharding(op: Operation) -> TensorSharding:
    return property_of(op, "out_sharding", TensorShardingAttr).data
