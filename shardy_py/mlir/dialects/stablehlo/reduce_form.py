"""The form of `stablehlo.reduce`, short where its region is one commutative op only.

    stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (...) -> ...
    stablehlo.reduce(%0 init: %cst) across dimensions = [1] : (...) -> ...
     reducer(%arg0: tensor<f32>, %arg1: tensor<f32>)  {
      ...
    }

Not here: reduce_window, which prints generically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.base.errors import InternalError
from shardy_py.mlir.dialects.definition import HLO_COMMUTATIVE
from shardy_py.mlir.dialects.encoding import integers
from shardy_py.mlir.dialects.stablehlo.rows.elementwise import ELEMENTWISE
from shardy_py.mlir.ir import append_arguments, build_operation, region_of
from shardy_py.mlir.text.assembly import expect_words
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.location_syntax import read_location
from shardy_py.mlir.text.reader import RegionArgument
from shardy_py.mlir.text.source import source_location
from shardy_py.mlir.text.syntax import AssemblyForm, OpParts, syntax_table
from shardy_py.mlir.text.type_reader import ranked_tensor, read_function_type, read_type_or_function

if TYPE_CHECKING:
    from shardy_py.mlir.dialects.stablehlo.op_classes import ReduceOp
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader


_REDUCERS = {f"stablehlo.{row.name}" for row in ELEMENTWISE if HLO_COMMUTATIVE in row.traits}


# ---------------------------------------------------------------------- reading


def _read(reader: OpReader) -> OpParts:
    start = reader.offset
    names, initial = _read_pairs(reader)
    applied = _read_applied(reader, start) if reader.accept("applies") else None
    expect_words(reader, "across dimensions =")
    parts = OpParts(properties={"dimensions": integers(tuple(reader.items(reader.integer)))}, place=start)
    if reader.at("{"):
        parts.attributes = reader.attribute_dictionary()
    reader.expect(":")
    type_ = read_function_type(reader)
    if applied is not None and not type_.inputs.data:
        reader.form_error("input types missing in reduce-op function type", start)
    parts.operands = reader.resolve([*names, *initial], type_.inputs.data)
    parts.result_types = type_.outputs.data
    if applied is None:
        parts.regions = [_read_reducer(reader)]
    else:
        parts.remake = _short_regions(applied, type_.inputs.data[0])
        parts.regions = parts.remake(source_location(reader.source, start))
    return parts


def _read_pairs(reader: OpReader) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """`(%a init: %b), ...`: names of inputs, names of initial values."""
    names: list[tuple[str, int]] = []
    initial: list[tuple[str, int]] = []
    while reader.accept("("):
        names.append(reader.operand_name())
        expect_words(reader, "init:")
        initial.append(reader.operand_name())
        reader.expect(")")
        if not reader.accept(","):
            break
    return names, initial


_MHLO = "mhlo."


def _read_applied(reader: OpReader, start: int) -> type[Operation]:
    """The class of the op that a short form names."""
    name = reader.keyword()
    if name.startswith(_MHLO):  # in the form of MHLO's reduce, which is read as this one
        name = f"stablehlo.{name.removeprefix(_MHLO)}"
    if name not in _REDUCERS:
        reader.form_error(
            "expected the inner-op to be a commutative binary-op from the stablehlo dialect, with zero "
            "region, producing single result",
            start,
        )
    return _op_class(name)


def _op_class(name: str) -> type[Operation]:
    syntax = syntax_table().op(name)
    if syntax is None:
        raise InternalError(f"unknown op '{name}'")
    return syntax.op_class


def _short_regions(
    op_class: type[Operation], input_type: Attribute
) -> Callable[[Attribute | None], Sequence[Region]]:
    """Makes the region of a short form, with all its ops at a location."""
    scalar = ranked_tensor((), getattr(input_type, "element_type", input_type))
    end = _op_class("stablehlo.return")

    def made(location: Attribute | None) -> Sequence[Region]:
        block = Block()
        arguments = append_arguments(block, [(scalar, location)] * 2)
        combiner = build_operation(op_class, arguments, (scalar,), {}, {}, location, block)
        build_operation(end, combiner.results, (), {}, {}, location, block)
        return (region_of(block),)

    return made


def _read_reducer(reader: OpReader) -> Region:
    """`reducer(%a: type, %b: type) (...) { ... }`: an input's and an accumulator's argument in each pair."""
    reader.expect("reducer")
    inputs: list[RegionArgument] = []
    accumulators: list[RegionArgument] = []
    while reader.accept("("):
        inputs.append(_read_argument(reader))
        reader.expect(",")
        accumulators.append(_read_argument(reader))
        reader.expect(")")
    return reader.region([*inputs, *accumulators])


def _read_argument(reader: OpReader) -> RegionArgument:
    name, offset = reader.token, reader.offset
    if name[:1] != "%":
        reader.error("expected SSA operand")
    reader.advance()
    reader.expect(":")
    type_ = read_type_or_function(reader)
    return RegionArgument(name, type_, offset, {}, read_location(reader) if reader.at("loc") else None)


# ---------------------------------------------------------------------- printing


def _write(writer: OpWriter, op: ReduceOp) -> None:
    half = len(op.operands) // 2
    for index in range(half):
        writer.write(", (" if index else "(")
        writer.operand(op.operands[index])
        writer.write(" init: ")
        writer.operand(op.operands[index + half])
        writer.write(")")
    applied = applied_op(op)
    if applied is not None:
        writer.write(f" applies {applied.name}")
    dimensions = ", ".join(map(str, op.dimensions.get_values()))
    writer.write(f" across dimensions = [{dimensions}]")
    writer.attribute_dictionary(op, ("dimensions",))
    writer.write(" : ")
    writer.function_type(op)
    if applied is None:
        _write_reducer(writer, op.regions[0], half)


def _write_reducer(writer: OpWriter, region: Region, half: int) -> None:
    arguments = region.blocks[0].args
    writer.write(f"\n{writer.indent} reducer")
    for index in range(half):
        writer.write("(")
        writer.argument(arguments[index])
        writer.write(", ")
        writer.argument(arguments[index + half])
        writer.write(") ")
    writer.write(" ")
    writer.region(region, hide_arguments=True)


def applied_op(op: Operation) -> Operation | None:
    """The only op in the region of a reduction; None if the short form cannot express it.

    The op is commutative and of the dialect, all its types are the scalar of the first input's element type,
    it takes the region's arguments in their order, and the region returns its result.
    """
    block = op.regions[0].first_block
    if block is None or not op.operands:
        return None
    inner, last = block.first_op, block.last_op
    if inner is None or last is None or inner is last or inner.next_op is not last:
        return None
    if inner.name not in _REDUCERS or last.name.rpartition(".")[2] != "return":
        return None
    element: Attribute | None = getattr(op.operands[0].type, "element_type", None)
    if element is None:
        return None
    scalar = attribute_text(ranked_tensor((), element))
    types = [value.type for value in (*inner.operands, *inner.results)]
    if any(attribute_text(type_) != scalar for type_ in types):
        return None
    forwards = list(inner.operands) == list(block.args) and list(last.operands) == list(inner.results)
    return inner if forwards else None


REDUCE_FORM = AssemblyForm(_read, _write, lambda op: getattr(applied_op(op), "name", None))
"""The short form where it can express the region, else the long form."""
