"""Sharding groups before propagation: all members of a group start with one sharding.

If members come with different shardings, each gets an open constraint of its own behind it, which takes its
place in the group; so the group is decided by propagation. Not here: how group ids are made canonical
(`passes/sharding_group_import.py`), how changes spread (`build.py`, `propagation/fixpoint.py`).
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardy_py.dialects.sdy.ops import ShardingConstraintOp
from shardy_py.errors import warn
from shardy_py.graph.holders import write_all
from shardy_py.graph.movements import note_moved
from shardy_py.graph.plain import plain
from shardy_py.graph.slots import Slots
from shardy_py.ir import operands_of, owning_op, walk_pre_order
from shardy_py.sharding import TensorSharding
from shardy_py.text.source import position_of

Groups = dict[int, list[SSAValue]]
"""The members of each group, by its id, in program order."""


def groups_of(root: Operation) -> Groups:
    """The sharding groups under `root`."""
    groups: Groups = {}
    for op in walk_pre_order(root):
        if op.name == "sdy.sharding_group":
            groups.setdefault(plain(op.properties["group_id"]), []).append(operands_of(op)[0])
    return dict(sorted(groups.items()))


def synchronize_groups(root: Operation) -> None:
    """Give the members of each group one sharding; warn of groups whose members contradict."""
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
    """The first sharding that says something, and whether another contradicts it."""
    if len(shardings) == 1:
        return shardings[0], False
    found: TensorSharding | None = None
    for sharding in shardings:
        if sharding is None or _says_nothing(sharding):
            continue
        if found is None:
            found = sharding
        elif sharding != found:
            return found, True
    return found, False


def _says_nothing(sharding: TensorSharding) -> bool:
    return sharding.is_fully_replicated and not any(d.is_closed for d in sharding.dimensions)


def _constrain_openly(member: SSAValue, like: TensorSharding) -> None:
    """Put an open constraint behind `member`, for all its uses."""
    constraint = ShardingConstraintOp(member, TensorSharding.fully_open(like.mesh, like.rank))
    if isinstance(member, OpResult):
        place = InsertPoint.after(member.op)
    else:
        block = member.owner
        assert isinstance(block, Block)
        place = InsertPoint.at_start(block)
    Rewriter.insert_op(constraint, place)
    member.replace_uses_with_if(constraint.result, lambda use: use.operation is not constraint)
