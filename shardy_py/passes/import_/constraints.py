"""The passes before propagation that apply what users constrain: constraints and sharding groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, ShapedType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue, Use

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import Diagnostic, ShardyError, warn
from shardy_py.mlir import ir
from shardy_py.mlir.data_flow import EDGE_NAME, edge_of_target
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.sdy import ManualComputationOp, ShardingGroupOp
from shardy_py.mlir.dialects.sdy.ops import ShardingConstraintOp
from shardy_py.mlir.holders import RULE, read, write_all
from shardy_py.mlir.ir import (
    next_use,
    operands_of,
    place_after_value,
    replace_uses,
    take_out,
    walk_post_order,
)
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.movements import Movement, note, note_moved
from shardy_py.mlir.plain import plain
from shardy_py.mlir.symbols import MAIN, functions_of, symbol_name
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import property_of
from shardy_py.mlir.value_shardings import holder_of, rank_of, set_sharding, sharding_of
from shardy_py.passes.export.communication_ops import identity_op, only_user
from shardy_py.passes.options import DebugInfoOptions
from shardy_py.passes.propagate.debug_trail import DebugTrail, SetInput
from shardy_py.propagation.graph.build import identity_rule
from shardy_py.propagation.graph.slots import Slots
from shardy_py.sharding import TensorSharding


def apply_sharding_constraints(module: ModuleOp, options: DebugInfoOptions) -> None:
    """`sdy-apply-sharding-constraints`: copies the sharding of a constraint to its input if it determines it.

    It does if the constraint is closed, the input has no sharding, and no other constraint of the input
    differs.

    before  %0 = stablehlo.add ...                  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]>
    after   %0 = stablehlo.add ... {sdy.sharding = ...<[<@mesh, [{"x"}]>]>}
            %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]>

    If the input is a target of a data-flow edge, which has other targets too, its users are changed to use
    the constraint instead. In a chain of constraints, users of the input after the chain use its last
    constraint. In-shardings of manual computations count as constraints.
    """
    trail = DebugTrail.asked_for(module, options)
    set_input = give_input if trail is None else partial(trail.set_input, give_input)
    is_kept = _kept_returns(module)
    for inner in walk_post_order(module):
        if inner.name == CONSTRAINT:
            apply_constraint(inner, set_input, is_kept)
        elif inner.name == MANUAL:
            apply_in_shardings(inner)
    if trail is not None:
        trail.write()


CONSTRAINT, MANUAL = sdy.ShardingConstraintOp.name, sdy.ManualComputationOp.name
FUNC_EDGE_NAME = sdy.FuncDataFlowEdgeOp.name


def give_input(constraint: Operation, value: SSAValue, sharding: TensorSharding) -> None:
    """Set the sharding of the input of a constraint, or of an operand of a manual computation."""
    set_sharding(value, sharding)
    note_dictated(value, constraint, sharding)


def note_dictated(value: SSAValue, op: Operation, sharding: TensorSharding) -> None:
    """Record that `op` determines the sharding of `value`."""
    note(Movement(value, value, "sdy-apply-sharding-constraints", op, new=sharding))


def apply_constraint(
    constraint: Operation, set_input: SetInput, is_kept: Callable[[Operation], bool]
) -> None:
    """Apply a sharding constraint, and the chain that starts with it.

    is_kept: whether an op keeps using the input of a chain behind it.
    """
    value = operands_of(constraint)[0]
    tail = tail_of_chain(constraint)
    if tail is not None:
        replace_uses(value, tail.results[0], but_not_in=constraint, only=_behind(tail, is_kept))
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
                constraint.attributes[RULE] = sdy.OpShardingRuleAttr(rule)
        set_input(constraint, value, sharding)


def apply_in_shardings(computation: Operation) -> None:
    """Applies the in-shardings of a manual computation to its operands."""
    for index in range(len(operands_of(computation))):
        value, sharding = operands_of(computation)[index], _in_sharding(computation, index)
        if not is_dictated(value, sharding):
            continue
        if is_edge_target(value):
            constraint = identity_op(sdy.ShardingConstraintOp, value, sharding, computation.location)
            place_after_value(constraint, value)
            _put_in_front(constraint, value, sharding)
            note_dictated(constraint.results[0], computation, sharding)
        else:
            give_input(computation, value, sharding)


def is_dictated(value: SSAValue, sharding: TensorSharding) -> bool:
    """True if a constraint of `value` to `sharding` determines the sharding of `value`."""
    holder = holder_of(value)
    return (
        holder is not None
        and _has_none(read(holder))
        and all(dimension.is_closed for dimension in sharding.dimensions)
        and all(other == sharding for other in _constraints_on(value))
    )


def _has_none(sharding: TensorSharding | None) -> bool:
    """True if a sharding counts as none: since JAX 0.12, one that leaves all to propagation does."""
    if sharding is None:
        return True
    return (
        Behaviour.OPEN_INPUT_TAKES_CONSTRAINT.holds
        and sharding.rank > 0
        and sharding.has_no_axes
        and all(not d.is_closed and d.priority is None for d in sharding.dimensions)
    )


def is_edge_target(value: SSAValue) -> bool:
    """True if `value` is the result or a target of a data-flow edge."""
    maker = value.owner
    if isinstance(maker, Operation) and (
        maker.name == EDGE_NAME
        or (maker.name == FUNC_EDGE_NAME and Behaviour.CONSTRAINT_FOLLOWS_FUNCTION_EDGE.holds)
    ):
        return True
    return edge_of_target(value) is not None


def tail_of_chain(head: Operation) -> Operation | None:
    """The last of a chain of two or more constraints from `head`, if later users should use it.

    Its input must have no sharding and no other constraint, and each constraint but the last one use.
    """
    value = operands_of(head)[0]
    maker = value.owner
    if isinstance(maker, Operation) and maker.name == CONSTRAINT:
        return None
    tail = head
    while (following := only_user(tail)) is not None and following.name == CONSTRAINT:
        tail = following
    if tail is head or not _has_none(sharding_of(value)):
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


def _behind(tail: Operation, is_kept: Callable[[Operation], bool]) -> Callable[[Use], bool]:
    """Returns a test for uses after `tail` in its block, but those that are kept."""
    behind: set[int] = set()
    op = tail.next_op
    while op is not None:
        behind.add(id(op))
        op = op.next_op
    return lambda use: id(use.operation) in behind and not is_kept(use.operation)


def _kept_returns(module: ModuleOp) -> Callable[[Operation], bool]:
    """Returns a test for returns of functions; since JAX 0.12 only for those of main, or the only one."""
    is_any = not Behaviour.CHAINS_REACH_RETURNS.holds or len(list(functions_of(module))) == 1

    def is_kept(op: Operation) -> bool:
        function = op.parent_op() if isinstance(op, ReturnOp) else None
        return function is not None and (is_any or symbol_name(function) == MAIN)

    return is_kept


def _constraints_on(value: SSAValue) -> Iterator[TensorSharding]:
    use = value.first_use
    while use is not None:
        user = use.operation
        if user.name == CONSTRAINT:
            yield _sharding(user)
        elif user.name == MANUAL:
            yield _in_sharding(user, use.index)
        use = next_use(use)


def _sharding(constraint: Operation) -> TensorSharding:
    return property_of(constraint, "sharding", sdy.TensorShardingAttr).data


def _in_sharding(computation: Operation, index: int) -> TensorSharding:
    return property_of(computation, "in_shardings", sdy.TensorShardingPerValueAttr).data[index]


def sharding_group_import(module: ModuleOp) -> None:
    """`sdy-sharding-group-import`: merges sharding groups that share a member, and renumbers them.

    The members of a group must have the same shape and be in the same manual computation.

    before  sdy.sharding_group %a group_id=7
            sdy.sharding_group %b group_id=7   sdy.sharding_group %b group_id=5
    after   sdy.sharding_group %a group_id=0
            sdy.sharding_group %b group_id=0
    """
    groups = ir.find_ops(module, ShardingGroupOp.name)
    check(groups)
    merge(groups)


def check(groups: list[Operation]) -> None:
    """Raise `ShardyError` for the first op whose member is invalid for its group."""
    parents: dict[int, Operation | None] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    for op in groups:
        group = _group_id(op)
        parent = _manual_computation_around(op)
        if parents.setdefault(group, parent) is not parent:
            _fail(op, f"cannot cross ManualComputationOp boundaries for groupId: {group}")
        type_ = op.operands[0].type
        shape = type_.get_shape() if isinstance(type_, ShapedType) else ()
        if shapes.setdefault(group, shape) != shape:
            _fail(op, f"must have the same shape for groupId: {group}")


def merge(groups: list[Operation]) -> None:
    """Merge groups with a common member, number groups from 0, and erase duplicate memberships."""
    by_value: dict[int, list[Operation]] = {}
    for op in groups:
        by_value.setdefault(id(op.operands[0]), []).append(op)
    classes = _DisjointSets()
    for ops in by_value.values():
        for op in ops:
            classes.unite(_group_id(ops[0]), _group_id(op))
    numbers = classes.numbers()
    for ops in by_value.values():
        seen: set[int] = set()
        for op in ops:
            number = numbers[_group_id(op)]
            if number in seen:
                ir.erase(op)
            seen.add(number)
            op.properties["group_id"] = IntegerAttr(number, 64)


class _DisjointSets:
    """Disjoint sets of group ids; the leader of the first of two sets is that of their union."""

    def __init__(self) -> None:
        self._leader: dict[int, int] = {}

    def unite(self, first: int, second: int) -> None:
        leader, other = self._find(first), self._find(second)
        self._leader[other] = leader

    def numbers(self) -> dict[int, int]:
        """The number of the set of each id; sets are numbered in the order of their leaders."""
        leaders = [group for group in self._leader if self._find(group) == group]
        number = {leader: index for index, leader in enumerate(leaders)}
        return {group: number[self._find(group)] for group in self._leader}

    def _find(self, group: int) -> int:
        while (above := self._leader.setdefault(group, group)) != group:
            group = above
        return group


def _group_id(op: Operation) -> int:
    return plain(op.properties["group_id"])


def _manual_computation_around(op: Operation) -> Operation | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, ManualComputationOp):
        parent = parent.parent_op()
    return parent


def _fail(op: Operation, fact: str) -> None:
    raise ShardyError(Diagnostic(f"ShardingGroupOps values {fact}", position_of(op.location)))


def synchronize_groups(root: Operation) -> None:
    """Give the members of each group the same sharding before propagation.

    If they have different shardings, each gets an open constraint, which replaces it in the group, with a
    warning; propagation then decides the sharding of the group.
    """
    groups: dict[int, list[SSAValue]] = {}
    for op in ir.find_ops(root, ShardingGroupOp.name):
        groups.setdefault(_group_id(op), []).append(ir.operands_of(op)[0])
    if not groups:
        return
    slots = Slots()
    for op in ir.walk_pre_order(root, include_root=False):
        slots.add(op)
    for group, members in sorted(groups.items()):
        shardings = [slots.shardings[slots.get(member)] for member in members]
        common, is_contradicted = _common(shardings)
        if common is None:
            continue
        if is_contradicted:
            maker = ir.owning_op(members[0])
            message = _WARNING.format(group) + _members(members, shardings)
            warn(message, position_of(maker.location) if maker is not None else None)
            for member in members:
                constraint = ShardingConstraintOp(member, TensorSharding.fully_open(common.mesh, common.rank))
                ir.place_after_value(constraint, member)
                ir.replace_uses(member, constraint.result, but_not_in=constraint)
            continue
        first = members[shardings.index(common)]
        for member in members:
            slot = slots.get(member)
            if (holder := slots.holder(slot)) is not None:
                if slots.shardings[slot] != common:
                    note_moved((member,), (first,), "sdy-sharding-group-import")
                slots.shardings[slot] = common
                write_all([(holder, common)])


_WARNING = (
    "The initial operand shardings on the sharding groups of groupID: {} do not match. Inserting an open "
    "sharding constraint to all constrained values. This can be caused when shardings from different values "
    "are grouped (e.g. from jax.shard_alike) but have separate inconsistent sharding constraints on them."
)


def _members(members: Sequence[SSAValue], shardings: Sequence[TensorSharding | None]) -> str:
    """The arguments with names among the members, with their shardings."""
    pairs = zip(members, shardings, strict=True)
    named = [
        (name, s) for m, s in pairs if isinstance(m, BlockArgument) and s and (name := name_in(m.location))
    ]
    return f" Members: {', '.join(f'{name} {sharding}' for name, sharding in named)}." if named else ""


def _common(shardings: list[TensorSharding | None]) -> tuple[TensorSharding | None, bool]:
    """The first sharding with axes or closed dimensions, and whether another one differs."""
    if len(shardings) == 1:
        return shardings[0], False
    found: TensorSharding | None = None
    for sharding in shardings:
        if sharding is None or _is_unconstrained(sharding):
            continue
        if found is None:
            found = sharding
        elif sharding != found:
            return found, True
    return found, False


def _is_unconstrained(sharding: TensorSharding) -> bool:
    return sharding.is_fully_replicated and not any(d.is_closed for d in sharding.dimensions)
