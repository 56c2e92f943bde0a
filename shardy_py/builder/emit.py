"""Any op of StableHLO from Python values: attributes by its row, result types inferred, verified at once.

    emit_op("transpose", x, permutation=(1, 0))

Inference and verification depend on the types of operands and on attributes alone for most ops: they run
once for each such signature of a program. Not here: functions with the names of ops (`ops.py`,
`regions.py`).
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import NoneAttr
from xdsl.dialects.builtin import TensorType as TensorTypeAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from shardy_py.builder.attributes import encode
from shardy_py.builder.insertion import Trace, caller_location, current_trace, insert
from shardy_py.builder.types import TensorType
from shardy_py.dialects.stablehlo import OPS, structs
from shardy_py.dialects.stablehlo.attributes import TypeExtensionsAttr
from shardy_py.dialects.stablehlo.verify import CHECKS, RESULTS, TABLE
from shardy_py.dialects.stablehlo.verify.tensors import Broken, raw
from shardy_py.dialects.stablehlo.verify.tensors import Tensor as Inferred
from shardy_py.dialects.stablehlo.verify.view import View
from shardy_py.dialects.verification.faults import diagnostic
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.construct import build_operation
from shardy_py.text.source import position_of

Types = Sequence[TensorType | Attribute] | TensorType | Attribute | None
"""The types of results; None: they follow from the operands."""
_COMPARED = (
    *(bool, int, str, range, type(None)),
    *(structs.DotDimensionNumbers, structs.ConvDimensionNumbers),
    *(structs.GatherDimensionNumbers, structs.ScatterDimensionNumbers),
)
"""Attributes of these types, and tuples of integers, are compared to find a signature seen before."""


def emit_op(
    op_name: str,
    *operands: SSAValue,
    results: Types = None,
    regions: Iterable[Region] = (),
    **attributes: Any,
) -> tuple[SSAValue, ...]:
    """Build the op `stablehlo.<op_name>` at the current place.

    operands: in the order of the op's definition.
    attributes: by name; None: absent. Raises `ShardyError` at the caller's line, as the verifier does.
    """
    row = OPS.rows.get(op_name)
    if row is None:
        raise ShardyError(f"StableHLO has no op '{op_name}'")
    trace = current_trace()
    bodies = list(regions)
    signature = None if bodies else _signature(op_name, operands, results, attributes)
    known = None if signature is None else trace.signatures.get(signature)
    op_class = OPS.op_class(op_name)
    if known is not None:
        properties, types = known
        op = build_operation(op_class, operands, types, dict(properties), {}, caller_location())
    else:
        properties = _properties(op_name, attributes)
        types = [] if results is None else [_attribute(type_) for type_ in _listed(results)]
        location = caller_location()
        op = build_operation(op_class, operands, types, properties, {}, location, None, bodies)
        if results is None and row.result_slots:
            op = _with_results(op, _inferred(op_name, op))
        _verify(op)
        if signature is not None:
            _remember(trace, signature, op)
    insert(op)
    return tuple(op.results)


def emit_one(op_name: str, *operands: SSAValue, results: Types = None, **attributes: Any) -> SSAValue:
    """The result of an op that has one."""
    (result,) = emit_op(op_name, *operands, results=results, **attributes)
    return result


def _signature(
    op_name: str, operands: Sequence[SSAValue], results: Types, attributes: Mapping[str, Any]
) -> tuple[object, ...] | None:
    """What decides about an op's results and faults; None where that cannot be compared cheaply."""
    row = TABLE.get(op_name)
    if row is None or row.needs_constants or not (results is None or isinstance(results, TensorType)):
        return None
    parts: list[object] = [op_name, results]
    for name, value in attributes.items():
        if not (isinstance(value, _COMPARED) or _is_integers(value)):
            return None
        parts += (name, type(value), value)
    parts += (id(operand._type) for operand in operands)
    signature = tuple(parts)
    try:
        hash(signature)
    except TypeError:
        return None
    return signature


def _is_integers(value: object) -> bool:
    return type(value) is tuple and all(type(entry) is int for entry in value)  # pyright: ignore


def _remember(trace: Trace, signature: tuple[object, ...], op: Operation) -> None:
    """Keep what was found of a signature, and its types alive, whose identities it holds."""
    types = [result._type for result in op.results]
    trace.signatures[signature] = dict(op.properties), types
    trace.kept.extend(operand._type for operand in op._operands)


def _properties(op_name: str, attributes: Mapping[str, Any]) -> dict[str, Attribute]:
    kinds = {slot.name: slot for slot in OPS.rows[op_name].attribute_slots}
    unknown = next((name for name in attributes if name not in kinds), None)
    if unknown is not None:
        has = ", ".join(kinds) or "none"
        raise ShardyError(f"stablehlo.{op_name} has no attribute '{unknown}'; it has: {has}")
    try:
        return {
            name: encode(kinds[name].kind, value) for name, value in attributes.items() if value is not None
        }
    except ShardyError as error:
        raise ShardyError(f"stablehlo.{op_name}: {error.diagnostics[0].message}") from None


def _inferred(op_name: str, op: Operation) -> list[Attribute]:
    row = TABLE.get(op_name)
    if row is None or row.infer is None:
        op.drop_all_references()
        raise ShardyError(
            f"the result type of stablehlo.{op_name} does not follow from its operands: give results="
        )
    try:
        return [_type(inferred) for inferred in row.infer(View(op))]
    except Broken as broken:
        place = position_of(_location(op))
        told = _operand_types(op)
        op.drop_all_references()
        raise ShardyError(Diagnostic(f"'{op.name}' op {broken}{told}", place)) from None


def _with_results(op: Operation, types: Sequence[Attribute]) -> Operation:
    """The op with these results; it must have none, and stand nowhere."""
    regions = [op.detach_region(region) for region in list(op.regions)]
    made = build_operation(
        type(op), list(op._operands), types, op.properties, {}, _location(op), None, regions
    )
    op.drop_all_references()
    return made


def _type(inferred: Inferred | Attribute) -> Attribute:
    if isinstance(inferred, Attribute):
        return inferred
    element: Any = inferred.element
    sizes = [raw(size) for size in inferred.sizes]
    if any(bound is not None for bound in inferred.bounds):
        return TensorTypeAttr(element, sizes, TypeExtensionsAttr(tuple(map(raw, inferred.bounds))))
    return TensorTypeAttr(element, sizes, inferred.encoding or NoneAttr())


def _verify(op: Operation) -> None:
    for table in (CHECKS, RESULTS):
        check = table.get(op.name)
        faults = [diagnostic(fault, op) for fault in check(op)] if check is not None else []
        if faults:
            told = _operand_types(op)
            op.drop_all_references()
            raise ShardyError(*(Diagnostic(f.message + told, f.position) for f in faults))


def _operand_types(op: Operation) -> str:
    types = ", ".join(attribute_text(operand._type) for operand in op._operands)
    return f"; got {op.name} of {types}" if types else ""


def _listed(
    types: Sequence[TensorType | Attribute] | TensorType | Attribute,
) -> Sequence[TensorType | Attribute]:
    return (types,) if isinstance(types, TensorType | Attribute) else types


def _attribute(type_: TensorType | Attribute) -> Attribute:
    return type_ if isinstance(type_, Attribute) else type_.attribute


def _location(op: Operation) -> Any:
    return op.location  # pyright: ignore
