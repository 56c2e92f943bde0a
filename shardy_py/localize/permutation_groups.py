"""Factors that `sdy-resolve-permutation-factors` replicates, and all-reduces that this leaves without terms.

All permutation factors. Since JAX 0.12 also those of a convolution's windows, which its kernel sums over, and
of its groups, whatever their type: the features of a group are no parts of the whole dimension.

    batch, features [{"b"}, {"x"}] of an image, kernel [{"x"}, {}], 2 groups: to [{"b"}, {}], [{}, {}]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.ir import Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy import AllReduceOp
from shardy_py.mlir.dialects.stablehlo import ConvolutionOp
from shardy_py.mlir.movements import replace_by_values
from shardy_py.mlir.record import record_of
from shardy_py.mlir.value_shardings import set_sharding
from shardy_py.ops.dimensions import ConvolutionDimensions
from shardy_py.passes.export.communication_ops import chain_after_result, only_user
from shardy_py.reshard import reshard_plan as plans
from shardy_py.reshard.steps import AllReduce, Reshard, Step
from shardy_py.sharding import FactorType, ShardingRule
from shardy_py.sharding.axis_lists import Axes, difference


def whole_factors(op: Operation, rule: ShardingRule) -> frozenset[int]:
    """The factors to replicate."""
    found = {number for number, factor in enumerate(rule.factors) if factor.type is FactorType.PERMUTATION}
    if op.name == ConvolutionOp.name and Behaviour.CONVOLUTION_GROUPS_ARE_WHOLE.holds:
        found.update(_of_windows_and_groups(op, rule))
    return frozenset(found)


def _of_windows_and_groups(op: Operation, rule: ShardingRule) -> Iterator[int]:
    numbers = ConvolutionDimensions.of(record_of(op).attributes)
    image, kernel = rule.operands
    for dimension in numbers.kernel_spatial:
        yield from (f for f in kernel[dimension] if rule.factors[f].type is FactorType.REDUCTION)
    features = kernel[numbers.out_feature]
    for given, groups in (
        (numbers.feature, numbers.feature_groups),
        (numbers.batch, numbers.batch_groups),
    ):
        grouped = image[given]
        if groups > 1 and grouped != features:
            yield from (*grouped, *features)


@dataclass(frozen=True, slots=True)
class Sum:
    """The all-reduce after an op whose terms are replicated along some of its axes: it counted them often."""

    op: AllReduceOp
    axes: Axes


def sum_of_replicas(
    op: Operation, rule: ShardingRule, whole: frozenset[int], tensors: plans.OpShardings
) -> Sum | None:
    """The all-reduce of terms along reduction factors that become whole; None without such terms.

    None too if something else uses the result; Shardy then sums replicas.
    """
    summed = [number for number in sorted(whole) if rule.factors[number].type is FactorType.REDUCTION]
    operands = tensors.project().tensors[: len(tensors.operands)]
    axes: Axes = ()
    for number in summed:
        axes += next((found.axes for tensor in operands if (found := tensor.factors[number])), ())
    user = only_user(op) if axes else None
    if not isinstance(user, AllReduceOp) or difference(axes, user.reduction_axes.data, tensors.mesh):
        return None
    return Sum(user, axes)


def insert_smaller_sum(
    op: Operation, plan: plans.ReshardPlan, replicas: Sum, tensors: plans.OpShardings
) -> plans.ReshardPlan:
    """Reduces the result of `op` along what is left of the axes, then reshards it; returns the rest."""
    mesh, all_reduce, axes = tensors.mesh, replicas.op, replicas.axes
    results = dict(plan.results)
    made = results[0].made if results else tensors.own_sharding(0, is_written=False)
    made = replace(made, unreduced_axes=difference(made.unreduced_axes, axes, mesh))
    left = difference(all_reduce.reduction_axes.data, axes, mesh)
    reduced = replace(made, unreduced_axes=difference(made.unreduced_axes, left, mesh))
    wanted = all_reduce.out_sharding.data
    steps: list[Step] = [AllReduce(reduced, left)] if left else []
    if reduced != wanted:
        steps.append(Reshard(wanted))
    result = op.results[0]
    set_sharding(result, made)
    replace_by_values(all_reduce, [result])
    chain_after_result(result, steps, op)
    return replace(plan, results=())
