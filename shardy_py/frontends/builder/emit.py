"""Ops of StableHLO from Python values: attributes by the op's row, result types inferred, verified at once.

    emit_op("transpose", x, permutation=(1, 0))

Inference and verification depend on the types of operands and on attributes alone for most ops: they run
once for each such signature of a program. Not here: functions with the names of ops (`ops/`, `regions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, NoneAttr
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.frontends.builder.insertion import Trace, caller_location, current_trace, insert
from shardy_py.frontends.builder.types import RankedTensorType, element_attribute
from shardy_py.mlir.dialects import syntax_table
from shardy_py.mlir.dialects.checks import results_check, rules_check
from shardy_py.mlir.dialects.construction import infer_types, type_attribute
from shardy_py.mlir.dialects.definition import OpRow
from shardy_py.mlir.dialects.encoding import plain_attribute
from shardy_py.mlir.dialects.faults import Check, Fault, diagnostic, diagnostics
from shardy_py.mlir.dialects.stablehlo import OPS, structs
from shardy_py.mlir.dialects.stablehlo.verify.contraction import dot_general_sizes
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor as Inferred
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.dialects.stablehlo.verify.windows import convolution_sizes
from shardy_py.mlir.dialects.verification.declared import check_declared
from shardy_py.mlir.ir import build_operation, operands_of
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import of_kind

Types = Sequence[RankedTensorType | Attribute] | RankedTensorType | Attribute | str | None
"""The types of results. A string: the element type of the only result, whose shape is inferred; None: element
types are inferred, too."""
_COMPARED = (
    *(bool, int, str, range, type(None)),
    *(structs.DotDimensionNumbers, structs.ConvDimensionNumbers),
    *(structs.GatherDimensionNumbers, structs.ScatterDimensionNumbers),
)
"""Types of attributes that signatures may hold, besides tuples of integers and short constants."""
_FEW_BYTES = 64


def _of_operand(view: View) -> Inferred:
    return view.operands[0]


_SHAPES: dict[str, Callable[[View], Inferred]] = {
    "dot_general": lambda view: Inferred(dot_general_sizes(view)),
    "convolution": lambda view: Inferred(convolution_sizes(view)),
    **dict.fromkeys(("bitcast_convert", "convert", "uniform_dequantize"), _of_operand),
}
"""The shape of the result, for ops whose element type does not follow from the operands."""


_OTHER_DIALECTS = "name ops of other dialects 'dialect.op'"


def emit_op(
    op_name: str,
    *operands: SSAValue,
    results: Types = None,
    regions: Iterable[Region] = (),
    **attributes: object,
) -> tuple[OpResult, ...]:
    """Inserts the op `stablehlo.<op_name>` and returns its results.

    operands: in the order of the op's definition.
    attributes: by name; None: absent. Raises `ShardyError` at the caller's line, as the verifier does.
    """
    row = OPS.rows.get(op_name)
    if row is None:
        raise ShardyError.unknown("StableHLO op", op_name, OPS.rows, remedy=_OTHER_DIALECTS)
    trace = current_trace()
    given: list[object] = list(regions)
    bodies = [body for body in given if isinstance(body, Region)]
    if len(bodies) < len(given):
        raise ShardyError.unexpected(
            "", expected=f"regions of stablehlo.{op_name}, as `region` makes them", got=f"{given!r}"
        )
    signature = None if bodies else _signature(op_name, operands, results, attributes)
    known = None if signature is None else trace.signatures.get(signature)
    if known is not None:
        properties, types = known
        op = build_operation(OPS.op_class(op_name), operands, types, dict(properties), {}, caller_location())
    else:
        op = _verified(row, operands, results, attributes, bodies)
        if signature is not None:
            _remember(trace, signature, op)
    insert(op)
    return tuple(op.results)


def _verified(
    row: OpRow,
    operands: Sequence[SSAValue],
    results: Types,
    attributes: Mapping[str, object],
    bodies: Sequence[Region],
) -> Operation:
    """Returns the op, verified and not inserted."""
    encoders = {slot.name: slot.kind.encode for slot in row.attributes}
    properties, discardable = _split(f"stablehlo.{row.name}", encoders, attributes)
    element = results if isinstance(results, str) else None
    follows = results is None or element is not None
    types = [NoneAttr() for slot in row.results if not slot.many] if follows else result_types(results)
    op = build_operation(
        OPS.op_class(row.name), operands, types, properties, discardable, caller_location(), None, bodies
    )
    if follows and row.results:
        require(op, partial(check_declared, with_results=False))
        op = _with_results(op, _inferred(row, op, element))
        if element is None:
            return op
    require(op, check_declared)
    if not row.needs_constants:
        require(op, rules_check(row))
        if row.infer is not None:
            require(op, results_check(row.infer))
    return op


def emit_other(
    op_name: str,
    *operands: SSAValue,
    results: Types = None,
    regions: Iterable[Region] = (),
    **attributes: object,
) -> tuple[OpResult, ...]:
    """Inserts an op of another dialect by its full name; as `emit_op`, with results given.

    The class declares the attributes; its verifier runs when the whole program is built. Raises `ShardyError`
    for an unknown op or attribute.
    """
    syntax = syntax_table().op(op_name)
    definition = getattr(syntax.op_class, "get_irdl_definition", lambda: None)() if syntax else None
    if syntax is None or definition is None:
        raise ShardyError(
            f"unknown op '{op_name}'; register its dialect with shardy_py.mlir.dialects.register_dialect"
        )
    if results is None and definition.results:
        raise ShardyError(f"the result types of {op_name} are not inferred; pass results=")
    declared = dict.fromkeys((*definition.properties, *definition.attributes), plain_attribute)
    own, discardable = _split(op_name, declared, attributes)
    properties = {name: own.pop(name) for name in definition.properties if name in own}
    types = [] if results is None else result_types(results)
    op = build_operation(
        syntax.op_class,
        operands,
        types,
        properties,
        own | discardable,
        caller_location(),
        None,
        list(regions),
    )
    require(op, check_declared)
    insert(op)
    return tuple(op.results)


def emit_one(op_name: str, *operands: SSAValue, results: Types = None, **attributes: Any) -> SSAValue:
    """Inserts an op with one result and returns that."""
    (result,) = emit_op(op_name, *operands, results=results, **attributes)
    return result


def _signature(
    op_name: str, operands: Sequence[SSAValue], results: Types, attributes: Mapping[str, object]
) -> tuple[object, ...] | None:
    """The key that determines an op's results and diagnostics; None if it is not cheaply comparable."""
    row = OPS.rows.get(op_name)
    if (
        row is None
        or row.needs_constants
        or not (results is None or isinstance(results, RankedTensorType | str))
    ):
        return None
    parts: list[object] = [op_name, results]
    for name, value in attributes.items():
        if "." in name or not (isinstance(value, _COMPARED) or _is_integers(value) or _is_short(value)):
            return None
        parts += (name, type(value), value)
    parts += (id(operand.type) for operand in operands)
    signature = tuple(parts)
    try:
        hash(signature)
    except TypeError:
        return None
    return signature


