"""CHLO's forms that no template spells: constants, and scans with their region.

Not here: the rows (`ops.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32, i64

from shardy_py.mlir.dialects.stablehlo.forms import read_elements, write_elements
from shardy_py.mlir.text.assembly import expect_words
from shardy_py.mlir.text.syntax import AssemblyForm, OpParts
from shardy_py.mlir.text.type_reader import read_function_type

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.chlo.op_classes import ScanOp
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader


CONSTANT_FORM = AssemblyForm(read_elements, write_elements)
"""`{attributes} dense<...> : type`."""

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def _read_scan(reader: OpReader) -> OpParts:
    start = reader.offset
    inputs = reader.items(reader.operand_name, "(", ")", " in operand list")
    reader.expect("inits")
    inits = reader.items(reader.operand_name, "(", ")", " in operand list")
    expect_words(reader, "dimension =")
    parts = OpParts(properties={"dimension": IntegerAttr(reader.integer(), i64)})
    if reader.accept("attributes"):
        parts.attributes = reader.attribute_dictionary()
    parts.regions = [reader.region()]
    reader.expect(":")
    type_ = read_function_type(reader)
    outputs = len(type_.outputs.data) - len(inits)
    if len(type_.inputs.data) != len(inputs) + len(inits):
        reader.form_error("operand types must match the number of inputs and inits", start)
    if outputs < 0:
        reader.form_error("not enough result types to cover the required carries", start)
    parts.operands = reader.resolve([*inputs, *inits], type_.inputs.data)
    parts.result_types = type_.outputs.data
    sizes = ((len(inputs), len(inits)), (outputs, len(inits)))
    for name, counts in zip(_SEGMENTS, sizes, strict=True):
        parts.properties[name] = DenseArrayBase.from_list(i32, counts)
    return parts


def _write_scan(writer: OpWriter, op: ScanOp) -> None:
    writer.write("(")
    writer.operands(op.inputs)
    writer.write(") inits (")
    writer.operands(op.inits)
    writer.write(f") dimension={op.dimension.value.data} ")
    writer.attribute_dictionary(op, ("dimension", *_SEGMENTS), keyword=" attributes")
    writer.write(" ")
    writer.region(op.body)
    writer.write(" : ")
    writer.function_type(op)


def scan_names(op: ScanOp, region: int) -> list[str]:
    """`input` for the arguments that are slices of inputs, `carry` for the others."""
    inputs = len(op.inputs)
    return ["input" if index < inputs else "carry" for index in range(len(op.regions[region].blocks[0].args))]


SCAN_FORM = AssemblyForm(_read_scan, _write_scan)
"""`(%inputs) inits (%inits) dimension=0 attributes {...} { ... } : type`."""
