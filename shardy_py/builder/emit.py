"""Any op of StableHLO from Python values: attributes by its row, result types inferred, verified at once.

    emit("transpose", x, permutation=(1, 0))

Not here: functions with the names of ops (`ops.py`, `regions.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType as TensorTypeAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from shardy_py.builder.attributes import encode
from shardy_py.builder.insertion import caller_location, insert
from shardy_py.builder.types import TensorType
from shardy_py.dialects.stablehlo import OPS
from shardy_py.dialects.stablehlo.verify import CHECKS, RESULTS, TABLE
from shardy_py.dialects.stablehlo.verify.tensors import Broken, raw
from shardy_py.dialects.stablehlo.verify.tensors import Tensor as Inferred
from shardy_py.dialects.stablehlo.verify.view import View
from shardy_py.dialects.verification.faults import diagnostic
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.text.source import position_of

Types = Sequence[TensorType | Attribute] | TensorType | Attribute | None
"""The types of results; None: they follow from the operands."""


def emit(
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
    location = caller_location()
    properties = _properties(op_name, attributes)
    op = OPS.op_class(op_name).create(
        operands=operands,
        result_types=[] if results is None else [_attribute(type_) for type_ in _listed(results)],
        properties=properties,
        regions=list(regions),
    )
    op.location = location  # pyright: ignore[reportAttributeAccessIssue]
    if results is None and row.result_slots:
        op = _with_inferred_results(op_name, op)
    _verify(op)
    insert(op)
    return tuple(op.results)


def emit_one(op_name: str, *operands: SSAValue, results: Types = None, **attributes: Any) -> SSAValue:
    """The result of an op that has one."""
    (result,) = emit(op_name, *operands, results=results, **attributes)
    return result


def _properties(op_name: str, attributes: dict[str, Any]) -> dict[str, Attribute]:
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


def _with_inferred_results(op_name: str, op: Operation) -> Operation:
    row = TABLE.get(op_name)
    if row is None or row.infer is None:
        raise ShardyError(
            f"the result type of stablehlo.{op_name} does not follow from its operands: give results="
        )
    try:
        types = [_type(inferred) for inferred in row.infer(View(op))]
    except Broken as broken:
        raise ShardyError(Diagnostic(f"'{op.name}' op {broken}", position_of(_location(op)))) from None
    made = type(op).create(
        operands=list(op.operands),
        result_types=types,
        properties=op.properties,
        regions=[op.detach_region(region) for region in list(op.regions)],
    )
    made.location = _location(op)  # pyright: ignore[reportAttributeAccessIssue]
    op.drop_all_references()
    return made


def _type(inferred: Inferred | Attribute) -> Attribute:
    if isinstance(inferred, Attribute):
        return inferred
    element: Any = inferred.element
    return TensorTypeAttr(element, [raw(size) for size in inferred.sizes])


def _verify(op: Operation) -> None:
    for table in (CHECKS, RESULTS):
        check = table.get(op.name)
        faults = [diagnostic(fault, op) for fault in check(op)] if check is not None else []
        if faults:
            op.drop_all_references()
            raise ShardyError(*faults)


def _listed(
    types: Sequence[TensorType | Attribute] | TensorType | Attribute,
) -> Sequence[TensorType | Attribute]:
    return (types,) if isinstance(types, TensorType | Attribute) else types


def _attribute(type_: TensorType | Attribute) -> Attribute:
    return type_ if isinstance(type_, Attribute) else type_.attribute


def _location(op: Operation) -> Attribute:
    return op.location  # pyright: ignore
