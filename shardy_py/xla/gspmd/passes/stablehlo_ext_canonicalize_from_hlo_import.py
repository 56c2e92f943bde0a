"""`stablehlo-ext-canonicalize-from-hlo-import`: replaces tuples around custom calls by several values.

An HLO instruction has one result, which is a tuple where StableHLO has several results. Only this part of
XLA's pass of the same name is implemented. Each leaf of a nested tuple becomes an operand or result; unused
tuple ops are erased. Tuples that functions take or return are flattened by XLA's HLO importer, not here.

    before  %0 = custom_call @f(%a) {mhlo.sharding = "{{replicated}, {manual}}"} : (A) -> tuple<B, C>
            %1 = get_tuple_element %0[1]
    after   %0:2 = custom_call @f(%a) {mhlo.sharding = "{{replicated}, {manual}}"} : (A) -> (B, C)
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TupleType, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects.stablehlo import CustomCallOp, GetTupleElementOp, TupleOp
from shardy_py.mlir.typed import integer_of


def stablehlo_ext_canonicalize_from_hlo_import(module: ModuleOp) -> None:
    """Gives custom calls an operand or result per leaf of their tuples; folds elements of known tuples."""
    for op in ir.find_ops(module, CustomCallOp.name, GetTupleElementOp.name):
        if op.name == CustomCallOp.name:
            if any(isinstance(value.type, TupleType) for value in (*ir.operands_of(op), *op.results)):
                _flatten_call(op)
            continue
        source, index = ir.operands_of(op)[0], integer_of(op, "index")
        if isinstance(source, OpResult) and source.op.name == TupleOp.name:
            ir.replace_uses(op.results[0], ir.operands_of(source.op)[index])
    for op in reversed(ir.find_ops(module, TupleOp.name, GetTupleElementOp.name)):
        if op.results[0].first_use is None:
            ir.erase(op)


def _flatten_call(op: Operation) -> None:
    operands = [leaf for operand in ir.operands_of(op) for leaf in _leaves(operand, op)]
    types = [leaf for result in op.results for leaf in _leaf_types(result.type)]
    properties, attributes = dict(op.properties), dict(op.attributes)
    flat = ir.build_operation(type(op), operands, types, properties, attributes, op.location)
    ir.place_before(flat, op)
    leaves: Iterator[SSAValue] = iter(flat.results)
    anchor = flat
    for result in op.results:
        value, anchor = _packed(result.type, leaves, anchor)
        ir.replace_uses(result, value)
    ir.erase(op)


def _leaf_types(type_: Attribute) -> list[Attribute]:
    if not isinstance(type_, TupleType):
        return [type_]
    return [leaf for element in type_.types.data for leaf in _leaf_types(element)]


def _leaves(value: SSAValue, user: Operation) -> list[SSAValue]:
    """The leaves of a value; ops that extract them are placed before `user`."""
    if not isinstance(value.type, TupleType):
        return [value]
    if isinstance(value, OpResult) and value.op.name == TupleOp.name:
        return [leaf for element in ir.operands_of(value.op) for leaf in _leaves(element, user)]
    found: list[SSAValue] = []
    for index, type_ in enumerate(value.type.types.data):
        properties: dict[str, Attribute] = {"index": IntegerAttr(index, i32)}
        element = ir.build_operation(GetTupleElementOp, [value], [type_], properties, {}, user.location)
        ir.place_before(element, user)
        found += _leaves(element.results[0], user)
    return found


def _packed(type_: Attribute, leaves: Iterator[SSAValue], anchor: Operation) -> tuple[SSAValue, Operation]:
    """Returns a value of `type_` built from the next leaves, and the last op placed after `anchor` for it."""
    if not isinstance(type_, TupleType):
        return next(leaves), anchor
    elements: list[SSAValue] = []
    for element in type_.types.data:
        value, anchor = _packed(element, leaves, anchor)
        elements.append(value)
    tuple_op = ir.build_operation(TupleOp, elements, [type_], {}, {}, anchor.location)
    ir.place_after(tuple_op, anchor)
    return tuple_op.results[0], tuple_op
