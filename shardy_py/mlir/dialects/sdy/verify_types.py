"""Verifiers of the types of operands and results, and of attributes of general classes.

Descriptions and the order of the checks are MLIR's. Not here: the dialect's own attributes, whose classes the
definitions of the ops name; shardings that must fit the types (`verify_sharding.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import (
    MemRefType,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects.faults import Check, Fault, inferred_fault
from shardy_py.mlir.dialects.kinds import ELEMENTS, I64, AttributeKind, TypeKind
from shardy_py.mlir.dialects.sdy import ops
from shardy_py.mlir.dialects.sdy.syntax import PROPAGATION_DIRECTIONS
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_integer_attribute
from shardy_py.ops import REDUCTIONS

_SHAPED = (TensorType, VectorType, MemRefType, UnrankedTensorType, UnrankedMemRefType)
_UNRANKED = (UnrankedTensorType, UnrankedMemRefType)

_ANY = TypeKind("any type", lambda type_: True)
_TENSOR = TypeKind("ranked tensor of any non-token type values", lambda type_: isinstance(type_, TensorType))
_STATIC = TypeKind(
    "statically shaped tensor of any non-token type values",
    lambda type_: isinstance(type_, TensorType) and min(type_.get_shape(), default=0) >= 0,
)
_SHAPED_VALUE = TypeKind("shaped of any non-token type values", lambda type_: isinstance(type_, _SHAPED))


def _check_attribute(name: str, kind: AttributeKind, op: Operation) -> None:
    """An attribute, if the op has it, is of its kind."""
    attribute = op.properties.get(name)
    if attribute is not None and not kind.accepts(attribute):
        raise Fault(f"attribute '{name}' failed to satisfy constraint: {kind.description}")


def _check_types(kind: TypeKind, op: Operation) -> None:
    """Operands and results are of that kind."""
    for what, values in (("operand", op.operands), ("result", op.results)):
        for index, value in enumerate(values):
            if not kind.accepts(value.type):
                text = attribute_text(value.type)
                raise Fault(f"{what} #{index} must be {kind.description}, but got '{text}'")


def _check_identity(op: Operation) -> None:
    """The types of the operand and the result:

    - they have one element type and compatible shapes
    - they are equal
    """
    given, result = op.operands[0].type, op.results[0].type
    if given == result:
        return
    if _element(given) != _element(result) or not _are_compatible(given, result):
        raise Fault("requires the same type for all operands and results")
    raise inferred_fault([f"'{attribute_text(given)}'"], [f"'{attribute_text(result)}'"])


def _element(type_: Attribute) -> Attribute:
    return getattr(type_, "element_type", type_)


def _are_compatible(one: Attribute, other: Attribute) -> bool:
    """Returns whether two types are shaped, and no dimensions of known size differ; or neither is."""
    if not (isinstance(one, _SHAPED) and isinstance(other, _SHAPED)):
        return not isinstance(one, _SHAPED) and not isinstance(other, _SHAPED)
    if isinstance(one, _UNRANKED) or isinstance(other, _UNRANKED):
        return True
    sizes = one.get_shape(), other.get_shape()
    if len(sizes[0]) != len(sizes[1]):
        return False
    return all(a == b or min(a, b) < 0 for a, b in zip(*sizes, strict=True))


def _enum(what: str, names: Sequence[str]) -> AttributeKind:
    def accepts(attribute: Attribute) -> bool:
        if not is_integer_attribute(attribute) or attribute.type != i32:
            return False
        return 0 <= attribute.value.data < len(names)

    return AttributeKind(f"{what} enum", accepts)


_ATTRIBUTES: dict[type[Operation], tuple[str, AttributeKind]] = {
    ops.PropagationBarrierOp: ("allowed_direction", _enum("propagation direction", PROPAGATION_DIRECTIONS)),
    ops.AllReduceOp: ("reduction_op", _enum("reduction", REDUCTIONS)),
    ops.ReduceScatterOp: ("reduction_op", _enum("reduction", REDUCTIONS)),
    ops.ShardingGroupOp: ("group_id", I64),
    ops.ConstantOp: ("value", ELEMENTS),
}
_SHAPED_OPS = (
    *(ops.DataFlowEdgeOp, ops.FuncDataFlowEdgeOp, ops.AllGatherOp, ops.AllSliceOp, ops.AllToAllOp),
    *(ops.CollectivePermuteOp, ops.AllReduceOp, ops.ReduceScatterOp),
    *(ops.ShardedToUnreducedOp, ops.ReplicatedToUnreducedOp),
)
_TYPES: dict[type[Operation], TypeKind] = {
    **dict.fromkeys((ops.ShardingConstraintOp, ops.ReshardOp), _ANY),
    **dict.fromkeys((ops.PropagationBarrierOp, ops.ShardingGroupOp), _TENSOR),
    ops.ConstantOp: _STATIC,
    **dict.fromkeys(_SHAPED_OPS, _SHAPED_VALUE),
}


def _check_of(op: type[Operation], kind: TypeKind) -> Check:
    checks: list[Check] = [partial(_check_types, kind)]
    if op in _ATTRIBUTES:
        checks.insert(0, partial(_check_attribute, *_ATTRIBUTES[op]))
    if op not in (ops.ConstantOp, ops.ShardingGroupOp):
        checks.append(_check_identity)

    def check(op: Operation) -> None:
        for part in checks:
            part(op)

    return check


CHECKS: dict[str, Check] = {op.name: _check_of(op, kind) for op, kind in _TYPES.items()}
"""Checks of an op by itself."""
