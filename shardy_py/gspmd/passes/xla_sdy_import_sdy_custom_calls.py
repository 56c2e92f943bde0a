"""`xla-sdy-import-sdy-custom-calls`: replaces custom calls that encode ops of sdy by those ops.

    @Sharding {sdy.sharding}                                   sdy.sharding_constraint
    @xla.sdy.ShardingGroup {xla.sdy.sharding_group_id}         sdy.sharding_group
    @xla.sdy.PropagationBarrier {xla.sdy.allowed_direction}    sdy.propagation_barrier

    before  %1 = custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]",
                                            sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
    after   %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]>

A constraint on a value that is manual along every axis of the mesh constrains nothing and is erased.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy import ManualAxesAttr, ShardingConstraintOp, TensorShardingAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.movements import replace_by_values, replace_op
from shardy_py.graph.op_errors import errors_at
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.custom_calls import call_target, calls_of, constraint_sharding
from shardy_py.gspmd.encoding import ENCODED_OPS, MANUAL_MARK, SHARDING_TARGET, EncodedOp, Entries
from shardy_py.ir import build_operation, erase, place_before

_BY_TARGET = {row.target: row for row in ENCODED_OPS}


def xla_sdy_import_sdy_custom_calls(module: ModuleOp) -> None:
    """Replaces custom calls that encode ops of sdy by those ops."""
    symbols = Symbols(module)
    for call in calls_of(module, {SHARDING_TARGET, *_BY_TARGET}):
        row = _BY_TARGET.get(call_target(call))
        with errors_at(call):
            if row is None:
                _import_constraint(call, symbols)
            else:
                _import_encoded(call, row)


def _import_constraint(call: Operation, symbols: Symbols) -> None:
    if len(call.operands) != 1 or len(call.results) != 1:
        raise ShardyError("expected CustomCallOp with exactly one operand and one result")
    sharding = constraint_sharding(call)
    if sharding is None:
        raise ShardyError("expected CustomCallOp with a sharding attribute")
    mesh = symbols.mesh(sharding.mesh)
    manual = call.attributes.get(MANUAL_MARK)
    if isinstance(manual, ManualAxesAttr) and mesh is not None and len(manual.data) == len(mesh.axes):
        replace_by_values(call, call.operands)
    else:
        properties: Entries = {"sharding": TensorShardingAttr(sharding)}
        replace_op(call, _built(call, ShardingConstraintOp, call.results, properties))


def _import_encoded(call: Operation, row: EncodedOp) -> None:
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
    call: Operation, op_class: type[Operation], results: Sequence[SSAValue], properties: Entries
) -> Operation:
    types = [result.type for result in results]
    return build_operation(op_class, call.operands, types, properties, {}, call.location)
