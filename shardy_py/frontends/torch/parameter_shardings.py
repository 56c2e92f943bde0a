"""The shardings of parameters under a plan of DTensor.

    parameter_sharding(plan, mesh, program.values["up.weight"])

Not here: constraints of other values (`constraints.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from shardy_py.api import Mesh, P, Sharding, ShardyError, Value
from shardy_py.api.partition_spec import dim
from shardy_py.frontends.torch.plans import ParallelPlan


def parameter_sharding(plan: ParallelPlan, mesh: Mesh, value: Value) -> Sharding:
    """The sharding of a parameter under a plan. Raises `ShardyError` for a dimension it lacks.

    Dimensions sharded for FSDP have a priority behind those of data: gradients are sums of what devices have
    computed for theirs, not products sharded as the parameter.
    """
    own = (group for group in plan.groups if value.label in group.parameters)
    last = {axis for group in own for axis in group.plan.axes}
    shape = tuple(value.shape or ())
    rank, dimensions = len(shape), plan.dimensions_of(value.label, shape)
    for dimension in dimensions.values():
        if not -rank <= dimension < rank:
            raise ShardyError(
                f"{value.label}: the plan shards dimension {dimension} of a tensor of rank {rank}"
            )
    _check_even(plan, mesh, value)
    return closed(mesh, rank, {axis: d % rank for axis, d in dimensions.items()}, last)


def _check_even(plan: ParallelPlan, mesh: Mesh, value: Value) -> None:
    """Raises `ShardyError` for a parameter that its axis does not divide, unless the plan allows it."""
    shape = tuple(value.shape or ())
    for each in plan.styled:
        dimension = each.dimension_of(value.label, shape) if not each.uneven else None
        if dimension is None or (size := shape[dimension] or 0) % (parts := mesh.sizes[each.axis]) == 0:
            continue
        raise ShardyError.unexpected(
            f"{value.label}: {each.name} along '{each.axis}'",
            expected=f"a dimension that {parts} devices divide",
            got=f"dimension {dimension} of size {size}",
            remedy=f"pad it to {-(-size // parts) * parts}, leave the module out of the plan, or pass "
            "TensorParallel(axis, styles, uneven=True) and propagate with "
            "Options(update_non_divisible_input_output_shardings=False)",
        )


def closed(mesh: Mesh, rank: int, dimensions: Mapping[str, int], last: Collection[str]) -> Sharding:
    """A sharding with axes on dimensions, those with an axis of `last` behind the others."""
    listed = [[axis for axis, d in dimensions.items() if d == number] for number in range(rank)]
    return Sharding(mesh, P(*(dim(*a, priority=1 if set(a).intersection(last) else None) for a in listed)))
