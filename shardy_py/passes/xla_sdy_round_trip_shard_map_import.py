"""`xla-sdy-round-trip-shard-map-import`: makes manual computations of what Shardy keeps them as in HLO.

    before  %1 = custom_call @xla.sdy.GlobalToLocalShape(%0) {... xla.sdy.in_shardings, xla.sdy.manual_axes}
            %2 = call @xla.sdy.manual_computation_body(%1)
            %3 = custom_call @xla.sdy.LocalToGlobalShape(%2) {... xla.sdy.out_shardings, xla.sdy.manual_axes}
    after   %3 = sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} { ... }

A call whose results nobody uses goes: they had no elements, and constants have taken their place.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualAxesAttr, TensorShardingPerValueAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.call_graph import calls_in
from shardy_py.graph.calls import callee_name
from shardy_py.graph.frontend_attributes import (
    CUSTOM_CALL,
    GLOBAL_TO_LOCAL,
    IN_SHARDINGS,
    LOCAL_TO_GLOBAL,
    MANUAL_AXES,
    MANUAL_COMPUTATION_BODY,
    OUT_SHARDINGS,
    call_target,
    error_at,
    errors_at,
    frontend_entry,
)
from shardy_py.graph.rewiring import erase
from shardy_py.graph.shard_map import (
    ManualCall,
    erase_unused,
    leaf_results,
    leaf_types,
    producer,
    to_manual_computation,
    users,
)
from shardy_py.graph.symbols import Symbols
from shardy_py.graph.walk import find_ops
from shardy_py.sharding import TensorSharding


@dataclass(frozen=True)
class XlaSdyRoundTripShardMapImportPass(ModulePass):
    """Makes manual computations of calls of manual computation bodies."""

    name = "xla-sdy-round-trip-shard-map-import"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = Symbols(op)
        while calls := [c for c in calls_in(op) if MANUAL_COMPUTATION_BODY in callee_name(c)]:
            call = calls[0]
            if call.results and not any(result.first_use for result in call.results):
                erase(call)
                if not any(callee_name(other) == callee_name(call) for other in calls_in(op)):
                    symbols.erase(symbols.callee(call))
                continue
            with errors_at(call):
                to_manual_computation(_parts(call), symbols)
        leftover = find_ops(op, CUSTOM_CALL)
        erase_unused(c for c in leftover if call_target(c) in (GLOBAL_TO_LOCAL, LOCAL_TO_GLOBAL))


def _parts(call: Operation) -> ManualCall:
    before, after = _custom_call_before(call), _custom_call_after(call)
    # Dumps of older versions have the attributes on the call itself.
    in_holder, out_holder = before or call, after or call
    if before is not None and frontend_entry(before.attributes, MANUAL_AXES, ManualAxesAttr) is None:
        in_holder = out_holder = call
    axes = frontend_entry(in_holder.attributes, MANUAL_AXES, ManualAxesAttr) or frontend_entry(
        out_holder.attributes, MANUAL_AXES, ManualAxesAttr
    )
    if axes is None:
        raise error_at(call, ShardyError(f"expected '{MANUAL_AXES}' on the custom calls around it"))
    operands = () if before is None else tuple(before.operands)
    return ManualCall(
        call,
        operands,
        () if after is None else leaf_results(after),
        () if after is None else leaf_types(after),
        _shardings(in_holder, IN_SHARDINGS),
        _shardings(out_holder, OUT_SHARDINGS),
        axes.data,
        tuple(op for op in (after, before) if op is not None),
    )


def _custom_call_before(call: Operation) -> Operation | None:
    if not call.operands:
        return None
    for operand in call.operands:
        found = producer(operand)
        if found is not None and call_target(found) == GLOBAL_TO_LOCAL:
            return found
    fact = f"expected at least one operand of @{callee_name(call)} to be produced by a {GLOBAL_TO_LOCAL} "
    raise error_at(call, ShardyError(fact + "CustomCallOp"))


def _custom_call_after(call: Operation) -> Operation | None:
    if not call.results:
        return None
    for result in call.results:
        for user in users(result):
            if call_target(user) == LOCAL_TO_GLOBAL:
                return user
    fact = f"expected the first use of @{callee_name(call)} to be a {LOCAL_TO_GLOBAL} CustomCallOp"
    raise error_at(call, ShardyError(fact))


def _shardings(op: Operation, name: str) -> tuple[TensorSharding, ...]:
    given = frontend_entry(op.attributes, name, TensorShardingPerValueAttr)
    return () if given is None else given.data
