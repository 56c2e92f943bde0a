"""The list of passes, in the order of the pipelines; the only such list.

A row has the name of a pass, what it does, its module below `shardy_py`, and its options. Modules are named
by strings because `sdy-opt --help` must load neither passes nor xDSL; a test loads each. The name of a pass
gives that of its function: `sdy-close-shardings` is `close_shardings`.

`needs`: without any of these ops, and without options, a pass changes nothing, so it need not run. `adds`: of
the ops that a program does not hold, it adds these at most. A pass without `adds` may do anything.
"""

from __future__ import annotations

from shardy_py.passes import options
from shardy_py.passes.registration import ANY, FUNCTION, PassRow

_NONE = frozenset[str]()


def _ops(*names: str) -> frozenset[str]:
    return frozenset(names)


PASSES = (
    # Reading: from the shardings of GSPMD dumps and of HLO to sdy.
    PassRow(
        "stablehlo-ext-canonicalize-from-hlo-import",
        "Replaces the tuple operands and results of custom calls by several operands and results.",
        "xla.gspmd.passes.stablehlo_ext_canonicalize_from_hlo_import",
    ),
    PassRow(
        "xla-sdy-import-shardings",
        "Converts `mhlo.sharding` attributes to a mesh and shardings over its axes.",
        "xla.gspmd.passes.shardings",
        options.ImportShardingsOptions,
    ),
    PassRow(
        "xla-sdy-stablehlo-round-trip-shard-map-import",
        "Converts GSPMD's shard maps (calls between custom calls) to manual computations.",
        "xla.gspmd.passes.stablehlo_shard_maps",
    ),
    PassRow(
        "xla-sdy-round-trip-import-shardy-attrs",
        "Restores meshes, shardings and rules from the frontend attributes of HLO.",
        "xla.gspmd.passes.shardy_attributes",
    ),
    PassRow(
        "xla-sdy-round-trip-shard-map-import",
        "Converts calls to manual computation bodies back to manual computations.",
        "xla.gspmd.passes.round_trip_shard_maps",
    ),
    PassRow(
        "xla-sdy-import-sdy-custom-calls",
        "Converts custom calls that represent sharding constraints, groups and barriers to sdy ops.",
        "xla.gspmd.passes.sdy_ops",
    ),
    PassRow(
        "convert-shard-to-sdy",
        "Converts grids and shardings of MLIR's shard dialect to meshes and sharding constraints.",
        "passes.export.shard_dialect",
    ),
    # Before import: the changes that XLA makes to a program of JAX on its way to Shardy.
    PassRow("xla-drop-priorities", "Removes the priorities of all shardings.", "xla.prepare.drop_priorities"),
    PassRow("xla-merge-meshes", "Merges meshes over the same devices.", "xla.prepare.merge_meshes"),
    PassRow(
        "xla-fold", "Applies the folds of StableHLO's target independent optimization.", "xla.prepare.fold"
    ),
    PassRow("xla-inline-calls", "Inlines calls and composites.", "xla.prepare.inlining"),
    PassRow("xla-fold-empty-values", "Replaces results without elements by constants.", "xla.prepare.fold"),
    PassRow(
        "xla-drop-invariant-loop-values",
        "Removes values that no iteration changes from loops.",
        "xla.prepare.loops",
        needs=_ops("stablehlo.while"),
        adds=_NONE,
    ),
    PassRow(
        "xla-erase-dead-ops",
        "Erases ops without effects whose results are not used.",
        "xla.prepare.fold",
        adds=_NONE,
    ),
    PassRow(
        "xla-order-ops", "Orders ops as XLA reads them back from HLO.", "xla.prepare.inlining", adds=_NONE
    ),
    PassRow(
        "xla-populate-expanded-op-rules",
        "Gives ops that XLA expands the sharding rule of their indexing maps.",
        "xla.prepare.populate_expanded_op_rules",
        adds=_NONE,
    ),
    PassRow(
        "xla-open-free-loop-values",
        "Inserts open constraints between sharded values and the loops that use them from outside.",
        "xla.prepare.loops",
        needs=_ops("stablehlo.while"),
        adds=_ops("sdy.sharding_constraint"),
    ),
    # Import: prepares the user's program for propagation.
    PassRow(
        "symbol-dce",
        "Erases private functions and meshes that are never referenced.",
        "passes.import_.call_graph",
        anchor=ANY,
        adds=_NONE,
    ),
    PassRow(
        "sdy-lift-inlined-meshes",
        "Converts inlined meshes to mesh symbols, one per distinct mesh.",
        "passes.import_.meshes",
        options.LiftInlinedMeshesOptions,
        adds=_ops("sdy.mesh"),
    ),
    PassRow(
        "sdy-remove-size-one-axes",
        "Removes axes of size one from all shardings.",
        "passes.export.removal",
        adds=_NONE,
    ),
    PassRow(
        "sdy-propagate-sharding-from-func-to-call",
        "Copies the result shardings of functions to their calls without shardings.",
        "passes.export.function_shardings",
        needs=_ops("func.call"),
        adds=_NONE,
    ),
    PassRow(
        "sdy-constant-or-scalar-splitter",
        "Clones constants and broadcast scalars so that each has a single use.",
        "passes.import_.constants",
        adds=_ops("sdy.constant", "func.func"),
    ),
    PassRow(
        "sdy-explicit-gather-scatter-batching",
        "Converts implicit batch dimensions of gathers and scatters to explicit ones.",
        "passes.import_.explicit_gather_scatter_batching",
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-manual-axes-cleanup",
        "Completes and sorts the manual axes of manual computations.",
        "passes.import_.manual_axes_cleanup",
        needs=_ops("sdy.manual_computation"),
        adds=_NONE,
    ),
    PassRow(
        "sdy-add-data-flow-edges",
        "Inserts an op for each data-flow edge into and out of regions.",
        "passes.import_.data_flow_edges",
        adds=_ops("sdy.data_flow_edge"),
    ),
    PassRow(
        "sdy-flatten-call-graph",
        "Clones functions until each has a single call.",
        "passes.import_.call_graph",
        options.CopyOptions,
        needs=_ops("func.call"),
        adds=_ops("func.func"),
    ),
    PassRow(
        "sdy-import-func-calls",
        "Converts calls to named computations that hold the body of the callee.",
        "passes.import_.named_computations",
        options.ImportFuncCallsOptions,
        needs=_ops("func.call", "sdy.named_computation"),
        adds=_ops("sdy.named_computation", "sdy.return", "sdy.data_flow_edge"),
    ),
    PassRow(
        "sdy-add-func-data-flow-edges",
        "Inserts an op for each edge between calls and functions.",
        "passes.import_.data_flow_edges",
    ),
    PassRow(
        "sdy-apply-sharding-constraints",
        "Copies the sharding of a constraint to its input where no other use conflicts.",
        "passes.import_.constraints",
        options.DebugInfoOptions,
        needs=_ops("sdy.sharding_constraint", "sdy.manual_computation"),
        adds=_ops("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-sharding-group-import",
        "Merges and validates sharding groups that share a member.",
        "passes.import_.constraints",
        needs=_ops("sdy.sharding_group"),
        adds=_NONE,
    ),
    PassRow(
        "sdy-pre-order-funcs",
        "Sorts functions so that callers precede callees.",
        "passes.import_.call_graph",
        adds=_NONE,
    ),
    # Propagation: each strategy includes the one before.
    PassRow(
        "sdy-populate-op-sharding-rules",
        "Attaches the sharding rule of each op as an attribute.",
        "passes.propagate.propagating",
        options.ConservativeOptions,
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-basic-propagate",
        "Propagates shardings where there are no conflicts.",
        "passes.propagate.propagating",
        options.PropagateOptions,
        adds=_ops("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-aggressive-propagate",
        "Propagates shardings and resolves conflicts between operands.",
        "passes.propagate.propagating",
        options.AggressivePropagateOptions,
        adds=_ops("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-op-priority-propagate",
        "Propagates aggressively, through pass-through ops first.",
        "passes.propagate.propagating",
        options.OpPriorityPropagateOptions,
        adds=_ops("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-user-priority-propagate",
        "Propagates by op priority within each user priority, p0 first.",
        "passes.propagate.propagating",
        options.UserPriorityPropagateOptions,
        adds=_ops("sdy.sharding_constraint"),
    ),
    # Export: prepares the propagated program for a partitioner.
    PassRow(
        "sdy-export-named-computations",
        "Converts named computations back to functions and calls.",
        "passes.import_.named_computations",
        needs=_ops("sdy.named_computation"),
        adds=_ops("func.func", "func.call", "func.return"),
    ),
    PassRow(
        "sdy-propagate-to-func-results",
        "Copies the shardings of returned values to function results.",
        "passes.export.function_shardings",
        adds=_NONE,
    ),
    PassRow(
        "sdy-unflatten-call-graph",
        "Merges clones of a function whose shardings agree.",
        "passes.import_.call_graph",
        options.UnflattenCallGraphOptions,
        adds=_NONE,
    ),
    PassRow(
        "sdy-auto-partition",
        "Runs the registered auto-partitioner, which may change shardings only.",
        "passes.propagate.auto_partition",
    ),
    PassRow(
        "sdy-insert-func-call-reshards",
        "Inserts reshards where the result shardings of a call and its function differ.",
        "passes.export.function_shardings",
        needs=_ops("func.call"),
        adds=_ops("sdy.reshard"),
    ),
    PassRow(
        "sdy-constant-or-scalar-merger",
        "Merges equal constants and broadcast scalars that have the same sharding.",
        "passes.export.equal_constants",
        anchor=FUNCTION,
        adds=_NONE,
    ),
    PassRow(
        "sdy-sink-data-flow-edges",
        "Erases data-flow edges and moves their shardings to their inputs.",
        "passes.import_.data_flow_edges",
        options.SinkDataFlowEdgesOptions,
        anchor=FUNCTION,
        needs=_ops("sdy.data_flow_edge"),
        adds=_NONE,
    ),
    PassRow(
        "sdy-sink-func-data-flow-edges",
        "Erases the edges between calls and functions and moves their shardings to their inputs.",
        "passes.import_.data_flow_edges",
        anchor=FUNCTION,
        needs=_ops("sdy.func_data_flow_edge"),
        adds=_NONE,
    ),
    PassRow(
        "sdy-remove-sharding-groups",
        "Erases all sharding groups.",
        "passes.export.removal",
        needs=_ops("sdy.sharding_group"),
        adds=_NONE,
    ),
    PassRow(
        "sdy-sharding-constraint-to-reshard",
        "Converts sharding constraints to reshards.",
        "passes.export.reshards",
        anchor=FUNCTION,
        needs=_ops("sdy.sharding_constraint"),
        adds=_ops("sdy.reshard"),
    ),
    PassRow(
        "sdy-update-non-divisible-input-output-shardings",
        "Truncates shardings of function arguments and results to axes that divide the dimensions evenly.",
        "passes.export.function_shardings",
        adds=_NONE,
    ),
    PassRow(
        "sdy-remove-sub-axes-in-input-output-shardings",
        "Truncates shardings of function arguments and results before the first sub-axis.",
        "passes.export.function_shardings",
        adds=_NONE,
    ),
    PassRow(
        "sdy-close-shardings",
        "Closes all dimensions and drops replicated axes.",
        "passes.export.removal",
        adds=_NONE,
    ),
    PassRow(
        "sdy-verify-unreduced-axes",
        "Verifies that no unreduced axis is lost between ops.",
        "passes.export.verify_unreduced_axes",
        anchor=FUNCTION,
        adds=_NONE,
    ),
    PassRow(
        "sdy-insert-explicit-reshards",
        "Inserts reshards where the shardings of the operands and results of an op are incompatible.",
        "passes.export.reshard_insertion",
        options.InsertExplicitReshardsOptions,
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-resolve-permutation-factors",
        "Exchanges elements between devices, or replicates, where windows, pads and slices are sharded.",
        "localize.permutation_factors",
        options.ResolvePermutationFactorsOptions,
    ),
    PassRow(
        "sdy-reshard-to-collectives",
        "Converts reshards to sequences of collectives.",
        "passes.export.reshards",
        options.ReshardToCollectivesOptions,
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-optimize-collectives",
        "Erases collective permutes that prepare a dimension for all-to-alls.",
        "passes.export.optimize_collectives",
        anchor=FUNCTION,
    ),
    PassRow(
        "canonicalize",
        "Folds ops, erases dead ops and applies the canonicalization patterns of all ops.",
        "passes.rewrites",
        options.CanonicalizeOptions,
        anchor=ANY,
    ),
    PassRow(
        "sdy-propagate-through-expanded-ops",
        "Propagates shardings through ops that XLA expands, where Shardy's propagation stopped.",
        "localize.expanded_ops",
    ),
    PassRow(
        "sdy-gather-whole-tensors",
        "Replicates tensors of ops that reshards cannot make local.",
        "localize.whole_tensors",
        options.GatherWholeTensorsOptions,
    ),
    PassRow(
        "sdy-resolve-reduction-factors",
        "Makes all-reduces combine as the reductions before them do.",
        "localize.reduction_factors",
    ),
    PassRow(
        "sdy-split-mesh-changes",
        "Gathers tensors on one mesh before they are sharded on another.",
        "localize.whole_tensors",
    ),
    PassRow(
        "sdy-pad-for-divisibility",
        "Pads dimensions to sizes that their shardings divide.",
        "localize.pad_for_divisibility",
        options.PadForDivisibilityOptions,
    ),
    PassRow(
        "sdy-per-instruction-partitioning",
        "Partitions single ops, each within a manual computation.",
        "localize.per_instruction",
        options.PerInstructionOptions,
    ),
    PassRow(
        "sdy-resolve-single-device-sharding",
        "Runs ops on a single device there, and sends their results to all devices.",
        "localize.single_device",
        options.ResolveSingleDeviceOptions,
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-remove-all-gather-reduce-scatter-for-cmv1",
        "Removes all-gathers before and reduce-scatters after dot_general, for collective matmul.",
        "passes.export.reshards",
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-convert-global-to-local",
        "Converts the program on whole tensors to the one that each device runs on its parts.",
        "localize.global_to_local",
        options.ConvertGlobalToLocalOptions,
    ),
    PassRow(
        "sdy-drop-sharding-rules",
        "Removes all sharding rules.",
        "passes.export.removal",
        anchor=FUNCTION,
        adds=_NONE,
    ),
    PassRow(
        "sdy-drop-sharding-and-mesh",
        "Removes all shardings and meshes.",
        "passes.export.removal",
        options.DropShardingAndMeshOptions,
    ),
    PassRow(
        "sdy-inline-meshes",
        "Replaces mesh symbols in shardings by the meshes themselves.",
        "passes.import_.meshes",
    ),
    PassRow(
        "sdy-save-module",
        "Writes the module to a file for debugging.",
        "passes.propagate.propagating",
        options.SaveModuleOptions,
    ),
    PassRow(
        "sdy-remove-propagation-debug-info",
        "Removes the debug information of propagation.",
        "passes.export.removal",
    ),
    # Writing: from sdy to XLA, GSPMD and other dialects.
    PassRow(
        "xla-sdy-round-trip-export-ops",
        "Converts sdy ops to custom calls that HLO preserves.",
        "xla.gspmd.passes.sdy_ops",
    ),
    PassRow(
        "xla-sdy-round-trip-shard-map-export",
        "Converts manual computations to function calls, as Shardy represents them in HLO.",
        "xla.gspmd.passes.round_trip_shard_maps",
    ),
    PassRow(
        "xla-sdy-round-trip-export-shardy-attrs",
        "Saves meshes, shardings and rules in frontend attributes.",
        "xla.gspmd.passes.shardy_attributes",
    ),
    PassRow(
        "convert-sdy-to-shard",
        "Converts meshes and shardings to grids and annotations of MLIR's shard dialect.",
        "passes.export.shard_dialect",
    ),
    PassRow(
        "xla-sdy-export-ops",
        "Converts the data movement ops of sdy to @Sharding custom calls.",
        "xla.gspmd.passes.sdy_ops",
    ),
    PassRow(
        "xla-sdy-stablehlo-round-trip-shard-map-export",
        "Converts manual computations to calls between custom calls, as GSPMD represents them.",
        "xla.gspmd.passes.stablehlo_shard_maps",
    ),
    PassRow(
        "xla-sdy-stablehlo-export-shardings",
        "Converts shardings to `mhlo.sharding` attributes and erases the meshes.",
        "xla.gspmd.passes.shardings",
        options.ExportShardingsOptions,
    ),
)
"""The passes."""
