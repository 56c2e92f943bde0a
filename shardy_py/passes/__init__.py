"""The list of passes, in the order of the pipelines; the only such list.

The name of a pass gives that of its function (`sdy-close-shardings`: `close_shardings`) and, unless the row
names another file, of its file, here, in `gspmd/passes/` or in `xla/`. Which passes run in which order:
`pipelines.py`. Importing this package loads no pass and no xDSL: `PassRow.run` does.
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.passes import options
from shardy_py.passes.effects import EFFECTS
from shardy_py.passes.options import OptionValue
from shardy_py.passes.registration import MODULE, PassCall, PassRow

__all__ = ["PASSES", "PassCall", "PassRow", "pass_by_name", "pass_call"]

_ROWS = """
# Reading: from the shardings of GSPMD dumps and of HLO to sdy.
stablehlo-ext-canonicalize-from-hlo-import
    Replaces the tuple operands and results of custom calls by several operands and results.
xla-sdy-import-shardings in shardings with ImportShardingsOptions
    Converts `mhlo.sharding` attributes to a mesh and shardings over its axes.
xla-sdy-stablehlo-round-trip-shard-map-import in stablehlo_shard_maps
    Converts GSPMD's shard maps (calls between custom calls) to manual computations.
xla-sdy-round-trip-import-shardy-attrs in shardy_attributes
    Restores meshes, shardings and rules from the frontend attributes of HLO.
xla-sdy-round-trip-shard-map-import in round_trip_shard_maps
    Converts calls to manual computation bodies back to manual computations.
xla-sdy-import-sdy-custom-calls in sdy_ops
    Converts custom calls that represent sharding constraints, groups and barriers to sdy ops.
convert-shard-to-sdy in shard_dialect
    Converts grids and shardings of MLIR's shard dialect to meshes and sharding constraints.

# Before import: the changes that XLA makes to a program of JAX on its way to Shardy.
xla-drop-priorities
    Removes the priorities of all shardings.
xla-merge-meshes
    Merges meshes over the same devices.
xla-fold
    Applies the folds of StableHLO's target independent optimization.
xla-inline-calls in inlining
    Inlines calls and composites.
xla-fold-empty-values in fold
    Replaces results without elements by constants.
xla-drop-invariant-loop-values in loops
    Removes values that no iteration changes from loops.
xla-erase-dead-ops in fold
    Erases ops without effects whose results are not used.
xla-order-ops in inlining
    Orders ops as XLA reads them back from HLO.
xla-populate-expanded-op-rules
    Gives ops that XLA expands the sharding rule of their indexing maps.
xla-open-free-loop-values in loops
    Inserts open constraints between sharded values and the loops that use them from outside.

# Import: prepares the user's program for propagation.
symbol-dce in call_graph on any
    Erases private functions and meshes that are never referenced.
sdy-lift-inlined-meshes in meshes with LiftInlinedMeshesOptions
    Converts inlined meshes to mesh symbols, one per distinct mesh.
sdy-remove-size-one-axes in removal
    Removes axes of size one from all shardings.
sdy-propagate-sharding-from-func-to-call in function_shardings
    Copies the result shardings of functions to their calls without shardings.
sdy-constant-or-scalar-splitter in constants
    Clones constants and broadcast scalars so that each has a single use.
sdy-explicit-gather-scatter-batching on func.func
    Converts implicit batch dimensions of gathers and scatters to explicit ones.
sdy-manual-axes-cleanup
    Completes and sorts the manual axes of manual computations.
sdy-add-data-flow-edges in data_flow_edges
    Inserts an op for each data-flow edge into and out of regions.
sdy-flatten-call-graph in call_graph with CopyOptions
    Clones functions until each has a single call.
sdy-import-func-calls in named_computations with ImportFuncCallsOptions
    Converts calls to named computations that hold the body of the callee.
sdy-add-func-data-flow-edges in data_flow_edges
    Inserts an op for each edge between calls and functions.
sdy-apply-sharding-constraints in constraints with DebugInfoOptions
    Copies the sharding of a constraint to its input where no other use conflicts.
sdy-sharding-group-import in constraints
    Merges and validates sharding groups that share a member.
sdy-pre-order-funcs in call_graph
    Sorts functions so that callers precede callees.

# Propagation: each strategy includes the one before.
sdy-populate-op-sharding-rules in propagating with ConservativeOptions on func.func
    Attaches the sharding rule of each op as an attribute.
sdy-basic-propagate in propagating with PropagateOptions
    Propagates shardings where there are no conflicts.
sdy-aggressive-propagate in propagating with AggressivePropagateOptions
    Propagates shardings and resolves conflicts between operands.
sdy-op-priority-propagate in propagating with OpPriorityPropagateOptions
    Propagates aggressively, through pass-through ops first.
sdy-user-priority-propagate in propagating with UserPriorityPropagateOptions
    Propagates by op priority within each user priority, p0 first.

# Export: prepares the propagated program for a partitioner.
sdy-export-named-computations in named_computations
    Converts named computations back to functions and calls.
sdy-propagate-to-func-results in function_shardings
    Copies the shardings of returned values to function results.
sdy-unflatten-call-graph in call_graph with UnflattenCallGraphOptions
    Merges clones of a function whose shardings agree.
sdy-auto-partition
    Runs the registered auto-partitioner, which may change shardings only.
sdy-insert-func-call-reshards in function_shardings
    Inserts reshards where the result shardings of a call and its function differ.
sdy-constant-or-scalar-merger in equal_constants on func.func
    Merges equal constants and broadcast scalars that have the same sharding.
sdy-sink-data-flow-edges in data_flow_edges with SinkDataFlowEdgesOptions on func.func
    Erases data-flow edges and moves their shardings to their inputs.
