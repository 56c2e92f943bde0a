"""The assembly forms of sdy's ops, one row an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, Region

from shardy_py.dialects.sdy import ops
from shardy_py.dialects.sdy.syntax import (
    ALL_TO_ALL,
    AXES,
    AXIS_LISTS,
    DIRECTION,
    MANUAL_AXES,
    MESH,
    REDUCTION,
    REDUCTIONS,
    SHARDING,
    SHARDING_LIST,
)
from shardy_py.ir import build_operation
from shardy_py.text.assembly import (
    ATTRIBUTES,
    OPERAND_TYPE,
    SAME_TYPE,
    Draft,
    Element,
    Spelling,
    assembly,
    operands,
    optional,
    read_functional_type,
    spelled,
)
from shardy_py.text.attribute_reader import string_attribute
from shardy_py.text.attribute_writer import attribute_text, string_literal, symbol_text
from shardy_py.text.builtin_forms import RETURN_FORM
from shardy_py.text.dense_reader import read_dense
from shardy_py.text.source import source_location
from shardy_py.text.syntax import AssemblyForm, OpParts, OpSyntax

if TYPE_CHECKING:
    from shardy_py.text.op_writer import OpWriter
    from shardy_py.text.reader import OpReader

_I64 = IntegerType(64)
SYMBOL = Spelling(
    lambda cursor: string_attribute(cursor.symbol()), lambda attribute: symbol_text(attribute.data)
)
_GROUP_ID = Spelling(lambda cursor: cursor.attribute(_I64), lambda attribute: str(attribute.value.data))


def _read_reduction(reader: OpReader, draft: Draft) -> None:
    if reader.token in REDUCTIONS:
        draft.properties["reduction_op"] = REDUCTION.read(reader)


def _write_reduction(writer: OpWriter, op: Operation) -> None:
    found: Any = op.properties.get("reduction_op")
    if found is not None and found.value.data != 0:
        writer.write(" " + REDUCTION.write(found))


_REDUCTION = Element(_read_reduction, _write_reduction, ("reduction_op",))
"""`max` before the axes of a reducing collective; a sum is not spelled."""


def _resharding() -> AssemblyForm:
    return assembly(operands("input"), spelled("sharding", SHARDING), ATTRIBUTES, SAME_TYPE)


def _collective(*first: Element) -> AssemblyForm:
    out_sharding = spelled("out_sharding", SHARDING, before=" out_sharding=")
    return assembly(*first, operands("tensor"), out_sharding, ATTRIBUTES, SAME_TYPE)


# ---------------------------------------------------------------------- sdy.constant


def _read_constant(reader: OpReader) -> OpParts:
    attributes = reader.attribute_dictionary() if reader.at("{") else {}
    start = reader.offset
    value: Any = read_dense(reader, None) if reader.at("dense") else reader.attribute()
    if not hasattr(value, "type"):
        reader.error("invalid kind of attribute specified", start)
    return OpParts((), [value.type], {"value": value}, attributes)


def _write_constant(writer: OpWriter, op: Any) -> None:
    writer.attribute_dictionary(op, ("value",))
    writer.write(f" {attribute_text(op.value)}")


# ---------------------------------------------------------------------- ops with regions


def _read_body(reader: OpReader) -> Region:
    """`(%a: type, ...) { ... }`; a missing `sdy.return` is put in where it has no operands."""
    region = reader.region(reader.arguments(allow_attributes=True), is_isolated=True)
    if not region.blocks:
        region.add_block(Block())
    block = region.blocks[0]
    if block.last_op is None or not isinstance(block.last_op, ops.ReturnOp):
        build_operation(
            ops.ReturnOp, (), (), {}, {}, source_location(reader.source, reader.previous_end), block
        )
    return region


def _write_body(writer: OpWriter, region: Region) -> None:
    writer.write(" (")
    for index, argument in enumerate(region.blocks[0].args):
        if index:
            writer.write(", ")
        writer.argument(argument)
    writer.write(") ")
    writer.region(region, hide_arguments=True)


def _read_manual_computation(reader: OpReader) -> OpParts:
    names = reader.items(reader.operand_name, "(", ")")
    parts = OpParts()
    for name, spelling in _MANUAL:
        reader.expect(name)
        reader.expect("=")
        parts.properties[name] = spelling.read(reader)
    return _finish_region_op(reader, parts, names)


_MANUAL = (("in_shardings", SHARDING_LIST), ("out_shardings", SHARDING_LIST), ("manual_axes", MANUAL_AXES))


def _finish_region_op(reader: OpReader, parts: OpParts, names: list[tuple[str, int]]) -> OpParts:
    parts.regions = [_read_body(reader)]
    return read_functional_type(reader, parts, names)


def _write_manual_computation(writer: OpWriter, op: Any) -> None:
    writer.write("(")
    writer.operands(op.operands)
    writer.write(")")
    for name, spelling in _MANUAL:
        writer.write(f" {name}={spelling.write(op.properties[name])}")
    _write_body(writer, op.body)
    writer.attribute_dictionary(op, [name for name, _ in _MANUAL])
    writer.write(" : ")
    writer.function_type(op)


def _read_named_computation(reader: OpReader) -> OpParts:
    parts = OpParts()
    reader.expect("<")
    parts.properties["name"] = string_attribute(reader.string())
    reader.expect(">")
    names = reader.items(reader.operand_name, "(", ")")
    for name in _NAMED:
        if reader.accept(name):
            reader.expect("=")
            parts.properties[name] = SHARDING_LIST.read(reader)
    return _finish_region_op(reader, parts, names)


_NAMED = ("in_shardings", "out_shardings")


def _write_named_computation(writer: OpWriter, op: Any) -> None:
    writer.write(f"<{string_literal(op.properties['name'].data)}>(")
    writer.operands(op.operands)
    writer.write(")")
    for name in _NAMED:
        if name in op.properties:
            writer.write(f" {name}={SHARDING_LIST.write(op.properties[name])}")
    _write_body(writer, op.body)
    writer.attribute_dictionary(op, ("name", *_NAMED))
    writer.write(" : ")
    writer.function_type(op)


# ---------------------------------------------------------------------- the table


_SYNTAX = (
    OpSyntax(
        ops.MeshOp, assembly(spelled("sym_name", SYMBOL), spelled("mesh", MESH, before=" = "), ATTRIBUTES)
    ),
    OpSyntax(ops.ShardingConstraintOp, _resharding()),
    OpSyntax(ops.ReshardOp, _resharding()),
    OpSyntax(ops.ReturnOp, RETURN_FORM),
    OpSyntax(
        ops.ManualComputationOp,
        AssemblyForm(_read_manual_computation, _write_manual_computation),
        is_isolated=True,
    ),
    OpSyntax(
        ops.ShardingGroupOp,
        assembly(
            operands("input"), spelled("group_id", _GROUP_ID, before=" group_id="), ATTRIBUTES, OPERAND_TYPE
        ),
    ),
    OpSyntax(ops.ConstantOp, AssemblyForm(_read_constant, _write_constant)),
    OpSyntax(
        ops.DataFlowEdgeOp,
        assembly(
            operands("input"), optional("sharding", SHARDING, before=" sharding="), ATTRIBUTES, SAME_TYPE
        ),
    ),
    OpSyntax(ops.FuncDataFlowEdgeOp, assembly(operands("operand"), ATTRIBUTES, SAME_TYPE)),
    OpSyntax(
        ops.PropagationBarrierOp,
        assembly(
            operands("input"),
            spelled("allowed_direction", DIRECTION, before=" allowed_direction="),
            ATTRIBUTES,
            SAME_TYPE,
        ),
    ),
    OpSyntax(
        ops.NamedComputationOp,
        AssemblyForm(_read_named_computation, _write_named_computation),
        is_isolated=True,
    ),
    OpSyntax(ops.AllGatherOp, _collective(spelled("gathering_axes", AXIS_LISTS))),
    OpSyntax(ops.AllSliceOp, _collective(spelled("slicing_axes", AXIS_LISTS))),
    OpSyntax(ops.AllToAllOp, _collective(spelled("params", ALL_TO_ALL))),
    OpSyntax(ops.CollectivePermuteOp, _collective()),
    OpSyntax(ops.AllReduceOp, _collective(_REDUCTION, spelled("reduction_axes", AXES))),
    OpSyntax(ops.ReduceScatterOp, _collective(_REDUCTION, spelled("reduce_scatter_axes", AXIS_LISTS))),
    OpSyntax(ops.ShardedToUnreducedOp, _collective(spelled("axes", AXIS_LISTS))),
    OpSyntax(ops.ReplicatedToUnreducedOp, _collective(spelled("axes", AXES))),
)

OPS: dict[str, OpSyntax] = {syntax.op_class.name: syntax for syntax in _SYNTAX}
"""Every op of the dialect by name."""
