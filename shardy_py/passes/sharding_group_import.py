"""`sdy-sharding-group-import`: merges sharding groups that share a member, and renumbers them.

The members of a group must have the same shape and be in the same manual computation.

    before  sdy.sharding_group %a group_id=7
            sdy.sharding_group %b group_id=7   sdy.sharding_group %b group_id=5
    after   sdy.sharding_group %a group_id=0
            sdy.sharding_group %b group_id=0
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, ShapedType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardy_py.dialects.sdy import ManualComputationOp, ShardingGroupOp
from shardy_py.dialects.sdy.ops import ShardingConstraintOp
from shardy_py.errors import Diagnostic, ShardyError, warn
from shardy_py.graph.holders import write_all
from shardy_py.graph.movements import note_moved
from shardy_py.graph.plain import plain
from shardy_py.graph.slots import Slots
from shardy_py.ir import erase, find_ops, operands_of, owning_op, walk_pre_order
from shardy_py.sharding import TensorSharding
from shardy_py.text.source import position_of


def sharding_group_import(module: ModuleOp) -> None:
    """Merges and validates sharding groups that share a member."""
    groups = find_ops(module, ShardingGroupOp.name)
    if groups:
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
            _fail(
                op,
                f"ShardingGroupOps values cannot cross ManualComputationOp boundaries for groupId: {group}",
            )
        type_ = op.operands[0].type
        shape = type_.get_shape() if isinstance(type_, ShapedType) else ()
        if shapes.setdefault(group, shape) != shape:
            _fail(op, f"ShardingGroupOps values must have the same shape for groupId: {group}")


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
                erase(op)
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


def _fail(op: Operation, message: str) -> None:
    raise ShardyError(Diagnostic(message, position_of(op.location)))


Groups = dict[int, list[SSAValue]]
"""The members of each group, by its id, in program order."""


def groups_of(root: Operation) -> Groups:
    """The sharding groups under `root`."""
    groups: Groups = {}
    for op in find_ops(root, ShardingGroupOp.name):
        groups.setdefault(plain(op.properties["group_id"]), []).append(operands_of(op)[0])
    return dict(sorted(groups.items()))


def synchronize_groups(root: Operation) -> None:
    """Give the members of each group the same sharding before propagation.

    If they have different shardings, each gets an open constraint, which replaces it in the group, with a
    warning; propagation then decides the sharding of the group.
    """
    groups = groups_of(root)
    if not groups:
        return
    slots = Slots()
    for op in walk_pre_order(root, include_root=False):
        slots.add(op)
    for group, members in groups.items():
        shardings = [slots.shardings[slots.get(member)] for member in members]
        common, is_contradicted = _common(shardings)
        if common is None:
            continue
        if is_contradicted:
            maker = owning_op(members[0])
            warn(_WARNING.format(group), position_of(maker.location) if maker is not None else None)
            for member in members:
                _constrain_openly(member, common)
            continue
        first = next(m for m in members if slots.shardings[slots.get(m)] == common)
        for member in members:
            holder = slots.holders[slots.get(member)]
            if holder is not None:
                if slots.shardings[slots.get(member)] != common:
                    note_moved((member,), (first,), "sdy-sharding-group-import")
                slots.shardings[slots.get(member)] = common
                write_all([(holder, common)])


_WARNING = (
    "The initial operand shardings on the sharding groups of groupID: {} do not match. Inserting an open "
    "sharding constraint to all constrained values. This can be caused when shardings from different values "
    "are grouped (e.g. from jax.shard_alike) but have separate inconsistent sharding constraints on them."
)


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


def _constrain_openly(member: SSAValue, like: TensorSharding) -> None:
    """Replace all uses of `member` by an open constraint of it."""
    constraint = ShardingConstraintOp(member, TensorSharding.fully_open(like.mesh, like.rank))
    if isinstance(member, OpResult):
        place = InsertPoint.after(member.op)
    else:
        block = member.owner
        assert isinstance(block, Block)
        place = InsertPoint.at_start(block)
    Rewriter.insert_op(constraint, place)
    member.replace_uses_with_if(constraint.result, lambda use: use.operation is not constraint)
