"""The passes that erase dead ops and values without elements."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.sdy import ShardingConstraintOp
from shardy_py.dialects.traits import is_constant, is_dead_when_unused
from shardy_py.graph.liveness import dead_ops
from shardy_py.graph.plain import tensor_type
from shardy_py.ir import erase, replace_uses, walk_pre_order
from shardy_py.xla.folding import constant_before


def erase_dead_ops(module: ModuleOp) -> None:
    """`xla-erase-dead-ops`: erases ops without effects whose results are not used."""
    for op in dead_ops(walk_pre_order(module, include_root=False)).values():
        if op.parent is not None:
            erase(op)


def fold_empty_values(module: ModuleOp) -> None:
    """`xla-fold-empty-values`: replaces results without elements by constants, which carry no sharding.

    before  %0 = slice %a [0:0] : (tensor<8xf32>) -> tensor<0xf32>
    after   %0 = constant dense<> : tensor<0xf32>
    """
    for inner in list(walk_pre_order(module, include_root=False)):
        if isinstance(inner, ShardingConstraintOp) or is_constant(inner) or not is_dead_when_unused(inner):
            continue
        for result in inner.results:
            tensor = tensor_type(result.type)
            if tensor is not None and 0 in tensor.shape and result.first_use is not None:
                replace_uses(result, constant_before(inner, result.type, b""))