sdy-sink-func-data-flow-edges in data_flow_edges on func.func
    Erases the edges between calls and functions and moves their shardings to their inputs.
sdy-remove-sharding-groups in removal
    Erases all sharding groups.
sdy-sharding-constraint-to-reshard in reshards on func.func
    Converts sharding constraints to reshards.
sdy-update-non-divisible-input-output-shardings in function_shardings
    Truncates shardings of function arguments and results to axes that divide the dimensions evenly.
sdy-remove-sub-axes-in-input-output-shardings in function_shardings
    Truncates shardings of function arguments and results before the first sub-axis.
sdy-close-shardings in removal
    Closes all dimensions and drops replicated axes.
sdy-verify-unreduced-axes on func.func
    Verifies that no unreduced axis is lost between ops.
sdy-insert-explicit-reshards in reshard_insertion with InsertExplicitReshardsOptions on func.func
    Inserts reshards where the shardings of the operands and results of an op are incompatible.
sdy-resolve-permutation-factors in partitioner.permutation_factors with ResolvePermutationFactorsOptions
    Exchanges elements between devices, or replicates, where ops are sharded along windows, pads and slices.
sdy-reshard-to-collectives in reshards with ReshardToCollectivesOptions on func.func
    Converts reshards to sequences of collectives.
sdy-optimize-collectives on func.func
    Erases collective permutes that prepare a dimension for all-to-alls.
canonicalize in rewrites with CanonicalizeOptions on any
    Folds ops, erases dead ops and applies the canonicalization patterns of all ops.
sdy-propagate-through-expanded-ops in partitioner.expanded_ops
    Propagates shardings through ops that XLA expands, where Shardy's propagation stopped.
sdy-gather-whole-tensors in partitioner.whole_tensors with GatherWholeTensorsOptions
    Replicates tensors of ops that reshards cannot make local.
sdy-resolve-reduction-factors in partitioner.reduction_factors
    Makes all-reduces combine as the reductions before them do.
sdy-split-mesh-changes in partitioner.whole_tensors
    Gathers tensors on one mesh before they are sharded on another.
sdy-pad-for-divisibility in partitioner.pad_for_divisibility with PadForDivisibilityOptions
    Pads dimensions to sizes that their shardings divide.
sdy-per-instruction-partitioning in partitioner.per_instruction with PerInstructionOptions
    Partitions single ops, each within a manual computation.
sdy-resolve-single-device-sharding in partitioner.single_device with ResolveSingleDeviceOptions on func.func
    Runs ops on a single device there, and sends their results to all devices.
sdy-remove-all-gather-reduce-scatter-for-cmv1 in reshards on func.func
    Removes all-gathers before and reduce-scatters after dot_general, for collective matmul.
sdy-convert-global-to-local in partitioner.global_to_local with ConvertGlobalToLocalOptions
    Converts the program on whole tensors to the one that each device runs on its parts.
sdy-drop-sharding-rules in removal on func.func
    Removes all sharding rules.
sdy-drop-sharding-and-mesh in removal with DropShardingAndMeshOptions
    Removes all shardings and meshes.
sdy-inline-meshes in meshes
    Replaces mesh symbols in shardings by the meshes themselves.
sdy-save-module in propagating with SaveModuleOptions
    Writes the module to a file for debugging.
sdy-remove-propagation-debug-info in removal
    Removes the debug information of propagation.

# Writing: from sdy to XLA, GSPMD and other dialects.
xla-sdy-round-trip-export-ops in sdy_ops
    Converts sdy ops to custom calls that HLO preserves.
xla-sdy-round-trip-shard-map-export in round_trip_shard_maps
    Converts manual computations to function calls, as Shardy represents them in HLO.
xla-sdy-round-trip-export-shardy-attrs in shardy_attributes
    Saves meshes, shardings and rules in frontend attributes.
convert-sdy-to-shard in shard_dialect
    Converts meshes and shardings to grids and annotations of MLIR's shard dialect.
xla-sdy-export-ops in sdy_ops
    Converts the data movement ops of sdy to @Sharding custom calls.
xla-sdy-stablehlo-round-trip-shard-map-export in stablehlo_shard_maps
    Converts manual computations to calls between custom calls, as GSPMD represents them.
xla-sdy-stablehlo-export-shardings in shardings with ExportShardingsOptions
    Converts shardings to `mhlo.sharding` attributes and erases the meshes.
"""
"""Two lines a pass: name, `in` its file, `with` its options, `on` its anchor if not a module; summary."""


def _rows() -> Iterator[PassRow]:
    lines = [line for line in _ROWS.splitlines() if line and not line.startswith("#")]
    for line, summary in zip(lines[::2], lines[1::2], strict=True):
        name, *words = line.split()
        given = dict(zip(words[::2], words[1::2], strict=True))
        options_class = getattr(options, given["with"]) if "with" in given else None
        anchor = given.get("on", MODULE).removeprefix("any")
        needs, adds = EFFECTS.get(name, (frozenset[str](), None))
        yield PassRow(name, summary.strip(), options_class, given.get("in", ""), anchor, needs, adds)


PASSES = tuple(_rows())
"""The passes."""

_BY_NAME = {row.name: row for row in PASSES}


def pass_call(name: str, **options: OptionValue) -> PassCall:
    """A call of the pass of that name, which must exist, with options by field name.

    >>> str(pass_call("sdy-insert-explicit-reshards", enable_full_version=True))
    'func.func(sdy-insert-explicit-reshards{enable-full-version=true})'
    """
    return PassCall.of(_BY_NAME[name], options)


def pass_by_name(name: str) -> PassRow | None:
    """Returns the row of a pass, None if there is no pass of that name."""
    return _BY_NAME.get(name)
