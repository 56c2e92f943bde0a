"""`sdy-remove-all-gather-reduce-scatter-for-cmv1`: removes collectives next to dot_general.

Backends with collective matmul overlap this communication with the computation of the product.

    before  %0 = sdy.all_gather [{}, {"x"}] %lhs out_sharding=<@mesh, [{}, {}]>
            %1 = stablehlo.dot %0, %rhs {...}
    after   %1 = stablehlo.dot %lhs, %rhs {...}

Likewise a reduce-scatter that is the only user of a product, if no all-gather was removed: the product then
has the sharding of the reduce-scatter.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from shardy_py.dialects.sdy import AllGatherOp, ReduceScatterOp
from shardy_py.dialects.stablehlo import DotGeneralOp, DotOp
from shardy_py.graph.value_shardings import set_sharding, sharding_of
from shardy_py.ir import erase, find_ops, next_use, operands_of, replace_uses

DOTS = (DotOp.name, DotGeneralOp.name)


def remove_all_gather_reduce_scatter_for_cmv1(module: ModuleOp) -> None:
    """Removes all-gathers before and reduce-scatters after dot_general, for collective matmul."""
    for removed in [found for dot in find_ops(module, *DOTS) for found in _removed_beside(dot)]:
        replace_uses(removed.results[0], operands_of(removed)[0])
        erase(removed)


def _removed_beside(dot: Operation) -> Sequence[Operation]:
    """The collectives to remove; if it is a reduce-scatter, `dot` has been given its sharding."""
    makers = [value.op for value in operands_of(dot) if isinstance(value, OpResult)]
    gathers = [op for op in makers if isinstance(op, AllGatherOp) and _only_user(op) is dot]
    if gathers:
        return gathers
    user = _only_user(dot)
    if not isinstance(user, ReduceScatterOp):
        return []
    made, wanted = sharding_of(dot.results[0]), sharding_of(user.results[0])
    if made is not None and made.unreduced_axes:
        return []
    assert wanted is not None
    set_sharding(dot.results[0], wanted)
    return [user]


def _only_user(op: Operation) -> Operation | None:
    """The user of the result of `op` if there is a single use."""
    use = op.results[0].first_use
    return use.operation if use is not None and next_use(use) is None else None
