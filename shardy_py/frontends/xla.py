"""What XLA makes of a program before it propagates shardings.

    before_propagation(module)        changes the module in place

JAX's compiler goes through HLO on its way to Shardy, so Shardy sees another program than JAX prints:

| step | XLA |
|---|---|
| meshes of the same devices become one (`xla_meshes.py`) | sdy_round_trip/dedup_meshes.cc |
| what changes nothing goes (`xla_folds.py`) | stablehlo-target-independent-optimization |
| calls and composites are inlined | the HLO pass CallInliner |
| values without elements become constants | the HLO pass ZeroSizedHloElimination |
| values that loops only carry are used from outside (`xla_loops.py`) | StableHLO's canonicalization of HLO |
| ops stand in the order of HLO (`xla_order.py`) | HloComputation::MakeInstructionPostOrder |
| ops of chlo are expanded; here they get a rule | stablehlo-legalize chlo, before HLO |
| what a loop uses of its surroundings becomes open | round_trip_common/open_while_free_vars_sharding.cc |

Not here: reading dumps of HLO (`gspmd/`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region

from shardy_py.dialects.sdy import ShardingConstraintOp
from shardy_py.dialects.stablehlo import op_class
from shardy_py.dialects.traits import is_dead_when_unused
from shardy_py.frontends.xla_constants import CONSTANT
from shardy_py.frontends.xla_folds import fold
from shardy_py.frontends.xla_loops import free_loop_values, open_free_values
from shardy_py.frontends.xla_meshes import merge_meshes
from shardy_py.frontends.xla_order import mark_late, order_as_hlo
from shardy_py.graph.calls import calls_in, functions_bottom_up
from shardy_py.graph.cloning import clone_region_into
from shardy_py.graph.holders import RULE
from shardy_py.graph.liveness import dying_ops
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.record import record_of
from shardy_py.graph.rewiring import replace_op
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.frontend_attributes import CUSTOM_CALL, call_target
from shardy_py.ir import (
    blocks_of,
    build_operation,
    erase,
    find_ops,
    operands_of,
    place_before,
    replace_uses,
    take_out,
    terminator_of,
    walk_pre_order,
)
from shardy_py.ops import BY_MAPS, TABLE, Policy, row_of
from shardy_py.passes.propagating import rule_attribute
from shardy_py.rules import derive_from_maps
from shardy_py.text.dense import make_dense
from shardy_py.text.source import call_site

COMPOSITE, WHILE = "stablehlo.composite", "stablehlo.while"
INLINEABLE = "inlineable"
"""The frontend attribute that keeps a call ("false")."""


def before_propagation(module: ModuleOp) -> None:
    """All steps of the table above, and dead ops go; `module` stays valid."""
    for step in STEPS:
        step(module)


def inline_calls(module: ModuleOp) -> None:
    """Put the bodies of functions where they are called; functions that nobody calls any more go."""
    symbols = Symbols(module)
    for composite in find_ops(module, COMPOSITE):
        _as_call(composite)
    called: set[Operation] = set()
    kept: set[Operation] = set()
    for function in functions_bottom_up(module):
        for call in calls_in(function):
            callee = symbols.callee(call)
            if _is_inlineable(call, callee):
                _inline(call, callee.regions[0])
                called.add(callee)
            else:
                kept.add(callee)
    for function in called - kept:
        symbols.erase(function)


def _as_call(composite: Operation) -> None:
    callee = composite.properties["decomposition"]
    name = callee if isinstance(callee, SymbolRefAttr) else SymbolRefAttr(callee)  # pyright: ignore
    types = [result.type for result in composite.results]
    replace_op(
        composite,
        build_operation(CallOp, operands_of(composite), types, {"callee": name}, {}, composite.location),
    )


def _is_inlineable(call: Operation, callee: Operation) -> bool:
    frontend = call.attributes.get("mhlo.frontend_attributes")
    given = frontend.data.get(INLINEABLE) if isinstance(frontend, DictionaryAttr) else None
    is_wanted = not (isinstance(given, StringAttr) and given.data == "false")
    return is_wanted and callee.regions[0].first_block is callee.regions[0].last_block


def _inline(call: Operation, body: Region) -> None:
    copy = Region()
    clone_region_into(body, copy, {})
    block = copy.blocks[0]
    for argument, operand in zip(block.args, operands_of(call), strict=True):
        replace_uses(argument, operand)
    end = terminator_of(copy)
    assert end is not None
    _set_call_site(block, cast(Any, call).location)
    mark_late(block)
    _move_before(call, block, end)
    for result, value in zip(call.results, operands_of(end), strict=True):
        replace_uses(result, value)
    erase(end)
    erase(call)


def _set_call_site(block: Block, caller: Attribute) -> None:
    """Let everything in `block` say that it was called from `caller`.

    JAX gives ops of its own functions names only: where they stand in the model is where they are called.
    """
    sites: dict[int, Attribute] = {}

    def at(location: Attribute) -> Any:
        site = sites.get(id(location))
        if site is None:
            site = sites[id(location)] = call_site(location, caller)
        return site

    for outer in block.ops:
        for op in walk_pre_order(outer):
            cast(Any, op).location = at(cast(Any, op).location)
            for inner in blocks_of(op) if op.regions else ():
                for argument in inner.args:
                    argument.location = at(argument.location)


def _move_before(anchor: Operation, block: Block, end: Operation) -> None:
    """Put all ops of `block` but the last before `anchor`."""
    while (op := block.first_op) is not None and op is not end:
        take_out(op)
        place_before(op, anchor)


def fold_empty_values(module: ModuleOp) -> None:
    """Let users of results without elements use constants."""
    for op in list(walk_pre_order(module, include_root=False)):
        if op.name in (ShardingConstraintOp.name, CONSTANT) or not is_dead_when_unused(op):
            continue
        for result in op.results:
            tensor = tensor_type(result.type)
            if tensor is not None and 0 in tensor.shape and result.first_use is not None:
                value: dict[str, Attribute] = {"value": make_dense(result.type, b"")}
                empty = build_operation(op_class("constant"), (), (result.type,), value, {}, op.location)
                place_before(empty, op)
                replace_uses(result, empty.results[0])


def erase_dead_ops(module: ModuleOp) -> None:
    """Erase ops without effects whose results nobody uses."""
    dying = dying_ops(walk_pre_order(module, include_root=False))
    for op in dying.values():
        if op.parent is not None:
            erase(op)


def give_rules(module: ModuleOp) -> None:
    """Give each op that XLA expands the rule that follows from its indexing maps."""
    for op in walk_pre_order(module, include_root=False):
        policy = _policy_of(op) if RULE not in op.attributes else None
        if policy is None:
            continue
        record = record_of(op)
        row = row_of(record)
        if row.maps is not None and None not in record.results:
            rule = derive_from_maps(row.maps(record), record, policy=policy)
            if rule is not None:
                op.attributes[RULE] = rule_attribute(rule)


def _policy_of(op: Operation) -> Policy | None:
    """How the rule of an op that XLA expands is derived; None: XLA leaves the op to Shardy."""
    if op.name.startswith("chlo."):
        return _CHLO_POLICIES.get(op.name, BY_MAPS)
    if op.name == CUSTOM_CALL and call_target(op) == APPROXIMATE_TOP_K:
        # Where the hardware has no such op, it becomes a sort and a slice.
        config = op.attributes.get("mhlo.backend_config") or op.properties.get("backend_config")
        is_sort = isinstance(config, DictionaryAttr) and config.data.get("is_fallback") == TRUE
        return BY_MAPS if is_sort else None
    return None


APPROXIMATE_TOP_K = "ApproxTopK"
TRUE = IntegerAttr.from_bool(True)
_CHLO_POLICIES: dict[str, Policy | None] = {
    "chlo.top_k": TABLE["stablehlo.custom_call@mhlo.topk"].policy,
    "chlo.erf": None,
}
"""The ops of chlo that HLO has, too: XLA has a rule for top_k, none for erf (jaxlib 0.10)."""

STEPS: tuple[Callable[[ModuleOp], None], ...] = (
    merge_meshes,
    fold,
    inline_calls,
    fold_empty_values,
    free_loop_values,
    erase_dead_ops,
    order_as_hlo,
    give_rules,
    open_free_values,
)
