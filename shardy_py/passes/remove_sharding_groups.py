"""`sdy-remove-sharding-groups`: removes the sharding groups, which have done their work.

before  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
after   (nothing)
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardy_py.ir import erase, find_ops


@dataclass(frozen=True)
class RemoveShardingGroupsPass(ModulePass):
    """Removes the sharding groups."""

    name = "sdy-remove-sharding-groups"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for group in find_ops(op, "sdy.sharding_group"):
            erase(group)
