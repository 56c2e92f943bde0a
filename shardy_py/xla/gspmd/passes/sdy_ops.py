"""Ops of sdy to XLA's custom calls, and back."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue, Use

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import sdy
from shardy_py.mlir.dialects.traits import sharding_property
from shardy_py.mlir.ir import (
    build_operation,
    erase,
    find_ops,
    operands_set_together,
    place_before,
    replace_uses,
)
from shardy_py.mlir.movements import replace_by_values, replace_op
from shardy_py.mlir.op_errors import errors_at
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import property_of
from shardy_py.passes.export.shard_dialect import IDENTITIES, RESHARDS, replace_constant
from shardy_py.xla.gspmd import encoding
from shardy_py.xla.hlo_sharding.hlo_sharding import HloSharding, HloShardingType, ShardGroup


def xla_sdy_export_ops(module: ModuleOp) -> None:
    """`xla-sdy-export-ops`: replaces the ops of sdy that only move data by custom calls that GSPMD supports.

    Reshards, constraints and collectives become @Sharding with the sharding of their result, open dimensions
    listed as unspecified; group members @Sharding with an unknown sharding and the id of the group; constants
    those of StableHLO. All-reduces and barriers, which change no sharding, are erased.

    before  %1 = sdy.reshard %0 <@mesh, [{"x"}, {}]>
    after   %1 = custom_call @Sharding(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}

    `xla-sdy-stablehlo-export-shardings` converts the shardings.
    """
    names = (sdy.ConstantOp.name, sdy.ShardingGroupOp.name, *RESHARDS, *IDENTITIES)
    with operands_set_together():
        for inner in find_ops(module, *names):
            if isinstance(inner, sdy.ShardingGroupOp):
                _export_member(inner)
            elif isinstance(inner, sdy.ConstantOp):
                replace_constant(inner)
            elif inner.name in IDENTITIES:
                replace_by_values(inner, inner.operands)
            else:
                replace_op(inner, _constraint(inner))


def _constraint(op: Operation, *, lists_open: bool = True) -> Operation:
    sharding = property_of(op, sharding_property(op) or "", sdy.TensorShardingAttr).data
    value, type_ = op.operands[0], op.results[0].type
    call = encoding.sharding_call(
        encoding.SHARDING_TARGET, value, type_, sharding, op.location, lists_open=lists_open
    )
    call.attributes = {**op.attributes, **call.attributes}
    return call


def _export_member(group: sdy.ShardingGroupOp) -> None:
    """Makes the users after a group use a custom call whose result is a member of it."""
    value, block = group.input, group.parent
    assert block is not None
    member = ShardGroup(group.group_id.value.data, is_shard_as=True)
    sharding = HloSharding(HloShardingType.UNKNOWN, shard_group=member)
    attributes: dict[str, Attribute] = {encoding.XLA_SHARDING: StringAttr(str(sharding))}
    call = encoding.custom_call(encoding.SHARDING_TARGET, (value,), (value.type,), attributes, group.location)
    place_before(call, group)

    def is_after(use: Use) -> bool:
        ancestor = block.find_ancestor_op_in_block(use.operation)
        return ancestor is not None and group.is_before_in_block(ancestor)

    replace_uses(value, call.results[0], only=is_after)
    erase(group)


_BY_NAME = {row.op_class.name: row for row in encoding.ENCODED_OPS}


def xla_sdy_round_trip_export_ops(module: ModuleOp) -> None:
    """`xla-sdy-round-trip-export-ops`: replaces ops of sdy by custom calls that XLA's HLO preserves.

    sdy.sharding_constraint, sdy.reshard   @Sharding
    sdy.sharding_group                     @xla.sdy.ShardingGroup
    sdy.propagation_barrier                @xla.sdy.PropagationBarrier
    sdy.constant                           stablehlo.constant

    before  sdy.sharding_group %0 group_id=3 : tensor<8xf32>
    after   custom_call @xla.sdy.ShardingGroup(%0)
            {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "3 : i64"}}

    The inverse: `xla-sdy-import-sdy-custom-calls`.
    """
    for inner in find_ops(
        module, sdy.ShardingConstraintOp.name, sdy.ReshardOp.name, sdy.ConstantOp.name, *_BY_NAME
    ):
        if isinstance(inner, sdy.ConstantOp):
            replace_constant(inner)
        elif isinstance(inner, sdy.ShardingConstraintOp | sdy.ReshardOp):
            call = _constraint(inner, lists_open=False)
            if inner.sharding.data.unreduced_axes:
                call.properties["has_side_effect"] = IntegerAttr(1, i1)
            replace_op(inner, call)
        else:
            replace_op(inner, _encoded(inner, _BY_NAME[inner.name]))


def _encoded(op: Operation, row: encoding.EncodedOp) -> Operation:
    attributes = encoding.with_frontend(op.attributes, {row.entry.name: op.properties[row.property]})
    return encoding.custom_call(
        row.target, op.operands, [r.type for r in op.results], attributes, op.location
    )


_BY_TARGET = {row.target: row for row in encoding.ENCODED_OPS}


def xla_sdy_import_sdy_custom_calls(module: ModuleOp) -> None:
    """`xla-sdy-import-sdy-custom-calls`: replaces custom calls that encode ops of sdy by those ops.

    @Sharding {sdy.sharding}                                   sdy.sharding_constraint
    @xla.sdy.ShardingGroup {xla.sdy.sharding_group_id}         sdy.sharding_group
    @xla.sdy.PropagationBarrier {xla.sdy.allowed_direction}    sdy.propagation_barrier

    before  %1 = custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]",
                                        sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
    after   %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]>

    A constraint on a value that is manual along every axis of the mesh constrains nothing and is erased.
    """
    symbols = Symbols(module)
    for call in encoding.calls_of(module, {encoding.SHARDING_TARGET, *_BY_TARGET}):
        row = _BY_TARGET.get(encoding.call_target(call))
        with errors_at(call):
            if row is None:
                _import_constraint(call, symbols)
            else:
                _import_encoded(call, row)


def _import_constraint(call: Operation, symbols: Symbols) -> None:
    if len(call.operands) != 1 or len(call.results) != 1:
        raise ShardyError("expected CustomCallOp with exactly one operand and one result")
    sharding = encoding.constraint_sharding(call)
    if sharding is None:
        raise ShardyError("expected CustomCallOp with a sharding attribute")
    mesh = symbols.mesh(sharding.mesh)
    manual = call.attributes.get(encoding.MANUAL_MARK)
    if isinstance(manual, sdy.ManualAxesAttr) and mesh is not None and len(manual.data) == len(mesh.axes):
        replace_by_values(call, call.operands)
    else:
        properties: encoding.Entries = {"sharding": sdy.TensorShardingAttr(sharding)}
        replace_op(call, _built(call, sdy.ShardingConstraintOp, call.results, properties))


def _import_encoded(call: Operation, row: encoding.EncodedOp) -> None:
    given = row.entry.read(call.attributes)
    value = None if given is None else row.decode(given)
    if value is None:
        raise ShardyError(row.missing)
    if not row.has_result:
        if any(result.first_use for result in call.results):
            raise ShardyError(f"{row.target} CustomCallOp should have no uses.")
        place_before(_built(call, row.op_class, (), {row.property: value}), call)
        erase(call)
    else:
        replace_op(call, _built(call, row.op_class, call.results[:1], {row.property: value}))


def _built(
    call: Operation, op_class: type[Operation], results: Sequence[SSAValue], properties: encoding.Entries
) -> Operation:
    types = [result.type for result in results]
    return build_operation(op_class, call.operands, types, properties, {}, call.location)