def _is_integers(value: object) -> bool:
    return type(value) is tuple and all(type(entry) is int for entry in value)  # pyright: ignore


def _is_short(value: object) -> bool:
    return isinstance(value, DenseIntOrFPElementsAttr) and len(value.data.data) <= _FEW_BYTES


def _remember(trace: Trace, signature: tuple[object, ...], op: Operation) -> None:
    """Caches the properties and result types of a signature, and keeps alive the types it identifies."""
    types = [result.type for result in op.results]
    trace.signatures[signature] = dict(op.properties), types
    trace.kept.extend(operand.type for operand in operands_of(op))


def _split(
    op_name: str, encoders: Mapping[str, Callable[[object], Attribute]], attributes: Mapping[str, object]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The op's own attributes, and discardable ones of dialects (`mhlo.sharding`)."""
    own: dict[str, Attribute] = {}
    others: dict[str, Attribute] = {}
    for name, value in attributes.items():
        if name not in encoders and "." not in name:
            raise ShardyError.unknown("attribute", name, encoders, what=op_name)
        if value is None:
            continue
        try:
            (own if name in encoders else others)[name] = encoders.get(name, plain_attribute)(value)
        except ShardyError as error:
            message = error.diagnostics[0].message
            raise ShardyError(f"attribute '{name}' of {op_name}: {message}") from None
    return own, others


def _inferred(row: OpRow, op: Operation, element: str | None) -> list[Attribute]:
    """The inferred types of the results of an op that has none yet."""
    shape = _SHAPES.get(row.name)
    view = View(op)
    view.result_types = ()
    try:
        if shape is not None and element is not None:
            return [type_attribute(shape(view).of(element_attribute(element)))]
        if row.infer is None or element is not None:
            raise _unfit(op, ShardyError(_not_inferred(row.name)))
        return infer_types(row, view)
    except Fault as fault:
        message = diagnostic(fault, op).message
        raise _unfit(op, ShardyError(Diagnostic(message + _got(op), position_of(_location(op))))) from None


def _not_inferred(op_name: str) -> str:
    what = "an element type, or types" if op_name in _SHAPES else "types"
    return f"the result type of stablehlo.{op_name} is not inferred; pass results= ({what})"


def _with_results(op: Operation, types: Sequence[Attribute]) -> Operation:
    """Returns the op with these results; it must have none and not be inserted."""
    regions = [op.detach_region(region) for region in list(op.regions)]
    op_with_results = build_operation(
        type(op), list(operands_of(op)), types, op.properties, op.attributes, _location(op), None, regions
    )
    op.drop_all_references()
    return op_with_results


def require(op: Operation, check: Check) -> None:
    """Raises `ShardyError` with the fault that the check finds; the op must not be inserted."""
    try:
        check(op)
    except Fault as fault:
        got = _got(op)
        shown = [Diagnostic(d.message + got, d.where) for d in diagnostics(fault, op)]
        raise _unfit(op, ShardyError(*shown)) from None


def _unfit(op: Operation, error: ShardyError) -> ShardyError:
    """Drops the operands of the op and returns the error."""
    op.drop_all_references()
    return error


def _got(op: Operation) -> str:
    types = ", ".join(attribute_text(operand.type) for operand in operands_of(op))
    return f"; got {op.name} of {types}" if types else f"; got {op.name}"


def result_types(types: Types) -> list[Attribute]:
    """The types of results in the IR. Raises `ShardyError` for anything else."""
    given = (types,) if isinstance(types, RankedTensorType | Attribute) else types
    if not isinstance(given, list | tuple):
        raise ShardyError.unexpected(
            "", expected="a list of types such as [tensor((8, 16))]", got=f"{types!r}"
        )
    return [_attribute(type_) for type_ in given]


def _attribute(type_: object) -> Attribute:
    if isinstance(type_, RankedTensorType):
        return type_.attribute
    if not isinstance(type_, Attribute):
        raise ShardyError.unexpected("", expected="a type such as tensor((8, 16))", got=f"{type_!r}")
    return type_


def _location(op: Operation) -> Attribute:
    return of_kind(op.location, Attribute)
