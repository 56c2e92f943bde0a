"""The list of passes: one row a pass, in the order of the pipelines; the only such list.

The name of a pass gives the names of its file, here, in `gspmd/passes/` or in `xla/`, and of its class
(`sdy-close-shardings`: `close_shardings.py`, `CloseShardingsPass`). Which passes run in which order:
`pipelines.py`. Importing this package loads no pass and no xDSL: `PassRow.load` does.
"""

from __future__ import annotations

from shardy_py.passes import options
from shardy_py.passes.options import OptionValue
from shardy_py.passes.registration import PassCall, PassRow

__all__ = ["PASSES", "PassCall", "PassRow", "pass_by_name", "pass_call"]

FUNCTION = "func.func"

PASSES: tuple[PassRow, ...] = (
    # Reading: from the shardings of GSPMD dumps and of HLO to sdy.
    PassRow(
        "stablehlo-ext-canonicalize-from-hlo-import",
        "Replaces the tuple operands and results of custom calls by several operands and results.",
    ),
    PassRow(
        "xla-sdy-import-shardings",
        "Converts `mhlo.sharding` attributes to a mesh and shardings over its axes.",
        options.ImportShardingsOptions,
    ),
    PassRow(
        "xla-sdy-stablehlo-round-trip-shard-map-import",
        "Converts GSPMD's shard maps (calls between custom calls) to manual computations.",
    ),
    PassRow(
        "xla-sdy-round-trip-import-shardy-attrs",
        "Restores meshes, shardings and rules from the frontend attributes of HLO.",
    ),
    PassRow(
        "xla-sdy-round-trip-shard-map-import",
        "Converts calls to manual computation bodies back to manual computations.",
    ),
    PassRow(
        "xla-sdy-import-sdy-custom-calls",
        "Converts custom calls that represent sharding constraints, groups and barriers to sdy ops.",
    ),
    PassRow(
        "convert-shard-to-sdy",
        "Converts grids and shardings of MLIR's shard dialect to meshes and sharding constraints.",
    ),
    # Before import: the changes that XLA makes to a program of JAX on its way to Shardy.
    PassRow("xla-merge-meshes", "Merges meshes over the same devices."),
    PassRow("xla-fold", "Applies the folds of StableHLO's target independent optimization."),
    PassRow("xla-inline-calls", "Inlines calls and composites."),
    PassRow("xla-fold-empty-values", "Replaces results without elements by constants."),
    PassRow("xla-drop-invariant-loop-values", "Removes values that no iteration changes from loops."),
    PassRow("xla-erase-dead-ops", "Erases ops without effects whose results are not used."),
    PassRow("xla-order-ops", "Orders ops as XLA reads them back from HLO."),
    PassRow(
        "xla-populate-expanded-op-rules",
        "Gives ops that XLA expands the sharding rule of their indexing maps.",
    ),
    PassRow(
        "xla-open-free-loop-values",
        "Inserts open constraints between sharded values and the loops that use them from outside.",
    ),
    # Import: prepares the user's program for propagation.
    PassRow("symbol-dce", "Erases private functions and meshes that are never referenced.", anchor=""),
    PassRow("sdy-lift-inlined-meshes", "Converts inlined meshes to mesh symbols, one per distinct mesh."),
    PassRow("sdy-remove-size-one-axes", "Removes axes of size one from all shardings."),
    PassRow(
        "sdy-propagate-sharding-from-func-to-call",
        "Copies the result shardings of functions to their calls without shardings.",
    ),
    PassRow(
        "sdy-constant-or-scalar-splitter",
        "Clones constants and broadcast scalars so that each has a single use.",
    ),
    PassRow(
        "sdy-explicit-gather-scatter-batching",
        "Converts implicit batch dimensions of gathers and scatters to explicit ones.",
        anchor=FUNCTION,
    ),
    PassRow("sdy-manual-axes-cleanup", "Completes and sorts the manual axes of manual computations."),
    PassRow("sdy-add-data-flow-edges", "Inserts an op for each data-flow edge into and out of regions."),
    PassRow("sdy-flatten-call-graph", "Clones functions until each has a single call."),
    PassRow(
        "sdy-import-func-calls",
        "Converts calls to named computations that hold the body of the callee.",
        options.ImportFuncCallsOptions,
    ),
    PassRow("sdy-add-func-data-flow-edges", "Inserts an op for each edge between calls and functions."),
    PassRow(
        "sdy-apply-sharding-constraints",
        "Copies the sharding of a constraint to its input where no other use conflicts.",
        options.DebugInfoOptions,
    ),
    PassRow("sdy-sharding-group-import", "Merges and validates sharding groups that share a member."),
    PassRow("sdy-pre-order-funcs", "Sorts functions so that callers precede callees."),
    # Propagation: each strategy includes the one before.
    PassRow(
        "sdy-populate-op-sharding-rules",
        "Attaches the sharding rule of each op as an attribute.",
        options.ConservativeOptions,
        FUNCTION,
    ),
    PassRow(
        "sdy-basic-propagate", "Propagates shardings where there are no conflicts.", options.PropagateOptions
    ),
    PassRow(
        "sdy-aggressive-propagate",
        "Propagates shardings and resolves conflicts between operands.",
        options.AggressivePropagateOptions,
    ),
    PassRow(
        "sdy-op-priority-propagate",
        "Propagates aggressively, through pass-through ops first.",
        options.OpPriorityPropagateOptions,
    ),
    PassRow(
        "sdy-user-priority-propagate",
        "Propagates by op priority within each user priority, p0 first.",
        options.UserPriorityPropagateOptions,
    ),
    # Export: prepares the propagated program for a partitioner.
    PassRow("sdy-export-named-computations", "Converts named computations back to functions and calls."),
    PassRow("sdy-propagate-to-func-results", "Copies the shardings of returned values to function results."),
    PassRow(
        "sdy-unflatten-call-graph",
        "Merges clones of a function whose shardings agree.",
        options.UnflattenCallGraphOptions,
    ),
    PassRow("sdy-auto-partition", "Runs the registered auto-partitioner, which may change shardings only."),
    PassRow(
        "sdy-insert-func-call-reshards",
        "Inserts reshards where the result shardings of a call and its function differ.",
    ),
    PassRow(
        "sdy-constant-or-scalar-merger",
        "Merges equal constants and broadcast scalars that have the same sharding.",
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-sink-data-flow-edges",
        "Erases data-flow edges and moves their shardings to their inputs.",
        options.SinkDataFlowEdgesOptions,
        FUNCTION,
    ),
    PassRow(
        "sdy-sink-func-data-flow-edges",
        "Erases the edges between calls and functions and moves their shardings to their inputs.",
        anchor=FUNCTION,
    ),
    PassRow("sdy-remove-sharding-groups", "Erases all sharding groups."),
    PassRow(
        "sdy-sharding-constraint-to-reshard", "Converts sharding constraints to reshards.", anchor=FUNCTION
    ),
    PassRow(
        "sdy-update-non-divisible-input-output-shardings",
        "Truncates shardings of function arguments and results to axes that divide the dimensions evenly.",
    ),
    PassRow(
        "sdy-remove-sub-axes-in-input-output-shardings",
        "Truncates shardings of function arguments and results before the first sub-axis.",
    ),
    PassRow("sdy-close-shardings", "Closes all dimensions and drops replicated axes."),
    PassRow(
        "sdy-verify-unreduced-axes", "Verifies that no unreduced axis is lost between ops.", anchor=FUNCTION
    ),
    PassRow(
        "sdy-insert-explicit-reshards",
        "Inserts reshards where the shardings of the operands and results of an op are incompatible.",
        options.InsertExplicitReshardsOptions,
        FUNCTION,
    ),
    PassRow(
        "sdy-reshard-to-collectives",
        "Converts reshards to sequences of collectives.",
        options.ReshardToCollectivesOptions,
        FUNCTION,
    ),
    PassRow(
        "canonicalize",
        "Folds ops, erases dead ops and applies the canonicalization patterns of all ops.",
        options.CanonicalizeOptions,
        anchor="",
    ),
    PassRow(
        "sdy-remove-all-gather-reduce-scatter-for-cmv1",
        "Removes all-gathers before and reduce-scatters after dot_general, for collective matmul.",
        anchor=FUNCTION,
    ),
    PassRow("sdy-drop-sharding-rules", "Removes all sharding rules.", anchor=FUNCTION),
    PassRow("sdy-drop-sharding-and-mesh", "Removes all shardings and meshes."),
    PassRow("sdy-inline-meshes", "Replaces mesh symbols in shardings by the meshes themselves."),
    PassRow("sdy-save-module", "Writes the module to a file for debugging.", options.SaveModuleOptions),
    PassRow("sdy-remove-propagation-debug-info", "Removes the debug information of propagation."),
    # Writing: from sdy to XLA, GSPMD and other dialects.
    PassRow("xla-sdy-round-trip-export-ops", "Converts sdy ops to custom calls that HLO preserves."),
    PassRow(
        "xla-sdy-round-trip-shard-map-export",
        "Converts manual computations to function calls, as Shardy represents them in HLO.",
    ),
    PassRow(
        "xla-sdy-round-trip-export-shardy-attrs", "Saves meshes, shardings and rules in frontend attributes."
    ),
    PassRow(
        "convert-sdy-to-shard",
        "Converts meshes and shardings to grids and annotations of MLIR's shard dialect.",
    ),
    PassRow("xla-sdy-export-ops", "Converts the data movement ops of sdy to @Sharding custom calls."),
    PassRow(
        "xla-sdy-stablehlo-round-trip-shard-map-export",
        "Converts manual computations to calls between custom calls, as GSPMD represents them.",
    ),
    PassRow(
        "xla-sdy-stablehlo-export-shardings",
        "Converts shardings to `mhlo.sharding` attributes and erases the meshes.",
        options.ExportShardingsOptions,
    ),
)

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
