"""Verifiers of builtin and func: modules, their symbols, functions, calls.

Messages and their order are MLIR's.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.verification.faults import Fault, Faults, Note
from shardy_py.dialects.verification.scope import Scope, symbol_name
from shardy_py.text.attribute_writer import attribute_text

_VISIBILITIES = ("public", "private", "nested")


def check_module(op: ModuleOp, scope: Scope) -> Faults:
    """A module's own attributes have a dialect prefix."""
    for name in op.attributes:
        if "." not in name:
            yield Fault(f"can only contain attributes with dialect-prefixed names, found: '{name}'")


def check_symbol_table(module: ModuleOp, scope: Scope) -> Faults:
    """No two ops of a module define the same symbol."""
    first: dict[str, Operation] = {}
    for op in module.body.ops:
        name = symbol_name(op)
        if name is None:
            continue
        if name in first:
            note = Note("see existing symbol definition here", first[name].location)
            yield Fault(f"redefinition of symbol named '{name}'", is_plain=True, notes=(note,), op=op)
        first.setdefault(name, op)


def check_symbol(op: Operation) -> Faults:
    """An op that defines a symbol is in a symbol table and has a valid visibility."""
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.data not in _VISIBILITIES:
        listed = ", ".join(f'"{name}"' for name in _VISIBILITIES)
        yield Fault(f"visibility expected to be one of [{listed}], but got {attribute_text(visibility)}")
    parent = op.parent_op()
    if parent is not None and not isinstance(parent, ModuleOp):
        yield Fault("symbol's parent must have the SymbolTable trait")


def check_func(op: FuncOp, scope: Scope) -> Faults:
    """A function, in this order:

    - it defines a symbol correctly (`check_symbol`); without a body it is not public
    - there are as many attribute dictionaries as arguments and results
    - attributes of arguments and results have a dialect prefix and satisfy that dialect
    - its entry block has the arguments of its type
    """
    yield from check_symbol(op)
    if not op.body.blocks and (op.sym_visibility is None or op.sym_visibility.data == "public"):
        yield Fault("symbol declaration cannot have public visibility")
    type_ = op.function_type
    yield from _value_attributes(op, op.arg_attrs, type_.inputs.data, "argument", scope)
    yield from _value_attributes(op, op.res_attrs, type_.outputs.data, "result", scope)
    if not op.body.blocks:
        return
    arguments = op.body.blocks[0].args
    if len(arguments) != len(type_.inputs.data):
        yield Fault(f"entry block must have {len(type_.inputs.data)} arguments to match function signature")
        return
    for index, (argument, expected) in enumerate(zip(arguments, type_.inputs.data, strict=True)):
        if argument.type != expected:
            yield Fault(
                f"type of entry block argument #{index}('{attribute_text(argument.type)}') must match the "
                f"type of the corresponding argument in function signature('{attribute_text(expected)}')"
            )


def _value_attributes(
    op: FuncOp,
    attributes: ArrayAttr[DictionaryAttr] | None,
    types: tuple[Attribute, ...],
    what: str,
    scope: Scope,
) -> Faults:
    from shardy_py.dialects.sdy.verify import check_value_attribute

    if attributes is None:
        return
    if len(attributes.data) != len(types):
        yield Fault(
            f"expects {what} attribute array to have the same number of elements as the number of function "
            f"{what}s, got {len(attributes.data)}, but expected {len(types)}"
        )
        return
    kind = "arg" if what == "argument" else what
    for index, (dictionary, type_) in enumerate(zip(attributes.data, types, strict=True)):
        for name, attribute in _entries(dictionary).items():
            if "." not in name:
                yield Fault(f"{what}s may only have dialect attributes")
            elif name.startswith("sdy."):
                yield from check_value_attribute(name, attribute, type_, scope, f"{kind} {index} - ")


def _entries(dictionary: Attribute) -> Mapping[str, Attribute]:
    return dictionary.data if isinstance(dictionary, DictionaryAttr) else {}


def check_return(op: ReturnOp, scope: Scope) -> Faults:
    """A return is in a function and returns values of that function's result types."""
    parent = op.parent_op()
    if not isinstance(parent, FuncOp):
        yield Fault("expects parent op 'func.func'")
        return
    expected = parent.function_type.outputs.data
    name = parent.sym_name.data
    if len(op.operands) != len(expected):
        yield Fault(
            f"has {len(op.operands)} operands, but enclosing function (@{name}) returns {len(expected)}"
        )
        return
    for index, (value, type_) in enumerate(zip(op.operands, expected, strict=True)):
        if value.type != type_:
            yield Fault(
                f"type of return operand {index} ('{attribute_text(value.type)}') doesn't match function "
                f"result type ('{attribute_text(type_)}') in function @{name}",
                is_plain=True,
            )


def check_call(op: CallOp, scope: Scope) -> Faults:
    """A call names a function of its module and has that function's operands and results."""
    name = op.callee.string_value()
    callee = scope.symbols.get(name)
    if not isinstance(callee, FuncOp):
        yield Fault(f"'{name}' does not reference a valid function")
        return
    inputs, outputs = callee.function_type.inputs.data, callee.function_type.outputs.data
    if len(op.operands) != len(inputs):
        yield Fault("incorrect number of operands for callee")
        return
    for index, (value, expected) in enumerate(zip(op.operands, inputs, strict=True)):
        if value.type != expected:
            yield Fault(
                f"operand type mismatch: expected operand type '{attribute_text(expected)}', but provided "
                f"'{attribute_text(value.type)}' for operand number {index}"
            )
    if len(op.results) != len(outputs):
        yield Fault("incorrect number of results for callee")
        return
    for index, (result, expected) in enumerate(zip(op.results, outputs, strict=True)):
        if result.type != expected:
            given = tuple(r.type for r in op.results)
            notes = (
                Note(f"      op result types: {_listed(given)}", op.location),
                Note(f"function result types: {_listed(outputs)}", op.location),
            )
            yield Fault(f"result type mismatch at index {index}", notes=notes)


def _listed(types: tuple[Attribute, ...]) -> str:
    return ", ".join(f"'{attribute_text(type_)}'" for type_ in types)
