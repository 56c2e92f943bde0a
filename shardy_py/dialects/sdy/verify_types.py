"""Verifiers of ops whose result has the type of their operand.

The description of a kind of types and the order of the checks are MLIR's. Not here: shardings that must fit
the types (`verify_sharding.py`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from xdsl.dialects.builtin import MemRefType, TensorType, UnrankedMemRefType, UnrankedTensorType, VectorType
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.faults import Check, Fault, inferred_fault
from shardy_py.dialects.kinds import TypeKind
from shardy_py.dialects.sdy import ops
from shardy_py.text.attribute_writer import attribute_text

_SHAPED = (TensorType, VectorType, MemRefType, UnrankedTensorType, UnrankedMemRefType)
_UNRANKED = (UnrankedTensorType, UnrankedMemRefType)

_ANY = TypeKind("any type", lambda type_: True)
_TENSOR = TypeKind("ranked tensor of any non-token type values", lambda type_: isinstance(type_, TensorType))
_SHAPED_VALUE = TypeKind("shaped of any non-token type values", lambda type_: isinstance(type_, _SHAPED))


def _check_identity(kind: TypeKind, op: Operation) -> None:
    """An op of one operand and one result:

    - both are of its kind of types
    - they have one element type and compatible shapes
    - their types are equal
    """
    types = (op.operands[0].type, op.results[0].type)
    for what, type_ in zip(("operand", "result"), types, strict=True):
        if not kind.accepts(type_):
            raise Fault(f"{what} #0 must be {kind.description}, but got '{attribute_text(type_)}'")
    given, result = types
    if given == result:
        return
    if _element(given) != _element(result) or not _are_compatible(given, result):
        raise Fault("requires the same type for all operands and results")
    raise inferred_fault([f"'{attribute_text(given)}'"], [f"'{attribute_text(result)}'"])


def _element(type_: Any) -> Attribute:
    return getattr(type_, "element_type", type_)


def _are_compatible(one: Attribute, other: Attribute) -> bool:
    """Whether two types are shaped, and no dimensions of known size differ; or neither is."""
    if not (isinstance(one, _SHAPED) and isinstance(other, _SHAPED)):
        return not isinstance(one, _SHAPED) and not isinstance(other, _SHAPED)
    if isinstance(one, _UNRANKED) or isinstance(other, _UNRANKED):
        return True
    sizes = one.get_shape(), other.get_shape()
    if len(sizes[0]) != len(sizes[1]):
        return False
    return all(a == b or min(a, b) < 0 for a, b in zip(*sizes, strict=True))


_SHAPED_OPS = (
    *(ops.DataFlowEdgeOp, ops.FuncDataFlowEdgeOp, ops.AllGatherOp, ops.AllSliceOp, ops.AllToAllOp),
    *(ops.CollectivePermuteOp, ops.AllReduceOp, ops.ReduceScatterOp),
    *(ops.ShardedToUnreducedOp, ops.ReplicatedToUnreducedOp),
)
_KINDS: dict[type[Operation], TypeKind] = {
    **dict.fromkeys((ops.ShardingConstraintOp, ops.ReshardOp), _ANY),
    ops.PropagationBarrierOp: _TENSOR,
    **dict.fromkeys(_SHAPED_OPS, _SHAPED_VALUE),
}

CHECKS: dict[str, Check] = {op.name: partial(_check_identity, kind) for op, kind in _KINDS.items()}
"""Checks of an op by itself."""
