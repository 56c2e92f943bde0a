"""Constructors of ops from rows: operands and regions by name, Python values as attributes, inferred results.

    AddOp(x, y)
    TransposeOp(x, permutation=(1, 0))
    ReshapeOp(x, result_types=[TensorType(f32, [4, 2])])

Not here: verification of the op, which `verify()` runs; building programs (`frontends/builder/`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation

from shardy_py.base.counting import counted
from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_any_sequence, is_iterable, is_mapping
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects.checked_arguments import shown_argument
from shardy_py.mlir.dialects.definition import OpRow, Slot
from shardy_py.mlir.dialects.faults import ConstructionError, Fault, diagnostic
from shardy_py.mlir.dialects.kinds import AttributeKind, TypeKind
from shardy_py.mlir.dialects.stablehlo.attributes import TypeExtensionsAttr
from shardy_py.mlir.dialects.stablehlo.verify.messages import raw
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor
from shardy_py.mlir.dialects.stablehlo.verify.traits import PAIRWISE_ELEMENT
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.verification.declared import check_declared
from shardy_py.mlir.ir import build_operation
from shardy_py.mlir.text.builtin_attributes import is_value
from shardy_py.mlir.text.type_reader import ranked_tensor

T = TypeVar("T", SSAValue, Region)


def constructor(row: OpRow, dialect: str) -> Callable[..., None]:
    """The `__init__` of an op's class.

    It raises `ConstructionError` for an argument that is missing, unknown, or of another type.
    """
    title = f"{dialect}.{row.name}"
    accepted = [slot.accessor for slot in (*row.operands, *row.attributes, *row.regions)]

    def __init__(
        self: IRDLOperation,
        *operands: object,
        result_types: Sequence[object] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        **values: object,
    ) -> None:
        with _mistakes(title):
            values = _by_name(row, accepted, operands, values)
            given = [_operand(slot, values) for slot in row.operands]
            bodies = [_region(slot, values) for slot in row.regions]
            properties = _properties(row, values)
            discardable = _discardable(attributes)
            types = None if result_types is None else _types(row, result_types)
        if types is None:
            types = _inferred(row, type(self), given, properties, bodies)
        IRDLOperation.__init__(
            self,
            operands=given,
            result_types=_grouped(row, types),
            properties=properties,
            attributes=discardable,
            regions=bodies,
        )

    return __init__


@contextmanager
def _mistakes(title: str) -> Generator[None]:
    """Adds the op to errors about its arguments."""
    try:
        yield
    except ShardyError as error:
        first = error.first
        what = f"{title}: {first.what}" if first.what else title
        raise ConstructionError(replace(first, what=what)) from None


def _by_name(
    row: OpRow, accepted: Sequence[str], operands: Sequence[object], values: Mapping[str, object]
) -> dict[str, object]:
    unknown = next((name for name in values if name not in accepted), None)
    if unknown is not None:
        raise ShardyError.unknown("argument", unknown, accepted)
    if len(operands) > len(row.operands):
        expected = counted(len(row.operands), "operand")
        raise ShardyError.unexpected("", expected=expected, got=f"{len(operands)}")
    names = [slot.accessor for slot in row.operands[: len(operands)]]
    twice = next((name for name in names if name in values), None)
    if twice is not None:
        raise ShardyError(f"argument '{twice}' is given twice, by position and by name")
    return {**values, **dict(zip(names, operands, strict=True))}


def _operand(slot: Slot[TypeKind], values: Mapping[str, object]) -> SSAValue | list[SSAValue]:
    given = values.get(slot.accessor)
    if not slot.many:
        return _value(slot, given)
    if given is None:
        return []
    if is_value(given) or isinstance(given, Operation) or not is_iterable(given):
        raise _unexpected("operand", slot, "a sequence of values", given)
    return [_value(slot, each) for each in given]


def _value(slot: Slot[TypeKind], given: object) -> SSAValue:
    if isinstance(given, Operation) and len(given.results) == 1:
        return given.results[0]
    if not is_value(given):
        raise _unexpected("operand", slot, "a value, or an op with one result", given)
    return given


def _region(slot: Slot[None], values: Mapping[str, object]) -> Region | list[Region]:
    given = values.get(slot.accessor)
    if slot.many and given is None:
        return []
    if not slot.many:
        given = (given,)
    if isinstance(given, Region) or not is_any_sequence(given):
        raise _unexpected("region", slot, "a sequence of regions", given)
    listed: list[Region] = []
    for each in given:
        if not isinstance(each, Region):
            raise _unexpected("region", slot, "a region", each)
        listed.append(each)
    return listed if slot.many else listed[0]


def _properties(row: OpRow, values: Mapping[str, object]) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {}
    for slot in row.attributes:
        value = values.get(slot.accessor)
        if value is not None:
            try:
                properties[slot.name] = slot.kind.encode(value)
            except ShardyError as error:
                fault = error.first
                raise ShardyError(replace(fault, what=f"attribute '{slot.accessor}'")) from None
        elif not slot.optional:
            raise _unexpected(
                "attribute", slot, slot.kind.encoding.values or slot.kind.encoding.annotation, None
            )
    return properties


def _discardable(attributes: object) -> dict[str, Attribute]:
    if attributes is None:
        return {}
    if is_mapping(attributes):
        names: list[object] = list(attributes)
        given = {name: value for name, value in attributes.items() if isinstance(value, Attribute)}
        if len(given) == len(names) and all(isinstance(name, str) for name in names):
            return given
    expected = "a mapping of names to attributes"
    raise ShardyError.unexpected("argument 'attributes'", expected=expected, got=shown_argument(attributes))


def _types(row: OpRow, types: object) -> list[object]:
    """The result types that are given; nested if there are several results of any number."""
    expected = "a sequence of types"
    if isinstance(types, Attribute) or not is_any_sequence(types):
        remedy = "put it into a list" if isinstance(types, Attribute) else ""
        raise ShardyError.unexpected(_TYPES, expected=expected, got=shown_argument(types), remedy=remedy)
    listed = list(types)
    count, several = len(row.results), sum(slot.many for slot in row.results)
    is_short = len(listed) < count - several if several == 1 else len(listed) != count
    if is_short:
        least = f"at least {count - 1}" if several == 1 else f"{count}"
        raise ShardyError.unexpected(_TYPES, expected=f"{least} of them", got=f"{len(listed)}")
    for number, each in enumerate(listed):
        is_group = several > 1 and not isinstance(each, Attribute | str)
        for part in each if is_group and is_any_sequence(each) else (each,):
            if not isinstance(part, TypeAttribute):
                what = f"{_TYPES}, number {number}"
                raise ShardyError.unexpected(what, expected="a type", got=shown_argument(part))
    return listed


_TYPES = "argument 'result_types'"


def _grouped(row: OpRow, types: Sequence[object]) -> Any:
    """The types by result slot: those of the slot of any number as a list."""
    if sum(slot.many for slot in row.results) != 1:
        return types
    first = next(number for number, slot in enumerate(row.results) if slot.many)
    end = len(types) - (len(row.results) - first - 1)
    return [*types[:first], list(types[first:end]), *types[end:]]


def _unexpected(
    what: str, slot: Slot[TypeKind] | Slot[AttributeKind] | Slot[None], expected: str, given: object
) -> ShardyError:
    return ShardyError.unexpected(f"{what} '{slot.accessor}'", expected=expected, got=shown_argument(given))


def _inferred(
    row: OpRow,
    op_class: type[Operation],
    operands: Sequence[SSAValue | list[SSAValue]],
    properties: Mapping[str, Attribute],
    regions: Sequence[Region | list[Region]],
) -> list[Attribute]:
    """The types of the results, from an op without results that is built for that purpose."""
    if not row.results:
        return []
    op = build_operation(
        op_class, _flat(operands), (), dict(properties), {}, UnknownLoc(), None, _flat(regions)
    )
    try:
        check_declared(op, with_results=False)
        return infer_types(row, View(op))
    except Fault as fault:
        raise ConstructionError(diagnostic(fault, op)) from None
    except ShardyError as error:
        raise ConstructionError(*error.diagnostics) from None
    finally:
        for region in list(op.regions):
            op.detach_region(region)
        op.drop_all_references()


def _flat(parts: Sequence[T | list[T]]) -> list[T]:
    return [value for part in parts for value in (part if isinstance(part, list) else [part])]


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


@SESSION.cache(4096)
def type_attribute(type_: RankedTensor | Attribute) -> Attribute:
    """The type in the IR: the same object for equal types."""
    if isinstance(type_, Attribute):
        return type_
    if type_.element is None:
        raise ShardyError.unsupported("inference of the element type", remedy="pass result_types=")
    encoding = type_.encoding
    if any(bound is not None for bound in type_.bounds):
        encoding = TypeExtensionsAttr(tuple(map(raw, type_.bounds)))
    return ranked_tensor(tuple(map(raw, type_.sizes)), type_.element, encoding)
