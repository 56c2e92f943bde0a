"""`sdy-sharding-group-import`: merges sharding groups that share a member, and numbers them anew.

A group may not reach across the border of a manual computation, and its members have one shape.

    before  sdy.sharding_group %a group_id=7
            sdy.sharding_group %b group_id=7   sdy.sharding_group %b group_id=5
    after   sdy.sharding_group %a group_id=0
            sdy.sharding_group %b group_id=0
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, ShapedType
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.plain import plain
from shardy_py.ir import erase, find_ops
from shardy_py.text.source import position_of


@dataclass(frozen=True)
class ShardingGroupImportPass(ModulePass):
    """Merges sharding groups that share a member, and checks them."""

    name = "sdy-sharding-group-import"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        groups = find_ops(op, "sdy.sharding_group")
        if groups:
            check(groups)
            merge(groups)


def check(groups: list[Operation]) -> None:
    """Raise an error for the first op whose member does not fit in its group."""
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
    """Give groups with a common member one id, ids counting up from 0; erase what says the same twice."""
    by_value: dict[int, list[Operation]] = {}
    for op in groups:
        by_value.setdefault(id(op.operands[0]), []).append(op)
    classes = _Classes()
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


class _Classes:
    """Classes of group ids; the id that led the first of two classes leads them once united."""

    def __init__(self) -> None:
        self._leader: dict[int, int] = {}

    def unite(self, first: int, second: int) -> None:
        leader, other = self._find(first), self._find(second)
        self._leader[other] = leader

    def numbers(self) -> dict[int, int]:
        """The number of each id's class: classes are numbered in the order in which their leaders came."""
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
    while parent is not None and parent.name != "sdy.manual_computation":
        parent = parent.parent_op()
    return parent


def _fail(op: Operation, message: str) -> None:
    raise ShardyError(Diagnostic(message, position_of(op.location)))
