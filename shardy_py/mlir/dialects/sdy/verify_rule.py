"""Verifiers of what sits on an op: `{sdy.sharding_rule = #sdy.op_sharding_rule<...>}`, propagation edges.

That the lists of special factors are sorted and name factors there are is checked where they are read
(`syntax_rule.py`): the value cannot hold anything else. Not here: steps by themselves (`verify_values.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.mlir.dialects.faults import Fault, prefixed
from shardy_py.mlir.dialects.sdy.ops import DataFlowEdgeOp, FuncDataFlowEdgeOp
from shardy_py.mlir.dialects.sdy.verify_sharding import sharding_of, sizes_of
from shardy_py.mlir.dialects.verification.scope import Scope
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.sharding import (
    EdgeValueRef,
    FactorType,
    Mesh,
    PropagationStep,
    ShardingRule,
    TensorMapping,
    factor_symbol,
)


def check_rule(rule: ShardingRule, op: Operation) -> None:
    """A rule, in this order:

    - one mapping an operand and one a result, at least one of each
    - each value is a tensor of static shape, and its mapping has its rank
    - each dimension has a factor; factors exist; none is used twice for a value; size 1 only if alone
    - each factor is used; a reduction factor is in no result
    """
    _check_side(rule, rule.operands, [value.type for value in op.operands], "operand")
    _check_side(rule, rule.results, [value.type for value in op.results], "result")
    in_results = set(_factors(rule.results))
    used = in_results.union(_factors(rule.operands))
    unused = next((index for index in range(len(rule.factors)) if index not in used), None)
    if unused is not None:
        raise Fault(
            f"has factor {factor_symbol(unused)}={rule.factor_sizes[unused]} that isn't used in operand and "
            "result mappings"
        )
    if any(rule.factors[index].type is FactorType.REDUCTION for index in in_results):
        raise Fault("reduction factor cannot be in result mappings")


def _factors(tensors: Sequence[TensorMapping]) -> Iterator[int]:
    return (factor for tensor in tensors for dimension in tensor for factor in dimension)


def _check_side(
    rule: ShardingRule, mappings: Sequence[TensorMapping], types: Sequence[Attribute], what: str
) -> None:
    if len(types) != len(mappings):
        raise Fault(f"number of {what}s and mappings must match: {len(types)} != {len(mappings)}")
    if not mappings:
        raise Fault(
            f"number of {what}s mappings cannot be 0. Op sharding rules can only be defined on operations "
            "with at least one operand and result."
        )
    for index, (type_, mapping) in enumerate(zip(types, mappings, strict=True)):
        with prefixed(f"{what} - " if len(types) == 1 else f"{what} {index} - "):
            _check_mapping(rule.factor_sizes, type_, mapping)


def _check_mapping(sizes: Sequence[int], type_: Attribute, mapping: TensorMapping) -> None:
    shape = sizes_of(type_)
    if shape is None or None in shape:
        raise Fault(f"expected a ranked tensor with a static shape. type: '{attribute_text(type_)}'")
    if len(mapping) != len(shape):
        raise Fault(f"mapping rank must match: {len(mapping)} != {len(shape)}")
    seen: set[int] = set()
    for factors in mapping:
        if not factors:
            raise Fault("dim mapping must have at least one factor")
        for factor in factors:
            if not 0 <= factor < len(sizes):
                raise Fault(
                    f"expecting factor indices to be within 0<=...<num_factors; received: {factor}, "
                    f"num_factors: {len(sizes)}"
                )
            if factor in seen:
                raise Fault("cannot reuse factors for the same tensor value")
            if sizes[factor] == 1 and len(factors) > 1:
                raise Fault("dim mapping can't have a factor of size 1 if there are multiple factors")
            seen.add(factor)


def check_edges(steps: Sequence[PropagationStep], op: Operation, scope: Scope) -> None:
    """Propagation edges on an op:

    - one of the values that they lead from or to has a sharding; all that have one share a mesh
    - edge by edge: the mesh has the axis; the op has the values (data-flow edges represent others)
    """
    edges = [edge for step in steps for edge in step.edges]
    values = [_value(reference, op) for edge in edges for reference in (edge.source, *edge.targets)]
    shardings = [s for value in values if value is not None and (s := sharding_of(value)) is not None]
    if not shardings:
        raise Fault("expected propagation edges attr to reference a sharding.")
    mesh = _common_mesh([scope.mesh(sharding) for sharding in shardings])
    if mesh is None:
        raise Fault("expected a common mesh for propagation edges attr.")
    has_all_values = isinstance(op, DataFlowEdgeOp | FuncDataFlowEdgeOp)
    for edge in edges:
        if edge.axis.name not in mesh.sizes:
            raise Fault("expected axis ref to be in one of the meshes")
        for reference in () if has_all_values else (edge.source, *edge.targets):
            if _value(reference, op) is None:
                what = "an operand" if reference.node == "operand" else "a result"
                bounds = f"[0, {len(_values(reference, op))})"
                raise Fault(
                    f"expected a value ref to have {what} index in range {bounds}, got: {reference.index}"
                )


def _values(reference: EdgeValueRef, op: Operation) -> Sequence[SSAValue]:
    return op.operands if reference.node == "operand" else op.results


def _value(reference: EdgeValueRef, op: Operation) -> SSAValue | None:
    values = _values(reference, op)
    return values[reference.index] if 0 <= reference.index < len(values) else None


def _common_mesh(meshes: Sequence[Mesh | None]) -> Mesh | None:
    """The mesh that all are but for the empty ones, which count only if all are empty."""
    filled = [mesh for mesh in meshes if mesh is None or mesh.axes or mesh.device_ids]
    if not filled:
        return meshes[0]
    return filled[0] if all(mesh == filled[0] for mesh in filled) else None
