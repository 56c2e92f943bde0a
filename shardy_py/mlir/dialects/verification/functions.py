"""Verifiers of builtin and func: modules, their symbols, functions, calls.

Messages and their order are MLIR's.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.faults import Fault, note
from shardy_py.mlir.dialects.verification.declared import check_single_block
from shardy_py.mlir.dialects.verification.scope import Scope, symbol_name
from shardy_py.mlir.text.attribute_writer import attribute_text

_VISIBILITIES = ("public", "private", "nested")


def check_module(op: ModuleOp, scope: Scope) -> None:
    """A module has one block, and its own attributes have a dialect prefix."""
    check_single_block(op, "bodyRegion")
    for name in op.attributes:
        if "." not in name:
            raise Fault(f"can only contain attributes with dialect-prefixed names, found: '{name}'")


def check_symbol_table(module: ModuleOp, scope: Scope) -> None:
    """No two ops of a module define the same symbol."""
    for op in module.body.ops:
        name = symbol_name(op)
        if name is not None and scope.symbols[name] is not op:
            first = note("see existing symbol definition here", scope.symbols[name].location)
            raise Fault(f"redefinition of symbol named '{name}'", first, is_plain=True, op=op)


def _check_symbol(op: Operation) -> None:
    """An op that defines a symbol is in a symbol table and has a valid visibility."""
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.data not in _VISIBILITIES:
        listed = ", ".join(f'"{name}"' for name in _VISIBILITIES)
        raise Fault(f"visibility expected to be one of [{listed}], but got {attribute_text(visibility)}")
    parent = op.parent_op()
    if parent is not None and not isinstance(parent, ModuleOp):
        raise Fault("symbol's parent must have the SymbolTable trait")


def check_func(op: FuncOp, scope: Scope) -> None:
    """A function, in this order:

    - it defines a symbol of valid visibility in a symbol table; without a body it is not public
    - there are as many attribute dictionaries as arguments and results
    - attributes of arguments and results have a dialect prefix and satisfy that dialect
    - its entry block has the arguments of its type
    """
    _check_symbol(op)
    if not op.body.blocks and (op.sym_visibility is None or op.sym_visibility.data == "public"):
        raise Fault("symbol declaration cannot have public visibility")
    inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
    _check_value_attributes(op.arg_attrs, inputs, "argument", scope)
    _check_value_attributes(op.res_attrs, outputs, "result", scope)
    if not op.body.blocks:
        return
    arguments = op.body.blocks[0].args
    if len(arguments) != len(inputs):
        raise Fault(f"entry block must have {len(inputs)} arguments to match function signature")
    for index, (argument, expected) in enumerate(zip(arguments, inputs, strict=True)):
        if argument.type != expected:
            raise Fault(
                f"type of entry block argument #{index}('{attribute_text(argument.type)}') must match the "
                f"type of the corresponding argument in function signature('{attribute_text(expected)}')"
            )


def _check_value_attributes(
    attributes: ArrayAttr[DictionaryAttr] | None, types: tuple[Attribute, ...], what: str, scope: Scope
) -> None:
    from shardy_py.mlir.dialects.sdy.verify import check_value_attribute

    if attributes is None:
        return
    if len(attributes.data) != len(types):
        raise Fault(
            f"expects {what} attribute array to have the same number of elements as the number of function "
            f"{what}s, got {len(attributes.data)}, but expected {len(types)}"
        )
    kind = "arg" if what == "argument" else what
    for index, (dictionary, type_) in enumerate(zip(attributes.data, types, strict=True)):
        for name, attribute in _entries(dictionary).items():
            if "." not in name:
                raise Fault(f"{what}s may only have dialect attributes")
            if name.startswith("sdy."):
                check_value_attribute(name, attribute, type_, scope, f"{kind} {index} - ")


def _entries(dictionary: Attribute) -> Mapping[str, Attribute]:
    return dictionary.data if isinstance(dictionary, DictionaryAttr) else {}


def check_return(op: ReturnOp, scope: Scope) -> None:
    """A return is in a function and returns values of that function's result types."""
    parent = op.parent_op()
    if not isinstance(parent, FuncOp):
        raise Fault("expects parent op 'func.func'")
    expected = parent.function_type.outputs.data
    name = parent.sym_name.data
    if len(op.operands) != len(expected):
        raise Fault(
            f"has {len(op.operands)} operands, but enclosing function (@{name}) returns {len(expected)}"
        )
    for index, (value, type_) in enumerate(zip(op.operands, expected, strict=True)):
        if value.type != type_:
            raise Fault(
                f"type of return operand {index} ('{attribute_text(value.type)}') doesn't match function "
                f"result type ('{attribute_text(type_)}') in function @{name}",
                is_plain=True,
            )


def _counts(expected: int, got: int) -> str:
    return f": expected {expected}, but got {got}" if Behaviour.CALLS_ARE_COUNTED.holds else ""


def check_call(op: CallOp, scope: Scope) -> None:
    """A call names a function of its module and has that function's operands and results."""
    name = op.callee.string_value()
    callee = scope.symbols.get(name)
    if not isinstance(callee, FuncOp):
        raise Fault(f"'{name}' does not reference a valid function")
    inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
    if len(op.operands) != len(inputs):
        raise Fault(f"incorrect number of operands for callee{_counts(len(inputs), len(op.operands))}")
    for index, (value, expected) in enumerate(zip(op.operands, inputs, strict=True)):
        if value.type != expected:
            raise Fault(
                f"operand type mismatch: expected operand type '{attribute_text(expected)}', but provided "
                f"'{attribute_text(value.type)}' for operand number {index}"
            )
    if len(op.results) != len(outputs):
        raise Fault(f"incorrect number of results for callee{_counts(len(outputs), len(op.results))}")
    given = tuple(result.type for result in op.results)
    for index, (type_, expected) in enumerate(zip(given, outputs, strict=True)):
        if type_ != expected:
            raise Fault(
                f"result type mismatch at index {index}",
                note(f"      op result types: {_listed(given)}", op.location),
                note(f"function result types: {_listed(outputs)}", op.location),
            )


def _listed(types: tuple[Attribute, ...]) -> str:
    return ", ".join(f"'{attribute_text(type_)}'" for type_ in types)
