"""Reshapes with axes that do not fit their factors.

    tensor<6x4> [{"x"}, {}] -> tensor<24> [{"x"}] on <["x"=4]>: factors of sizes 6 and 4

"x" does not divide 6, so the reshape cannot keep it on the first dimension. The axes of the side with more
parts are assigned to the factors of both sides again, each where it fits.
"""

from __future__ import annotations

from shardy_py.partition.compare import is_equivalent
from shardy_py.partition.reshard_plan import OpShardings, ReshardPlan, plan_for
from shardy_py.sharding import (
    Axes,
    FactorSharding,
    Mesh,
    Projection,
    ShardingRule,
    TensorMapping,
    TensorProjection,
    distribute_axes,
)
from shardy_py.sharding.meshes import Meshes


def has_overflow(projection: Projection) -> bool:
    """Whether axes of a tensor do not fit its factors."""
    return any(tensor.has_overflow for tensor in projection.tensors)


def overflow_plan(op: OpShardings, meshes: Meshes) -> ReshardPlan:
    """The plan for a reshape with overflow."""
    projection = op.project()
    sizes = [tensor.sharding_size(op.mesh) for tensor in projection.tensors]
    axes = _all_axes(projection.tensors[0 if sizes[0] >= sizes[1] else 1])
    pairs = zip(projection.tensors, op.rule.tensors, strict=True)
    assigned = Projection(tuple(_assigned(t, m, axes, op.rule, op.mesh) for t, m in pairs), 1)
    legal = Projection.build(op.rule, [op.sharding_in(assigned, i) for i in (0, 1)], op.mesh)
    chosen = legal.common_prefix_axes(len(op.rule.factors))
    after = assigned
    for factor, common in enumerate(chosen):
        after = after.updated(factor, common)
    given = (op.operands[0], op.results[0])
    changed = frozenset(i for i in (0, 1) if not is_equivalent(op.sharding_in(after, i), given[i]))
    return plan_for(op, after, changed, chosen, meshes)


def _all_axes(tensor: TensorProjection) -> Axes:
    return tuple(axis for f in tensor.factors if f is not None for axis in f.axes + f.overflow)


def _assigned(
    tensor: TensorProjection, mapping: TensorMapping, axes: Axes, rule: ShardingRule, mesh: Mesh
) -> TensorProjection:
    present = [f for dimension in mapping for f in dimension if tensor.factors[f] is not None]
    empty = [FactorSharding((), f.is_closed, f.is_minor_most) for i in present if (f := tensor.factors[i])]
    shared = distribute_axes(empty, [rule.factors[i].size for i in present], axes, mesh)
    factors = list(tensor.factors)
    for index, factor in zip(present, shared, strict=True):
        factors[index] = factor
    return TensorProjection(tuple(factors), tensor.replicated, tensor.unreduced, tensor.reduction)
