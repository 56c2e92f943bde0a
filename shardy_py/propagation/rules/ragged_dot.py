"""The sharding rule that XLA gives to `ragged-dot`, which Shardy's registry lacks.

    [rows, k] x [groups, k, n], sizes [groups]    <([i, k], [l, k, j], [l])->([i, j]) {...} reduction={k}
                                                   need_replication={i, l}>

Ends of groups may be within a shard, so the ragged dimension and that of the groups must be whole. A ragged
batch dimension is like any other. Source: openxla/xla, xla/service/spmd/shardy/extensions (the rule of
`mhlo.ragged_dot`). Not here: what the op computes (`ops/compute/contraction.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.ops import OpRecord
from shardy_py.ops.reads import integers, shape_of, structure
from shardy_py.sharding import Factor, FactorType, ShardingRule


def ragged_dot_rule(record: OpRecord) -> ShardingRule:
    """Returns the rule of a `chlo.ragged_dot`: factors of the result, then contracted ones, then groups."""
    numbers = structure(record, "ragged_dot_dimension_numbers")
    lhs, rhs, sizes = map(shape_of, record.operands)
    batch, summed = (
        [*zip(integers(numbers, f"lhs_{role}"), integers(numbers, f"rhs_{role}"), strict=True)]
        for role in ("batching_dimensions", "contracting_dimensions")
    )
    (ragged,) = integers(numbers, "lhs_ragged_dimensions")
    groups = [*integers(numbers, "rhs_group_dimensions")]
    shared = [*batch, *summed]
    free = [d for d in range(len(lhs)) if d not in [left for left, _ in shared]]
    others = [d for d in range(len(rhs)) if d not in [right for _, right in shared] and d not in groups]

    of_lhs = {left: n for n, (left, _) in enumerate(batch)}
    of_lhs |= {d: len(batch) + n for n, d in enumerate(free)}
    of_rhs = {d: len(batch) + len(free) + n for n, d in enumerate(others)}
    kept = len(batch) + len(free) + len(others)
    of_lhs |= {left: kept + n for n, (left, _) in enumerate(summed)}
    of_rhs |= {right: of_lhs[left] for left, right in shared}
    group = kept + len(summed)
    of_rhs |= dict.fromkeys(groups, group)

    extents = {of_lhs[d]: size for d, size in enumerate(lhs)}
    extents |= {of_rhs[d]: size for d, size in enumerate(rhs)}
    types = {of_lhs[left]: FactorType.REDUCTION for left, _ in summed}
    result = [*range(kept)]
    if of_lhs[ragged] < len(batch):  # sizes of groups do not matter
        of_sizes = [group + n for n in range(len(sizes))]
        extents |= dict.fromkeys(of_sizes, 1)
    else:
        is_summed = of_lhs[ragged] >= kept
        before = [left for left, _ in summed] if is_summed else free
        around = [*range(len(batch)), *(of_lhs[d] for d in before if d < ragged)]
        of_sizes = [*around, group][-len(sizes) :]
        extents[group] = sizes[-1]
        types |= {of_lhs[ragged]: FactorType.NEED_REPLICATION, group: FactorType.NEED_REPLICATION}
        result = [group, *result] if is_summed else result
    factors = tuple(Factor(extents[n], types.get(n, FactorType.PASS_THROUGH)) for n in sorted(extents))
    operands = tuple(
        _mapping(each)
        for each in ([of_lhs[d] for d in range(len(lhs))], [of_rhs[d] for d in range(len(rhs))], of_sizes)
    )
    return ShardingRule(factors, operands, (_mapping(result),))


def _mapping(factors: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple((factor,) for factor in factors)
