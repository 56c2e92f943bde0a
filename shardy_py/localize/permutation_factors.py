"""The pass that makes permutation factors local: exchanges where there are any, replication elsewhere.

A permutation factor shards an op whose parts of the result need other parts of the operand than the device
has: windows, pads, slices, reversals, and reshapes with uneven parts. Shardy's forms are in
`permutation_moves.py` and `permutation_reshapes.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.localize.device_ids import DeviceCounts, next_channel
from shardy_py.localize.facet import local_row
from shardy_py.localize.fallbacks import warn_whole
from shardy_py.localize.halo_exchange import DeviceNumbers
from shardy_py.localize.permutation_convolutions import with_whole_kernels
from shardy_py.localize.permutation_groups import insert_smaller_sum, sum_of_replicas, whole_factors
from shardy_py.localize.permutation_joins import erase_unused, joins_slices
from shardy_py.localize.permutation_windows import NOT_SHARDED, Description
from shardy_py.localize.resolution import Resolution
from shardy_py.localize.window_exchange import exchange_windows
from shardy_py.mlir.dialects.sdy import ReshardOp
from shardy_py.mlir.dialects.stablehlo import ConvolutionOp, PadOp, ReverseOp, SliceOp
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of, walk_post_order
from shardy_py.mlir.movements import inserting_for
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.export.reshard_insertion import insert_reshards
from shardy_py.passes.options import ResolvePermutationFactorsOptions
from shardy_py.reshard import reshard_plan as plans
from shardy_py.sharding import ShardingRule
from shardy_py.sharding.meshes import common_mesh, resolve


def resolve_permutation_factors(module: ModuleOp, options: ResolvePermutationFactorsOptions) -> None:
    """`sdy-resolve-permutation-factors`: exchanges elements between neighbours where an op reads them.

    %arg0: [{"x"}] on 2 devices
    before  %0 = stablehlo.slice %arg0 [1:9] : (tensor<9xf32>) -> tensor<8xf32>
    after   %0 = stablehlo.pad %arg0 ... : tensor<10xf32>
        %1 = sdy.manual_computation(%0, ...) manual_axes={"x"} (%arg1: tensor<5xf32>, ...) {
          %2 = "stablehlo.collective_permute"(%arg1), the part of the right neighbour
          ... concatenate, pad, dynamic_slice
        }

    Ops without an exchange, and those that would gather the whole dimension, get replicated operands.
    """
    is_narrow = Behaviour.POSITIONS_ARE_NARROW.holds and not options.enable_windowed_halo_exchange
    counts = DeviceCounts(options.replica_count, options.partition_count, is_narrow)
    state = Resolution(
        Symbols(module), ShardingReader(), DeviceNumbers(next_channel(module), counts), options
    )
    ops = list(walk_post_order(module, include_root=False))
    if options.enable_windowed_halo_exchange:
        ops.sort(key=lambda op: not joins_slices(op, state))
    for op in ops:
        if op.parent is not None and op.name.startswith("stablehlo.") and not is_terminator(op):
            with inserting_for(op):
                _resolve(op, state)


def _resolve(op: Operation, state: Resolution) -> None:
    row = local_row(op)
    if row.own is not None and not state.has_reversals_only:
        row.own(op, state)
        return
    rule = state.rule(op)
    if rule is None or rule.is_custom:
        return
    if state.options.enable_windowed_halo_exchange and row.scan is not None and row.scan(op, state):
        return
    if state.options.enable_windowed_halo_exchange and row.windows is not None:
        reason = exchange_described(op, row.windows, rule, state)
        if reason:
            _replicate(op, rule, state, reason)
        return
    if not whole_factors(op, rule):
        return
    if state.options.enable_windowed_halo_exchange and row.takes_any_part:
        return
    has_exchange = state.options.enable_halo_exchange
    if state.has_reversals_only:
        has_exchange = has_exchange and op.name == ReverseOp.name
    exchange = row.exchange if has_exchange else None
    if exchange is None or not exchange(op, state):
        _replicate(op, rule, state, "its parts need elements of other parts")


def exchange_described(
    op: Operation,
    windows: Callable[[Operation, Resolution], Description],
    rule: ShardingRule,
    state: Resolution,
) -> str:
    """Exchanges what the windows of an op read; returns why that is not done, or an empty string."""
    if op.name == ConvolutionOp.name:
        op = with_whole_kernels(op, rule, state)
    description = windows(op, state)
    if description is NOT_SHARDED:
        return ""
    if isinstance(description, str):
        reason = description
    else:
        sources = [value for value in operands_of(op) if isinstance(value.owner, (ReshardOp, SliceOp))]
        reason = exchange_windows(description.replaces or op, description, state)
        if not reason and description.replaces not in (None, op):
            erase_unused(op.results)
        elif not reason:
            erase_unused(list(dict.fromkeys(sources)))
    return reason


def _replicate(op: Operation, rule: ShardingRule, state: Resolution, reason: str) -> None:
    """Reshards operands and results so that no permutation factor is sharded that is not local, and warns."""
    operands = tuple(map(state.reader.of, operands_of(op)))
    results = tuple(map(state.reader.of, op.results))
    name = common_mesh(operands + results, state.meshes)
    if name is None or (mesh := resolve(name, state.meshes)).is_maximal:
        return
    tensors = plans.OpShardings(rule, operands, results, (), name, mesh)
    before = tensors.project()
    is_local = None if state.has_reversals_only and op.name == PadOp.name else local_row(op).is_local
    whole = whole_factors(op, rule)
    gathered: list[int] = []
    for number in sorted(whole):
        if is_local is not None and operands[0] is not None:
            dimension = next((i for i, found in enumerate(rule.operands[0]) if number in found), None)
            if dimension is not None and is_local(op, operands[0], dimension, state):
                continue
        gathered.append(number)
    after = before.along(dict.fromkeys(gathered, ())) if gathered else before
    changed = frozenset(after.changed_since(before))
    if changed:
        values = (*operands_of(op), *op.results)
        warn_whole(op, reason, [values[index] for index in sorted(changed)])
        nothing = ((),) * len(rule.factors)
        plan = plans.plan_for(tensors, after, changed, nothing, state.meshes)
        if (replicas := sum_of_replicas(op, rule, whole, tensors)) is not None:
            plan = insert_smaller_sum(op, plan, replicas, tensors)
        insert_reshards(op, plan, state.reader, state.meshes)
