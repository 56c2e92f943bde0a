"""`sdy-remove-sharding-groups`: erases all sharding groups.

before  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
after   (nothing)
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.sdy import ShardingGroupOp
from shardy_py.ir import erase, find_ops


def remove_sharding_groups(module: ModuleOp) -> None:
    """Erases all sharding groups."""
    for group in find_ops(module, ShardingGroupOp.name):
        erase(group)
