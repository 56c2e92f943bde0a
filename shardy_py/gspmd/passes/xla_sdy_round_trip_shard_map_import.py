"""`xla-sdy-round-trip-shard-map-import`: makes manual computations of what Shardy keeps them as in HLO.

    before  %1 = custom_call @xla.sdy.GlobalToLocalShape(%0) {... xla.sdy.in_shardings, xla.sdy.manual_axes}
            %2 = call @xla.sdy.manual_computation_body(%1)
            %3 = custom_call @xla.sdy.LocalToGlobalShape(%2) {... xla.sdy.out_shardings, xla.sdy.manual_axes}
    after   %3 = sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} { ... }

A call whose results nobody uses goes: they had no elements, and constants have taken their place. So does a
body that nobody calls. Tuples are flattened before: `stablehlo-ext-canonicalize-from-hlo-import`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualAxesAttr, TensorShardingPerValueAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.calls import calls_in
from shardy_py.graph.op_errors import error_at, errors_at
from shardy_py.graph.symbols import Symbols, callee_name, functions_of, symbol_name
from shardy_py.gspmd.frontend_attributes import (
    CUSTOM_CALL,
    GLOBAL_TO_LOCAL,
    IN_SHARDINGS,
    LOCAL_TO_GLOBAL,
    MANUAL_AXES,
    MANUAL_COMPUTATION_BODY,
    OUT_SHARDINGS,
    Kind,
    call_target,
    frontend_entry,
)
from shardy_py.gspmd.shard_maps import (
    ManualCall,
    erase_unused,
    producer,
    to_manual_computation,
    users,
)
from shardy_py.ir import erase, find_ops


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
                continue
            with errors_at(call):
                to_manual_computation(_parts(call), symbols)
        leftover = find_ops(op, CUSTOM_CALL)
        erase_unused(c for c in leftover if call_target(c) in (GLOBAL_TO_LOCAL, LOCAL_TO_GLOBAL))
        for function in functions_of(op):
            if MANUAL_COMPUTATION_BODY in (symbol_name(function) or ""):
                symbols.erase(function)


def _parts(call: Operation) -> ManualCall:
    before, after = _custom_call_before(call), _custom_call_after(call)
    operands = () if before is None else tuple(before.operands)
    results = () if after is None else tuple(after.results)
    # Dumps of older versions have the attributes on the call itself.
    holders = [op for op in (before, after, call) if op is not None]
    axes = _entry(holders, MANUAL_AXES, ManualAxesAttr)
    if axes is None and (operands or results):
        raise error_at(call, ShardyError(f"expected '{MANUAL_AXES}' on the custom calls around it"))
    in_shardings, out_shardings = (
        _entry(holders, name, TensorShardingPerValueAttr) for name in (IN_SHARDINGS, OUT_SHARDINGS)
    )
    return ManualCall(
        call,
        operands,
        tuple((result,) for result in results),
        tuple(result.type for result in results),
        () if in_shardings is None else in_shardings.data,
        () if out_shardings is None else out_shardings.data,
        () if axes is None else axes.data,
        tuple(op for op in (after, before) if op is not None),
    )


def _entry(holders: Iterable[Operation], name: str, kind: type[Kind]) -> Kind | None:
    found = (frontend_entry(op.attributes, name, kind) for op in holders)
    return next((entry for entry in found if entry is not None), None)


def _custom_call_before(call: Operation) -> Operation | None:
    if not call.operands:
        return None
    for operand in call.operands:
        found = producer(operand, GLOBAL_TO_LOCAL)
        if found is not None:
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
