"""`sdy-apply-sharding-constraints`: copies the sharding of a constraint to its input if it determines it.

It does if the constraint is closed, the input has no sharding, and no other constraint of the input differs.

    before  %0 = stablehlo.add ...                  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]>
    after   %0 = stablehlo.add ... {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}
            %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]>

If the input is a target of a data-flow edge, which has other targets too, its users are changed to use the
constraint instead. In a chain of constraints, users of the input after the chain use its last constraint.
In-shardings of manual computations count as constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue, Use

from shardy_py.dialects.sdy import (
    ManualComputationOp,
    OpShardingRuleAttr,
    ShardingConstraintOp,
    TensorShardingAttr,
)
from shardy_py.graph.build import identity_rule
from shardy_py.graph.data_flow import EDGE_NAME, edge_of_target
from shardy_py.graph.holders import RULE, read
from shardy_py.graph.movements import Movement, note
from shardy_py.graph.value_shardings import holder_of, rank_of, set_sharding, sharding_of
from shardy_py.ir import (
    build_operation,
    next_use,
    operands_of,
    place_after_value,
    replace_uses,
    take_out,
    walk_post_order,
)
from shardy_py.passes.debug_trail import DebugTrail, SetInput
from shardy_py.passes.options import DebugInfoOptions
from shardy_py.sharding import TensorSharding


def apply_sharding_constraints(module: ModuleOp, options: DebugInfoOptions) -> None:
    """Applies constraints that determine the sharding of their input."""
    if options.debug_sharding_origins or options.debug_propagation_edge_sharding:
        trail = DebugTrail(
            module, origins=options.debug_sharding_origins, edges=options.debug_propagation_edge_sharding
        )
        apply_all(module, partial(trail.set_input, give_input))
        trail.write()
    else:
        apply_all(module)


def apply_all(module: ModuleOp, *set_input: SetInput) -> None:
    """Applies all constraints of `module`, in the order of MLIR's walk."""
    for inner in walk_post_order(module):
        if inner.name == CONSTRAINT:
            apply_constraint(inner, *set_input)
        elif inner.name == MANUAL:
            apply_in_shardings(inner)


CONSTRAINT, MANUAL = ShardingConstraintOp.name, ManualComputationOp.name


def give_input(constraint: Operation, value: SSAValue, sharding: TensorSharding) -> None:
    """Set the sharding of the input of a constraint, or of an operand of a manual computation."""
    set_sharding(value, sharding)
    note_dictated(value, constraint, sharding)


def note_dictated(value: SSAValue, op: Operation, sharding: TensorSharding) -> None:
    """Record that `op` determines the sharding of `value`."""
    note(Movement(value, value, "sdy-apply-sharding-constraints", op, new=sharding))


def apply_constraint(constraint: Operation, set_input: SetInput = give_input) -> None:
    """Apply a sharding constraint, and the chain that starts with it."""
    value = operands_of(constraint)[0]
    tail = tail_of_chain(constraint)
    if tail is not None:
        replace_uses(value, tail.results[0], but_not_in=constraint, only=_behind(tail))
    sharding = _sharding(constraint)
    if not is_dictated(value, sharding):
        return
    if is_edge_target(value):
        take_out(constraint)
        place_after_value(constraint, value)
        _put_in_front(constraint, value, sharding)
    else:
        if RULE not in constraint.attributes:
            rule = identity_rule(value.type, 1)
            if rule is not None:
                constraint.attributes[RULE] = OpShardingRuleAttr(rule)
        set_input(constraint, value, sharding)


def apply_in_shardings(computation: Operation) -> None:
    """Applies the in-shardings of a manual computation to its operands."""
    for index in range(len(operands_of(computation))):
        value, sharding = operands_of(computation)[index], _in_sharding(computation, index)
        if not is_dictated(value, sharding):
            continue
        if is_edge_target(value):
            properties: dict[str, Any] = {"sharding": TensorShardingAttr(sharding)}
            constraint = build_operation(
                ShardingConstraintOp, [value], [value.type], properties, {}, computation.location
            )
            place_after_value(constraint, value)
            _put_in_front(constraint, value, sharding)
            note_dictated(constraint.results[0], computation, sharding)
        else:
            give_input(computation, value, sharding)


def is_dictated(value: SSAValue, sharding: TensorSharding) -> bool:
    """Whether a constraint of `value` to `sharding` determines the sharding of `value`."""
    holder = holder_of(value)
    return (
        holder is not None
        and read(holder) is None
        and all(dimension.is_closed for dimension in sharding.dimensions)
        and all(other == sharding for other in _constraints_on(value))
    )


def is_edge_target(value: SSAValue) -> bool:
    """Whether `value` is the result or a target of a data-flow edge."""
    maker = value.owner
    return (isinstance(maker, Operation) and maker.name == EDGE_NAME) or edge_of_target(value) is not None


def tail_of_chain(head: Operation) -> Operation | None:
    """The last of a chain of two or more constraints from `head`, if later users should use it.

    Its input must have no sharding and no other constraint, and each constraint but the last one use.
    """
    value = operands_of(head)[0]
    maker = value.owner
    if isinstance(maker, Operation) and maker.name == CONSTRAINT:
        return None
    tail = head
    while (following := _only_user(tail)) is not None and following.name == CONSTRAINT:
        tail = following
    if tail is head or sharding_of(value) is not None:
        return None
    others = (use.operation for use in value.uses if use.operation is not head)
    if any(user.name in (CONSTRAINT, MANUAL) for user in others):
        return None
    if any(use.operation.name in (CONSTRAINT, MANUAL) for use in tail.results[0].uses):
        return None
    return tail


def _put_in_front(constraint: Operation, value: SSAValue, sharding: TensorSharding) -> None:
    """Replace uses of `value` by `constraint`; `value` gets its unreduced axes, which do not propagate."""
    replace_uses(value, constraint.results[0], but_not_in=constraint)
    if sharding.unreduced_axes:
        current = sharding_of(value) or TensorSharding.fully_open(sharding.mesh, rank_of(value.type))
        unreduced = replace(current, unreduced_axes=sharding.unreduced_axes, reduction=sharding.reduction)
        set_sharding(value, unreduced)


def _behind(tail: Operation) -> Any:
    """Returns a test for uses after `tail` in its block, except in returns of functions."""
    behind: set[int] = set()
    op = tail.next_op
    while op is not None:
        behind.add(id(op))
        op = op.next_op

    def test(use: Use) -> bool:
        return id(use.operation) in behind and not isinstance(use.operation, ReturnOp)

    return test


def _constraints_on(value: SSAValue) -> Iterator[TensorSharding]:
    """The shardings that constraints and manual computations require of `value`."""
    use = value.first_use
    while use is not None:
        user = use.operation
        if user.name == CONSTRAINT:
            yield _sharding(user)
        elif user.name == MANUAL:
            yield _in_sharding(user, use.index)
        use = next_use(use)


def _only_user(op: Operation) -> Operation | None:
    use = op.results[0].first_use
    return use.operation if use is not None and next_use(use) is None else None


def _sharding(constraint: Operation) -> TensorSharding:
    return cast(TensorShardingAttr, constraint.properties["sharding"]).data


def _in_sharding(computation: Operation, index: int) -> TensorSharding:
    return cast(Any, computation.properties["in_shardings"]).data[index]
