"""The operands of a product that another op gathers alike: these are gathered once, in no loop.

    w is sharded; x @ w and y @ w.T both need all of it  ->  one gather

Source: openxla/xla, `check_users_sharding` in xla/service/spmd/dot_handler.cc, and `GetShardingFromUser` in
xla/service/sharding_propagation.cc. Not here: the loops (`einsum_loops.py`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from shardy_py.ops import TABLE
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.spmd.application import static_shape
from shardy_py.xla.spmd.matching import transposed
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.products import LHS, RHS, Product, ProductDimensions, operand_tiling
from shardy_py.xla.spmd.program import Block, Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling

Users = Mapping[Name, Sequence[PlannedOp]]
"""The steps of a block that read each value."""


def users_of(block: Block, live: Container[Name]) -> Users:
    """Returns the users of the values of a block. live: the values that something needs."""
    found: dict[Name, list[PlannedOp]] = {}
    for step in block.steps:
        if not step.results or any(name in live for name in step.results):
            for name in dict.fromkeys(step.operands):
                found.setdefault(name, []).append(step)
    return found


def shared_operands(step: PlannedOp, users: Users, values: Mapping[Name, HeldTensor]) -> frozenset[int]:
    """Returns the operands of a product, by number, that another user wants in the same tiling as it does."""
    return frozenset(
        number for number, name in enumerate(step.operands) if _is_shared(step, number, users[name], values)
    )


def _is_shared(
    step: PlannedOp, number: int, users: Sequence[PlannedOp], values: Mapping[Name, HeldTensor]
) -> bool:
    if len(users) < 2:
        return False
    name = step.operands[number]
    own = _wanted(step, number, values)
    if own is None:
        return False
    others = (_wanted(user, user.operands.index(name), values) for user in users if user is not step)
    return any(other == own for other in others if other is not None and other != values[name].tiling)


def _wanted(step: PlannedOp, number: int, values: Mapping[Name, HeldTensor]) -> Tiling | None:
    """The tiling of an operand that the result of a step and its other operand suggest."""
    target, record = step.targets[0] if step.targets else None, step.record
    value = values.get(step.operands[number])
    if target is None or value is None:
        return None
    if record.name == "stablehlo.dot_general" and all(name in values for name in step.operands):
        lhs, rhs = (values[name] for name in step.operands)
        own = DotDimensions.of(record.attributes)
        dimensions = ProductDimensions.of_dot(
            len(lhs.shape), len(rhs.shape), contracting=own.contracting, batch=own.batching
        )
        product = Product(dimensions, lhs, rhs, static_shape(record, 0), target, "")
        return operand_tiling(product, (LHS, RHS)[number], with_other=True)
    permutation = record.attributes.get("permutation")
    if permutation is not None:
        return transposed(target, permutation, len(permutation))
    row = TABLE.get(record.name)
    is_alike = row is not None and row.is_elementwise is True and len(target.dimensions) == len(value.shape)
    return target if is_alike else None
