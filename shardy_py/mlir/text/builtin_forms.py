"""The assembly forms of builtin.module and of the func dialect.

>>> from shardy_py.mlir.dialects import parse_module, print_module
>>> print(print_module(parse_module("func.func @f(%a: f32) -> f32 { return %a : f32 }")), end="")
module {
  func.func @f(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
}
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from shardy_py.mlir.text.assembly import ATTRIBUTES, FUNCTION_TYPE, Spelling, assembly, operand_list, spelled
from shardy_py.mlir.text.attribute_writer import attribute_text, dictionary_entries, symbol_text
from shardy_py.mlir.text.builtin_attributes import string_attribute
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.location_syntax import read_location
from shardy_py.mlir.text.op_writer import OpWriter
from shardy_py.mlir.text.reader import OpReader, RegionArgument
from shardy_py.mlir.text.syntax import AssemblyForm, DialectSyntax, OpParts, OpSyntax
from shardy_py.mlir.text.type_reader import known_tensor, read_type_or_function

_VISIBILITIES = ("public", "private", "nested")
_PLAIN_ARGUMENT = re.compile(r"(%(?:[0-9]++|[A-Za-z_$.-][\w$.-]*+)): (tensor<[^<>\"]*+>)", re.ASCII)
"""The name and type of an argument, as they are printed."""


def _read_module(reader: OpReader) -> OpParts:
    parts = OpParts()
    if reader.token[:1] == "@":
        parts.properties["sym_name"] = string_attribute(reader.symbol())
    if reader.accept("attributes"):
        parts.attributes = reader.attribute_dictionary()
    region = reader.region()
    parts.regions = [_with_block(region)]
    return parts


def _with_block(region: Region) -> Region:
    if not region.blocks:
        region.add_block(Block())
    return region


def _write_module(writer: OpWriter, op: ModuleOp) -> None:
    if op.sym_name is not None:
        writer.write(f" {symbol_text(op.sym_name.data)}")
    writer.attribute_dictionary(op, ("sym_name",), keyword=" attributes")
    writer.write(" ")
    writer.region(op.body)


def _read_func(reader: OpReader) -> OpParts:
    parts = OpParts()
    if reader.token in _VISIBILITIES:
        parts.properties["sym_visibility"] = string_attribute(reader.advance())
    parts.properties["sym_name"] = string_attribute(reader.symbol())
    arguments = _read_arguments(reader)
    results, result_attributes = _read_results(reader) if reader.accept("->") else ([], [])
    start = reader.offset
    if reader.accept("attributes"):
        parts.attributes = reader.attribute_dictionary()
        for name in ("sym_name", "sym_visibility", "function_type"):
            if name in parts.attributes:
                reader.form_error(
                    f"'{name}' is an inferred attribute and should not be specified in the explicit "
                    "attribute dictionary",
                    start,
                )
    parts.properties["function_type"] = FunctionType.from_lists([a.type for a in arguments], results)
    for name, dictionaries in (
        ("arg_attrs", [a.attributes for a in arguments]),
        ("res_attrs", result_attributes),
    ):
        if any(dictionaries):
            parts.properties[name] = ArrayAttr([DictionaryAttr(d) for d in dictionaries])
    if reader.at("{"):
        start = reader.offset
        region = reader.region(arguments, default_dialect="func")
        if not region.blocks:
            reader.form_error("expected non-empty function body", start)
        parts.regions = [region]
    else:
        parts.regions = [Region()]
    return parts


def _read_arguments(reader: OpReader) -> list[RegionArgument]:
    """`(%a: type {attributes}, ...)`, with names all or none."""
    found: list[RegionArgument] = []

    def read() -> None:
        name, offset = "", reader.offset
        is_named = reader.token[:1] == "%"
        if found and is_named != bool(found[0].name):
            reader.form_error(
                "expected SSA identifier" if found[0].name else "expected type instead of SSA identifier"
            )
        type_ = None
        if is_named:
            match = _PLAIN_ARGUMENT.match(reader.text, offset)
            type_ = match and known_tensor(match[2])
            if match is not None and type_ is not None:
                name = match[1]
                reader.move_to(match.end())
            else:
                name = reader.advance()
                reader.expect(":")
        type_ = type_ or read_type_or_function(reader)
        attributes = reader.attribute_dictionary() if reader.at("{") else {}
        location = read_location(reader) if reader.at("loc") else None
        found.append(RegionArgument(name, type_, offset, attributes, location))

    reader.items(read, "(", ")")
    return found


def _read_results(reader: OpReader) -> tuple[list[Attribute], list[dict[str, Attribute]]]:
    if not reader.at("("):
        return [read_type_or_function(reader)], [{}]
    pairs = reader.items(
        lambda: (read_type_or_function(reader), reader.attribute_dictionary() if reader.at("{") else {}),
        "(",
        ")",
    )
    return [type_ for type_, _ in pairs], [attributes for _, attributes in pairs]


def _write_func(writer: OpWriter, op: FuncOp) -> None:
    if op.sym_visibility is not None:
        writer.write(f" {op.sym_visibility.data}")
    writer.write(f" {symbol_text(op.sym_name.data)}(")
    has_body = bool(op.body.blocks)
    arguments = op.body.blocks[0].args if has_body else ()
    types = [argument.type for argument in arguments] if has_body else op.function_type.inputs.data
    for index, type_ in enumerate(types):
        if index:
            writer.write(", ")
        if has_body:
            writer.operand(arguments[index])
            writer.write(": ")
        writer.write(attribute_text(type_))
        if not writer.is_collecting:  # MLIR looks for no aliases here
            writer.write(_dictionary_at(op.arg_attrs, index))
        if has_body:
            writer.argument_location(arguments[index].location)
    writer.write(")")
    results = op.function_type.outputs.data
    if results:
        texts = [attribute_text(t) + _dictionary_at(op.res_attrs, i) for i, t in enumerate(results)]
        bare = len(texts) == 1 and not _dictionary_at(op.res_attrs, 0) and not texts[0].startswith("(")
        writer.write(" -> " + (texts[0] if bare else f"({', '.join(texts)})"))
    hidden = ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")
    writer.attribute_dictionary(op, hidden, keyword=" attributes")
    if has_body:
        writer.write(" ")
        writer.region(op.body, default_dialect="func", hide_arguments=True)


def _dictionary_at(dictionaries: ArrayAttr[DictionaryAttr] | None, index: int) -> str:
    if dictionaries is None or index >= len(dictionaries.data) or not dictionaries.data[index].data:
        return ""
    return f" {{{dictionary_entries(dictionaries.data[index].data)}}}"


def _read_callee(cursor: Cursor) -> SymbolRefAttr:
    if cursor.token[:1] != "@":
        cursor.wrong_token("expected attribute value")
    return SymbolRefAttr(string_attribute(cursor.symbol()), ArrayAttr([]))


_CALLEE = spelled("callee", Spelling(_read_callee, attribute_text))


def _read_return(reader: OpReader) -> OpParts:
    parts = OpParts()
    if reader.at("{"):
        parts.attributes = reader.attribute_dictionary()
    names = reader.operand_list()
    if names:
        reader.expect(":")
        types = [read_type_or_function(reader)]
        while reader.accept(","):
            types.append(read_type_or_function(reader))
        parts.operands = reader.resolve(names, types)
    return parts


def _write_return(writer: OpWriter, op: ReturnOp) -> None:
    writer.attribute_dictionary(op)
    if op.operands:
        writer.write(" ")
        writer.operands(op.operands)
        writer.write(" : ")
        writer.types(op.operands)


RETURN_FORM = AssemblyForm(_read_return, _write_return)
"""`return {attributes} %a, %b : type, type`: what the terminators of several dialects look like."""

_OPS = {
    "builtin.module": OpSyntax(ModuleOp, AssemblyForm(_read_module, _write_module)),
    "func.func": OpSyntax(FuncOp, AssemblyForm(_read_func, _write_func), default_dialect="func"),
    "func.call": OpSyntax(CallOp, assembly(_CALLEE, operand_list("(", ")"), ATTRIBUTES, FUNCTION_TYPE)),
    "func.return": OpSyntax(ReturnOp, RETURN_FORM),
}

BUILTIN = DialectSyntax("builtin", _OPS.get)
FUNC = DialectSyntax("func", _OPS.get)
