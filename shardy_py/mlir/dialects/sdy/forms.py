"""The assembly forms of sdy's ops, one row an op."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.sdy import ops
from shardy_py.mlir.dialects.sdy import syntax_sharding as formats
from shardy_py.mlir.dialects.sdy.syntax import DIRECTION, REDUCTION
from shardy_py.mlir.ir import build_operation
from shardy_py.mlir.text.assembly import (
    ATTRIBUTES,
    FUNCTION_TYPE,
    OPERAND_TYPE,
    SAME_TYPE,
    Draft,
    Element,
    Spelling,
    assembly,
    operand_list,
    operands,
    optional,
    spelled,
)
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.builtin_attributes import is_integer_attribute, string_attribute
from shardy_py.mlir.text.builtin_forms import RETURN_FORM
from shardy_py.mlir.text.literal_reader import read_dense
from shardy_py.mlir.text.op_writer import OpWriter
from shardy_py.mlir.text.reader import OpReader
from shardy_py.mlir.text.source import source_location
from shardy_py.mlir.text.syntax import AssemblyForm, OpSyntax
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding.spelling import string_literal, symbol_text

_I64 = IntegerType(64)
_SYMBOL = Spelling(lambda c: string_attribute(c.symbol()), lambda name: symbol_text(name.data))
_STRING = Spelling(lambda c: string_attribute(c.string()), lambda name: string_literal(name.data))
_INTEGER = Spelling(lambda c: c.attribute(_I64), lambda attribute: str(attribute.value.data))
_MESH, _SHARDING = formats.MESH.spelling, formats.SHARDING.spelling
_SHARDINGS, _MANUAL_AXES = formats.SHARDING_LIST.spelling, formats.MANUAL_AXES.spelling
_AXES, _AXIS_LISTS = formats.AXES.spelling, formats.AXIS_LISTS.spelling


def _read_reduction(reader: OpReader, draft: Draft) -> None:
    if reader.token in REDUCTIONS:
        draft.properties["reduction_op"] = REDUCTION.read(reader)


def _write_reduction(writer: OpWriter, op: Operation) -> None:
    reduction = op.properties.get("reduction_op")
    if is_integer_attribute(reduction) and reduction.value.data != 0:
        writer.write(" " + REDUCTION.write(reduction))


_REDUCTION = Element(_read_reduction, _write_reduction, ("reduction_op",))
"""`max` before the axes of a reducing collective; a sum is not spelled."""


def _read_value(reader: OpReader, draft: Draft) -> None:
    start = reader.offset
    value = read_dense(reader, None) if reader.at("dense") else reader.attribute()
    type_ = getattr(value, "type", None)
    if not isinstance(type_, Attribute):
        reader.error("invalid kind of attribute specified", start)
    draft.properties["value"], draft.result_types = value, [type_]


def _write_value(writer: OpWriter, op: Operation) -> None:
    writer.write(f" {attribute_text(op.properties['value'])}")


_VALUE = Element(_read_value, _write_value, ("value",))
"""` dense<...> : type`, which is the type of the result."""


def _read_body(reader: OpReader, draft: Draft) -> None:
    region = reader.region(reader.arguments(allow_attributes=True))
    if not region.blocks:
        region.add_block(Block())
    block = region.blocks[0]
    if not isinstance(block.last_op, ops.ReturnOp):
        place = source_location(reader.source, reader.previous_end)
        build_operation(ops.ReturnOp, (), (), {}, {}, place, block)
    draft.regions = [region]


def _write_body(writer: OpWriter, op: Operation) -> None:
    (body,) = op.regions
    writer.write(" (")
    for index, argument in enumerate(body.blocks[0].args):
        if index:
            writer.write(", ")
        writer.argument(argument)
    writer.write(") ")
    writer.region(body, hide_arguments=True)


_BODY = Element(_read_body, _write_body)
"""`(%a: type, ...) { ... }`; a missing `sdy.return` is put in where it has no operands."""


def _shardings(name: str) -> Element:
    return spelled(name, _SHARDINGS, before=f" {name}=")


def _collective(*axes: Element) -> AssemblyForm:
    out_sharding = spelled("out_sharding", _SHARDING, before=" out_sharding=")
    return assembly(*axes, operands("tensor"), out_sharding, ATTRIBUTES, SAME_TYPE)


def _identity(operand: str, *properties: Element) -> AssemblyForm:
    return assembly(operands(operand), *properties, ATTRIBUTES, SAME_TYPE)


_FORMS: dict[type[Operation], AssemblyForm] = {
    ops.MeshOp: assembly(spelled("sym_name", _SYMBOL), spelled("mesh", _MESH, before=" = "), ATTRIBUTES),
    ops.ShardingConstraintOp: _identity("input", spelled("sharding", _SHARDING)),
    ops.ReshardOp: _identity("input", spelled("sharding", _SHARDING)),
    ops.ReturnOp: RETURN_FORM,
    ops.ManualComputationOp: assembly(
        operand_list("(", ")"),
        *(_shardings("in_shardings"), _shardings("out_shardings")),
        spelled("manual_axes", _MANUAL_AXES, before=" manual_axes="),
        *(_BODY, ATTRIBUTES, FUNCTION_TYPE),
    ),
    ops.ShardingGroupOp: assembly(
        operands("input"), spelled("group_id", _INTEGER, before=" group_id="), ATTRIBUTES, OPERAND_TYPE
    ),
    ops.ConstantOp: assembly(ATTRIBUTES, _VALUE),
    ops.DataFlowEdgeOp: _identity("input", optional("sharding", _SHARDING, before=" sharding=")),
    ops.FuncDataFlowEdgeOp: _identity("operand"),
    ops.PropagationBarrierOp: _identity(
        "input", spelled("allowed_direction", DIRECTION, before=" allowed_direction=")
    ),
    ops.NamedComputationOp: assembly(
        spelled("name", _STRING, before="<", after=">"),
        operand_list("(", ")"),
        optional("in_shardings", _SHARDINGS, before=" in_shardings="),
        optional("out_shardings", _SHARDINGS, before=" out_shardings="),
        *(_BODY, ATTRIBUTES, FUNCTION_TYPE),
    ),
    ops.AllGatherOp: _collective(spelled("gathering_axes", _AXIS_LISTS)),
    ops.AllSliceOp: _collective(spelled("slicing_axes", _AXIS_LISTS)),
    ops.AllToAllOp: _collective(spelled("params", formats.ALL_TO_ALL.spelling)),
    ops.CollectivePermuteOp: _collective(),
    ops.AllReduceOp: _collective(_REDUCTION, spelled("reduction_axes", _AXES)),
    ops.ReduceScatterOp: _collective(_REDUCTION, spelled("reduce_scatter_axes", _AXIS_LISTS)),
    ops.ShardedToUnreducedOp: _collective(spelled("axes", _AXIS_LISTS)),
    ops.ReplicatedToUnreducedOp: _collective(spelled("axes", _AXES)),
}


def _with_reduction(op: Operation) -> Mapping[str, Attribute]:
    """The properties with the one that is absent for a sum."""
    if "reduction_op" in op.properties or not Behaviour.SUMS_ARE_PROPERTIES.holds:
        return op.properties
    return {**op.properties, "reduction_op": IntegerAttr(0, 32)}


_GENERIC_PROPERTIES: dict[type[Operation], Callable[[Operation], Mapping[str, Attribute]]] = {
    ops.AllReduceOp: _with_reduction,
    ops.ReduceScatterOp: _with_reduction,
}

OPS = {
    op_class.name: OpSyntax(op_class, form, generic_properties=_GENERIC_PROPERTIES.get(op_class))
    for op_class, form in _FORMS.items()
}
"""The syntax of every op of the dialect by name."""
