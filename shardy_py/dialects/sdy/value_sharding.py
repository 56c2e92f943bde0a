"""The sharding that a value has, wherever that is written.

Not here: data-flow edges as propagation sees them (`graph/`).
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy.attributes import TensorShardingAttr
from shardy_py.dialects.sdy.interfaces import sharding_at, shardings_of
from shardy_py.dialects.sdy.ops import DataFlowEdgeOp, PropagationBarrierOp
from shardy_py.dialects.traits import data_flow, required_data_flow
from shardy_py.ir import next_use
from shardy_py.sharding import TensorSharding

_OWN = ("out_sharding", "sharding")
"""Properties that hold the sharding of the only result of an op."""


def sharding_of(value: SSAValue) -> TensorSharding | None:
    """The sharding of a value, None if it has none."""
    edge = _edge_of(value)
    if edge is not None:
        return edge.sharding.data if edge.sharding is not None else None
    if isinstance(value, OpResult):
        return _result_sharding(value.op, value.index)
    if isinstance(value, BlockArgument):
        return _argument_sharding(value)
    return None


def sharding_behind_barriers(value: SSAValue) -> TensorSharding | None:
    """The sharding of a value, or of what went into the propagation barriers that gave it."""
    while isinstance(value, OpResult) and isinstance(value.op, PropagationBarrierOp):
        value = value.op.input
    return sharding_of(value)


def _edge_of(value: SSAValue) -> DataFlowEdgeOp | None:
    """The data-flow edge that is the only user of the value."""
    use = value.first_use
    if use is None or next_use(use) is not None:
        return None
    user = use.operation
    return user if isinstance(user, DataFlowEdgeOp) else None


def _result_sharding(op: Operation, index: int) -> TensorSharding | None:
    if data_flow(op) is not None:
        return sharding_at(required_data_flow(op).op_result_edge_owner_shardings(op), index)
    if op.name.startswith("sdy."):
        for name in _OWN:
            attribute = op.properties.get(name)
            if isinstance(attribute, TensorShardingAttr):
                return attribute.data
    return sharding_at(shardings_of(op.attributes.get("sdy.sharding")), index)


def _argument_sharding(argument: BlockArgument) -> TensorSharding | None:
    owner: Any = argument.owner
    op = owner.parent_op() if isinstance(owner, Block) else None
    if isinstance(op, FuncOp):
        return _at_function(op.arg_attrs, argument.index)
    if op is None or (flow := data_flow(op)) is None:
        return None
    owner = flow.edge_owner_from_target(op, argument)
    if owner is argument:
        return flow.block_argument_edge_owner_sharding(op, argument.index)
    return sharding_of(owner) if owner is not None else None


def _at_function(dictionaries: ArrayAttr[DictionaryAttr] | None, index: int) -> TensorSharding | None:
    if dictionaries is None or index >= len(dictionaries.data):
        return None
    attribute = dictionaries.data[index].data.get("sdy.sharding")
    return attribute.data if isinstance(attribute, TensorShardingAttr) else None
