"""`sdy-remove-sharding-groups`: removes the sharding groups, which have done their work.

before  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
after   (nothing)
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.sdy import ShardingGroupOp
from shardy_py.ir import erase, find_ops


def remove_sharding_groups(module: ModuleOp) -> None:
    """Removes the sharding groups."""
    for group in find_ops(module, ShardingGroupOp.name):
        erase(group)
