"""Assembly forms of StableHLO that no template can spell, each a reader beside a printer.

Not here: the form of `stablehlo.reduce` (`reduce_form.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects import kinds
from shardy_py.mlir.dialects.type_tails import read_types
from shardy_py.mlir.text.assembly import (
    ATTRIBUTES,
    Draft,
    Element,
    assembly,
    expect_words,
    operand_list,
    read_functional_type,
)
from shardy_py.mlir.text.attribute_writer import attribute_text, dictionary_entries, string_literal
from shardy_py.mlir.text.reader import RegionArgument
from shardy_py.mlir.text.syntax import AssemblyForm, OpParts
from shardy_py.mlir.text.type_reader import read_type_or_function
from shardy_py.mlir.typed import text_of, type_of_elements

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.stablehlo.op_classes import WhileOp
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader


# ---------------------------------------------------------------------- constant {...} dense<...> : type


def _read_constant(reader: OpReader) -> OpParts:
    return _read_generic_constant(reader) if reader.accept("(") else read_elements(reader)


def read_elements(reader: OpReader) -> OpParts:
    """`{attributes} dense<...> : type`: a constant whose result has the type of its value."""
    attributes = reader.attribute_dictionary() if reader.at("{") else {}
    start = reader.offset
    value = reader.attribute()
    if not kinds.ELEMENTS.accepts(value):
        reader.form_error("invalid kind of attribute specified", start)
    return OpParts((), [type_of_elements(value)], {"value": value}, attributes)


def _read_generic_constant(reader: OpReader) -> OpParts:
    """`() <{value = ...}> {attributes} : () -> type`: for values whose type is not the result's."""
    parts = OpParts()
    reader.expect(")")
    if reader.accept("<"):
        parts.properties = reader.attribute_dictionary()
        reader.expect(">")
    if reader.at("{"):
        parts.attributes = reader.attribute_dictionary()
    expect_words(reader, ":()->")
    parts.result_types = [read_type_or_function(reader)]
    return parts


def _write_constant(writer: OpWriter, op: Operation) -> None:
    value = op.properties["value"]
    if getattr(value, "type", None) != op.results[0].type:
        writer.write(f"() <{{{dictionary_entries(op.properties)}}}>")
        writer.attribute_dictionary(op, op.properties)
        writer.write(f" : () -> {attribute_text(op.results[0].type)}")
        return
    write_elements(writer, op)


def write_elements(writer: OpWriter, op: Operation) -> None:
    """Writes the form of `read_elements`."""
    writer.attribute_dictionary(op, ("value",))
    writer.write(f" {attribute_text(op.properties['value'])}")


def constant_names(op: Operation) -> tuple[str]:
    """`c` for integers, `cst` for the rest."""
    return ("c" if isinstance(getattr(op.results[0].type, "element_type", None), IntegerType) else "cst",)


# ---------------------------------------------------------------------- while(%iterArg = %0) : type


def _read_while(reader: OpReader) -> OpParts:
    inner: list[tuple[str, int]] = []

    def pair() -> tuple[str, int]:
        if reader.token[:1] != "%":
            reader.error("expected SSA operand")
        inner.append((reader.token, reader.offset))
        reader.advance()
        reader.expect("=")
        return reader.operand_name()

    start = reader.offset
    names = reader.items(pair, "(", ")")
    types: list[Attribute] = []
    if names:
        reader.expect(":")
        types = read_types(reader)
    if len(types) != len(names):
        reader.form_error(
            f"number of operands and types do not match: got {len(names)} operands and {len(types)} types",
            start,
        )
    parts = OpParts(reader.resolve(names, types), types)
    if reader.accept("attributes"):
        parts.attributes = reader.attribute_dictionary()
    arguments = [
        RegionArgument(name, type_, offset, {}) for (name, offset), type_ in zip(inner, types, strict=True)
    ]
    reader.expect("cond")
    condition = reader.region(arguments)
    reader.expect("do")
    parts.regions = [condition, reader.region(arguments)]
    return parts


def _write_while(writer: OpWriter, op: WhileOp) -> None:
    writer.write("(")
    for index, (argument, operand) in enumerate(zip(op.body.blocks[0].args, op.operands, strict=True)):
        writer.write(", " if index else "")
        writer.operand(argument)
        writer.write(" = ")
        writer.operand(operand)
    writer.write(")")
    if op.operands:
        writer.write(" : ")
        writer.types(op.operands)
    writer.attribute_dictionary(op, keyword=" attributes")
    writer.write(f"\n{writer.indent}cond ")
    writer.region(op.cond, hide_arguments=True)
    writer.write(" do ")
    writer.region(op.body, hide_arguments=True)


def while_names(op: Operation, region: int) -> list[str]:
    """`iterArg` for the arguments of both regions."""
    return ["iterArg"] * len(op.regions[region].blocks[0].args)


# ---------------------------------------------------------------------- return, optimization_barrier


def _read_operand_types(reader: OpReader, draft: Draft) -> None:
    if draft.names or reader.at(":"):
        reader.expect(":")
        draft.operand_types = read_types(reader)


def _write_operand_types(writer: OpWriter, op: Operation) -> None:
    if op.operands:
        writer.write(" : ")
        writer.types(op.operands)


def _read_barrier(reader: OpReader, draft: Draft) -> None:
    draft.names.extend(reader.operand_list())
    _read_operand_types(reader, draft)
    draft.result_types = draft.operand_types
    if not draft.names:
        expect_words(reader, "()")


def _write_barrier(writer: OpWriter, op: Operation) -> None:
    writer.write(" " if op.operands else "()")
    writer.operands(op.operands)
    _write_operand_types(writer, op)


# ---------------------------------------------------------------------- composite "name" %0 {...} : type


def _read_composite(reader: OpReader) -> OpParts:
    parts = OpParts()
    name = kinds.STRING.spelling
    assert name is not None
    parts.properties["name"] = name.read(reader)
    names = reader.operand_list()
    if reader.at("("):
        parts.regions = reader.items(reader.region, "(", ")")
    return read_functional_type(reader, parts, names)


_COMPOSITE_DEFAULTS = {"composite_attributes": "{}", "version": "0 : i32"}


def _write_composite(writer: OpWriter, op: Operation) -> None:
    writer.write(f" {string_literal(text_of(op, 'name'))} ")
    writer.operands(op.operands)
    if op.regions:
        writer.write(" (")
        for index, region in enumerate(op.regions):
            writer.write(", " if index else "")
            writer.region(region)
        writer.write(")")
    elided = [name for name, text in _COMPOSITE_DEFAULTS.items() if _text(op.properties.get(name)) == text]
    writer.attribute_dictionary(op, ("name", *elided))
    writer.write(" : ")
    writer.function_type(op)


def _text(attribute: Attribute | None) -> str:
    return "" if attribute is None else attribute_text(attribute)


CONSTANT_FORM = AssemblyForm(_read_constant, _write_constant)
WHILE_FORM = AssemblyForm(_read_while, _write_while)
RETURN_FORM = assembly(operand_list(), ATTRIBUTES, Element(_read_operand_types, _write_operand_types))
"""`%a, %b {attributes} : type, type`."""
BARRIER_FORM = assembly(ATTRIBUTES, Element(_read_barrier, _write_barrier))
"""`{attributes} %a, %b : type, type`, or `{attributes}()`."""
COMPOSITE_FORM = AssemblyForm(_read_composite, _write_composite)
