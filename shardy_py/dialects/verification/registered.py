"""Verifier of ops of dialects that users registered, beside their IRDL definitions.

- `verify_` of the class and of its traits, as xDSL runs them
- data-flow edges join existing values of equal rank (of equal shape where no axes are manual)

Not here: the interfaces (`dialects/sdy/interfaces.py`).
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from shardy_py.dialects.sdy.interfaces import ShardableDataFlowOpInterface, manual_axes
from shardy_py.dialects.traits import data_flow, required_data_flow
from shardy_py.dialects.verification.faults import Fault, Faults
from shardy_py.text.attribute_writer import attribute_text

_UNFIT = "lacks an operand, a result, a block argument or a terminator that its data-flow edges refer to"


def check_registered(op: Any) -> Faults:
    """An op of a registered dialect whose regions are sound."""
    try:
        for trait in op.traits:
            trait.verify(op)
        op.verify_()
    except VerifyException as error:
        yield Fault(str(error))
        return
    if data_flow(op) is not None:
        yield from _data_flow_faults(op, required_data_flow(op))


def _data_flow_faults(op: Operation, flow: ShardableDataFlowOpInterface) -> Faults:
    try:
        edges = [(owner, _joined(op, flow, owner)) for owner in _owners(op, flow)]
    except (AssertionError, IndexError):
        yield Fault(_UNFIT)
        return
    see = _rank if manual_axes(op) else _shape
    for owner, joined in edges:
        for value in joined:
            if see(value.type) != see(owner.type):
                types = f"'{attribute_text(value.type)}' and '{attribute_text(owner.type)}'"
                yield Fault(f"has a data-flow edge between values of different shapes: {types}")
                return


def _owners(op: Operation, flow: ShardableDataFlowOpInterface) -> tuple[SSAValue, ...]:
    return (*flow.block_argument_edge_owners(op), *flow.op_result_edge_owners(op))


def _joined(op: Operation, flow: ShardableDataFlowOpInterface, owner: SSAValue) -> tuple[SSAValue, ...]:
    sources = (user.operands[index] for user, index in flow.edge_sources(op, owner))
    return (*sources, *flow.non_edge_owner_targets(op, owner))


def _shape(type_: Attribute) -> tuple[int, ...] | None:
    return type_.get_shape() if isinstance(type_, ShapedType) else None


def _rank(type_: Attribute) -> int | None:
    return type_.get_num_dims() if isinstance(type_, ShapedType) else None
