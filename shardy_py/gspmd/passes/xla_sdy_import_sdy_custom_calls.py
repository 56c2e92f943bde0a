"""`xla-sdy-import-sdy-custom-calls`: turns custom calls that stand for ops of sdy into those ops.

    @Sharding {sdy.sharding}                               sdy.sharding_constraint
    @xla.sdy.ShardingGroup {xla.sdy.sharding_group_id}     sdy.sharding_group
    @xla.sdy.PropagationBarrier {xla.sdy.allowed_direction}    sdy.propagation_barrier

    before  %1 = custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]",
                                            sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
    after   %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]>

A constraint on a value that is the user's own part along every axis says nothing and goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import (
    ManualAxesAttr,
    PropagationBarrierOp,
    ShardingConstraintOp,
    ShardingGroupOp,
    TensorShardingAttr,
)
from shardy_py.dialects.sdy.syntax import PROPAGATION_DIRECTIONS
from shardy_py.errors import ShardyError
from shardy_py.graph.op_errors import errors_at
from shardy_py.graph.rewiring import replace_op
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.custom_calls import constraint_sharding
from shardy_py.gspmd.frontend_attributes import (
    ALLOWED_DIRECTION,
    CUSTOM_CALL,
    GROUP_ID,
    MANUAL_AXES,
    PROPAGATION_BARRIER,
    SHARDING_GROUP,
    SHARDING_TARGET,
    call_target,
    frontend_entry,
)
from shardy_py.ir import build_operation, erase, find_ops, place_before, replace_uses


@dataclass(frozen=True)
class XlaSdyImportSdyCustomCallsPass(ModulePass):
    """Turns custom calls that stand for ops of sdy into those ops."""

    name = "xla-sdy-import-sdy-custom-calls"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        for call in find_ops(op, CUSTOM_CALL):
            importer = _IMPORTERS.get(call_target(call))
            if importer is not None:
                with errors_at(call):
                    importer(call, symbols)


def _import_constraint(call: Operation, symbols: Symbols) -> None:
    if len(call.operands) != 1 or len(call.results) != 1:
        raise ShardyError("expected CustomCallOp with exactly one operand and one result")
    sharding = constraint_sharding(call)
    if sharding is None:
        raise ShardyError("expected CustomCallOp with a sharding attribute")
    mesh = symbols.mesh(sharding.mesh)
    manual = call.attributes.get(MANUAL_AXES)
    if isinstance(manual, ManualAxesAttr) and mesh is not None and len(manual.data) == len(mesh.axes):
        replace_uses(call.results[0], call.operands[0])
        erase(call)
        return
    properties: dict[str, Attribute] = {"sharding": TensorShardingAttr(sharding)}
    types = [call.results[0].type]
    replace_op(
        call, build_operation(ShardingConstraintOp, call.operands, types, properties, {}, call.location)
    )


def _import_group(call: Operation, symbols: Symbols) -> None:
    number = frontend_entry(call.attributes, GROUP_ID, IntegerAttr)
    if number is None:
        raise ShardyError("expected CustomCallOp with a sharding group id.")
    if any(result.first_use for result in call.results):
        raise ShardyError(f"{SHARDING_GROUP} CustomCallOp should have no uses.")
    properties: dict[str, Attribute] = {"group_id": IntegerAttr(number.value.data, i64)}
    group = build_operation(ShardingGroupOp, call.operands, (), properties, {}, call.location)
    place_before(group, call)
    erase(call)


def _import_barrier(call: Operation, symbols: Symbols) -> None:
    given = frontend_entry(call.attributes, ALLOWED_DIRECTION, StringAttr)
    spelled = re.fullmatch(r"(\d+) : i32|(?:.*\W)?([A-Z]+)\W*", given.data) if given is not None else None
    number, word = spelled.groups() if spelled else (None, None)
    known = dict(enumerate(PROPAGATION_DIRECTIONS))
    found = [index for index, name in known.items() if name == word or str(index) == number]
    if not found:
        raise ShardyError("expected PropagationBarrier CustomCall Op with a propagation direction.")
    properties: dict[str, Attribute] = {"allowed_direction": IntegerAttr(found[0], i32)}
    types = [call.results[0].type]
    replace_op(
        call, build_operation(PropagationBarrierOp, call.operands, types, properties, {}, call.location)
    )


_IMPORTERS: dict[str, Callable[[Operation, Symbols], None]] = {
    SHARDING_TARGET: _import_constraint,
    SHARDING_GROUP: _import_group,
    PROPAGATION_BARRIER: _import_barrier,
}
