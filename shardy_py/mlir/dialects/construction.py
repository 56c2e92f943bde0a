"""Constructors of ops from rows: operands and regions by name, Python values as attributes, inferred results.

    AddOp(x, y)
    TransposeOp(x, permutation=(1, 0))
    ReshapeOp(x, result_types=[TensorType(f32, [4, 2])])

Not here: verification of the op, which `verify()` runs; building programs (`frontends/builder/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.definition import OpRow, Slot
from shardy_py.mlir.dialects.faults import Fault, diagnostic
from shardy_py.mlir.dialects.kinds import Notation
from shardy_py.mlir.dialects.stablehlo.attributes import TypeExtensionsAttr
from shardy_py.mlir.dialects.stablehlo.verify.messages import raw
from shardy_py.mlir.dialects.stablehlo.verify.tensors import Tensor
from shardy_py.mlir.dialects.stablehlo.verify.traits import PAIRWISE_ELEMENT
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.verification.declared import check_declared
from shardy_py.mlir.ir import build_operation
from shardy_py.mlir.text.type_reader import ranked_tensor


def constructor(row: OpRow, notation: Notation) -> Callable[..., None]:
    """The `__init__` of an op's class."""
    title = f"{notation.dialect}.{row.name}"
    accepted = [slot.accessor for slot in (*row.operand_slots, *row.attribute_slots, *row.region_slots)]

    def __init__(
        self: IRDLOperation,
        *operands: Any,
        result_types: Sequence[Any] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        **values: Any,
    ) -> None:
        unknown = next((name for name in values if name not in accepted), None)
        if unknown is not None:
            raise ShardyError.unknown("argument", unknown, accepted, what=title)
        if len(operands) > len(row.operand_slots):
            expected, got = f"{len(row.operand_slots)} operands", f"{len(operands)}"
            raise ShardyError.unexpected(title, expected=expected, got=got)
        values.update(zip((slot.accessor for slot in row.operand_slots), operands, strict=False))
        given = [_required(title, slot, values) for slot in row.operand_slots]
        regions = [_required(title, slot, values) for slot in row.region_slots]
        properties = _properties(title, row, notation, values)
        if result_types is None:
            result_types = _inferred(title, row, type(self), given, properties, regions)
        if sum(slot.many for slot in row.result_slots) == 1:
            count = len(row.result_slots) - 1
            result_types = [*result_types[:count], list(result_types[count:])]
        IRDLOperation.__init__(
            self,
            operands=given,
            result_types=result_types,
            properties=properties,
            attributes=dict(attributes or {}),
            regions=regions,
        )

    return __init__


def _required(title: str, slot: Slot, values: Mapping[str, Any]) -> Any:
    value = values.get(slot.accessor)
    if value is None and not slot.many:
        raise ShardyError.unexpected(title, expected=f"argument '{slot.accessor}'", got="none")
    return list(value or ()) if slot.many else value


def _properties(
    title: str, row: OpRow, notation: Notation, values: Mapping[str, Any]
) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {}
    for slot in row.attribute_slots:
        value = values.get(slot.accessor)
        if value is not None:
            try:
                properties[slot.name] = notation.encode(slot.kind, value)
            except ShardyError as error:
                message = f"attribute '{slot.name}' of {title}: {error.first.message}"
                raise ShardyError(message) from None
        elif not slot.optional:
            _required(title, slot, values)
    return properties


def _inferred(
    title: str,
    row: OpRow,
    op_class: type[Operation],
    operands: Sequence[Any],
    properties: Mapping[str, Attribute],
    regions: Sequence[Any],
) -> list[Attribute]:
    """The types of the results, from an op without results that is built for that purpose."""
    if not row.result_slots:
        return []
    values = [SSAValue.get(value) for value in _flat(operands)]
    op = build_operation(op_class, values, (), dict(properties), {}, UnknownLoc(), None, _flat(regions))
    try:
        check_declared(op, with_results=False)
        return infer_types(row, View(op))
    except Fault as fault:
        raise ShardyError(diagnostic(fault, op)) from None
    finally:
        for region in list(op.regions):
            op.detach_region(region)
        op.drop_all_references()


def _flat(parts: Sequence[Any]) -> list[Any]:
    return [
        value for part in parts for value in (cast("list[Any]", part) if isinstance(part, list) else [part])
    ]


def infer_types(row: OpRow, view: View) -> list[Attribute]:
    """The types of the results of an op that has none yet.

    Raises `Fault` if the operands or attributes violate a rule, `ShardyError` if nothing is inferred.
    """
    if row.infer is None:
        raise ShardyError.unsupported(
            f"inference of the result types of '{view.op.name}'", remedy="pass result_types="
        )
    for rule in row.verify:
        if rule is not PAIRWISE_ELEMENT:  # it compares with results
            rule(view)
    return [type_attribute(type_) for type_ in row.infer(view)]


@lru_cache(maxsize=4096)
def type_attribute(type_: Tensor | Attribute) -> Attribute:
    """The type in the IR: the same object for equal types."""
    if isinstance(type_, Attribute):
        return type_
    if type_.element is None:
        raise ShardyError.unsupported("inference of the element type", remedy="pass result_types=")
    encoding = type_.encoding
    if any(bound is not None for bound in type_.bounds):
        encoding = TypeExtensionsAttr(tuple(map(raw, type_.bounds)))
    return ranked_tensor(tuple(map(raw, type_.sizes)), type_.element, encoding)
