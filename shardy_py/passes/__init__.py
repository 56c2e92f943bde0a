"""The list of passes: one row a pass, in the order of the pipeline; the only such list.

Each row names a file here or in `gspmd/passes/` (`sdy-close-shardings`: `close_shardings.py`) and its class
(`CloseShardingsPass`); a test holds names and options equal to the class. Which passes run in which order:
`pipelines.py`. Importing this package loads no pass and no xDSL: `PassRow.load` does.
"""

from __future__ import annotations

from shardy_py.passes.registration import Option, OptionValue, PassCall, PassRow

__all__ = ["PASSES", "Option", "OptionValue", "PassCall", "PassRow", "pass_by_name"]

FUNCTION = "func.func"
GSPMD = "shardy_py.gspmd.passes"

_KEEP_RULES = Option("keep-sharding-rules", False, "leave the sharding rules used on the ops")
_CONSERVATIVE = Option("conservative-propagation", False, "no split axes, no shardings that need padding")
_STRATEGY = Option(
    "propagation-strategy",
    "aggressive",
    "how conflicts between factors are settled",
    ("basic", "aggressive", "basic-then-aggressive"),
)
_OP_PRIORITY = Option("run-op-priority-propagation", True, "propagate through cheap ops first")
_ORIGINS = Option("debug-sharding-origins", False, "note which of the user's shardings each axis came from")
_EDGES = Option("debug-propagation-edge-sharding", False, "note along which edges each axis moved")
_DUMP = Option("module-dump-directory", "", "where to write the module after each user priority")
_COMMON = (_KEEP_RULES, _DUMP, _CONSERVATIVE, _ORIGINS, _EDGES)

PASSES: tuple[PassRow, ...] = (
    # Reading: from what GSPMD's dumps and XLA's HLO hold of shardings to sdy.
    PassRow(
        "stablehlo-ext-canonicalize-from-hlo-import",
        "Gives custom calls several operands and results where HLO has tuples.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-import-shardings",
        "Turns GSPMD's `mhlo.sharding` into a mesh and shardings over its axes.",
        (
            Option("mesh-axes", (), "the axes of the mesh, x=4,y=2; without them, found from the shardings"),
            Option("allow-propagation-to-args", (), "true or false for each argument of main, or for all"),
            Option("allow-propagation-to-results", (), "true or false for each result of main, or for all"),
        ),
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-stablehlo-round-trip-shard-map-import",
        "Turns GSPMD's shard maps, calls between custom calls, into manual computations.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-round-trip-import-shardy-attrs",
        "Restores meshes, shardings and rules from the frontend attributes of HLO.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-round-trip-shard-map-import",
        "Turns calls of manual computation bodies back into manual computations.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-import-sdy-custom-calls",
        "Turns custom calls that stand for constraints, groups and barriers into those ops.",
        package=GSPMD,
    ),
    PassRow(
        "convert-shard-to-sdy",
        "Turns grids and shardings of MLIR's dialect shard into meshes and constraints.",
    ),
    # Import: from what the user wrote to what propagation works on.
    PassRow("symbol-dce", "Removes private functions and meshes that nothing refers to.", anchor=""),
    PassRow(
        "sdy-lift-inlined-meshes",
        "Turns meshes inlined in shardings into mesh symbols, one per distinct mesh.",
    ),
    PassRow("sdy-remove-size-one-axes", "Removes axes of size one from all shardings."),
    PassRow(
        "sdy-propagate-sharding-from-func-to-call",
        "Gives calls without result shardings those of the function they call.",
    ),
    PassRow(
        "sdy-constant-or-scalar-splitter",
        "Gives every use of a constant or broadcast scalar a copy of its own, so that no use binds another.",
    ),
    PassRow(
        "sdy-explicit-gather-scatter-batching",
        "Makes the batch dimensions of gathers and scatters explicit where indices count rows.",
        anchor=FUNCTION,
    ),
    PassRow("sdy-manual-axes-cleanup", "Completes and sorts the manual axes of manual computations."),
    PassRow(
        "sdy-add-data-flow-edges", "Inserts an op for every edge along which data enters or leaves a region."
    ),
    PassRow("sdy-flatten-call-graph", "Clones functions until each has one call."),
    PassRow(
        "sdy-import-func-calls",
        "Turns calls into named computations that hold the callee's body.",
        (
            Option(
                "add-data-flow-edges-on-named-computations",
                True,
                "also insert data-flow edges on what is inlined",
            ),
        ),
    ),
    PassRow("sdy-add-func-data-flow-edges", "Inserts an op for every edge between a call and its function."),
    PassRow(
        "sdy-apply-sharding-constraints",
        "Copies the sharding of a constraint to its input where the constraint dictates it.",
        (_ORIGINS, _EDGES),
    ),
    PassRow("sdy-sharding-group-import", "Merges sharding groups that share a member, and checks them."),
    PassRow("sdy-pre-order-funcs", "Orders functions so that callers stand before what they call."),
    # Propagation: each strategy contains the one before.
    PassRow(
        "sdy-populate-op-sharding-rules",
        "Writes the sharding rule of every op as an attribute.",
        (Option("conservative-propagation", False, "no rules that may need padding"),),
        FUNCTION,
    ),
    PassRow("sdy-basic-propagate", "Propagates shardings where nothing conflicts.", _COMMON),
    PassRow(
        "sdy-aggressive-propagate",
        "Propagates shardings and settles conflicts between operands.",
        (*_COMMON, _STRATEGY),
    ),
    PassRow(
        "sdy-op-priority-propagate",
        "Propagates aggressively, pass-through ops first.",
        (*_COMMON, _STRATEGY, _OP_PRIORITY),
    ),
    PassRow(
        "sdy-user-priority-propagate",
        "Propagates by op priority within the user's priorities, p0 first.",
        (*_COMMON, _STRATEGY, _OP_PRIORITY, Option("dump-index", 0, "the number in the names of its files")),
    ),
    # Export: from what was propagated to what a partitioner takes.
    PassRow("sdy-export-named-computations", "Turns named computations back into functions and calls."),
    PassRow("sdy-propagate-to-func-results", "Copies the shardings of returned values to function results."),
    PassRow(
        "sdy-unflatten-call-graph",
        "Merges clones of a function whose shardings agree.",
        (Option("dedup-functions-fully", False, "merge them whatever their shardings"),),
    ),
    PassRow("sdy-auto-partition", "Runs the registered auto-partitioner, which may change shardings only."),
    PassRow(
        "sdy-insert-func-call-reshards",
        "Inserts reshards where a call's result shardings differ from its function's.",
    ),
    PassRow(
        "sdy-constant-or-scalar-merger",
        "Merges equal constants and broadcast scalars with the same sharding.",
        anchor=FUNCTION,
    ),
    PassRow(
        "sdy-sink-data-flow-edges",
        "Moves the sharding of each data-flow edge to its input.",
        (
            Option("sink-debug-sharding-origins", False, "also what is noted of the origins of axes"),
            Option("sink-debug-propagation-edge-sharding", False, "also what is noted of the ways of axes"),
        ),
        FUNCTION,
    ),
    PassRow(
        "sdy-sink-func-data-flow-edges",
        "Moves the sharding of each edge between a call and its function to its input.",
        anchor=FUNCTION,
    ),
    PassRow("sdy-remove-sharding-groups", "Removes the sharding groups."),
    PassRow(
        "sdy-sharding-constraint-to-reshard", "Turns sharding constraints into reshards.", anchor=FUNCTION
    ),
    PassRow(
        "sdy-update-non-divisible-input-output-shardings",
        "Cuts shardings of function arguments and results to the axes that divide their dimensions.",
    ),
    PassRow(
        "sdy-remove-sub-axes-in-input-output-shardings",
        "Cuts shardings of function arguments and results before their first sub-axis.",
    ),
    PassRow("sdy-close-shardings", "Closes all dimensions and drops replicated axes."),
    PassRow(
        "sdy-verify-unreduced-axes", "Checks that no unreduced axis is lost between ops.", anchor=FUNCTION
    ),
    PassRow(
        "sdy-insert-explicit-reshards",
        "Inserts reshards where operands and results of an op disagree.",
        (Option("enable-full-version", False, "for every op, not only those that need it"),),
        FUNCTION,
    ),
    PassRow(
        "sdy-reshard-to-collectives",
        "Turns reshards into the collectives that they consist of.",
        (Option("keep-redundant-reshards", False, "leave reshards that change nothing"),),
        FUNCTION,
    ),
    PassRow(
        "canonicalize",
        "Folds ops, removes dead ones and applies the rewrites that each op brings.",
        (Option("enable-patterns", (), "only the rewrites with these labels"),),
        anchor="",
    ),
    PassRow(
        "sdy-remove-all-gather-reduce-scatter-for-cmv1",
        "Removes all-gathers before and reduce-scatters after matrix products, for collective matmul.",
        anchor=FUNCTION,
    ),
    PassRow("sdy-drop-sharding-rules", "Removes all sharding rules.", anchor=FUNCTION),
    PassRow("sdy-drop-sharding-and-mesh", "Removes all sharding attributes and meshes."),
    PassRow("sdy-inline-meshes", "Replaces the names of meshes in shardings by the meshes themselves."),
    PassRow(
        "sdy-save-module",
        "Writes the module to a file for debugging.",
        (
            Option("dump-directory", "", "the folder; without one, nothing is written"),
            Option("file-name", "module", "the name of the file, without .mlir"),
            Option("dump-index", -1, "the number in front of the name; below 0: none"),
        ),
    ),
    PassRow(
        "sdy-remove-propagation-debug-info", "Removes the notes of propagation on where shardings came from."
    ),
    # Writing: from sdy to what XLA and GSPMD take, or other dialects.
    PassRow(
        "xla-sdy-round-trip-export-ops",
        "Replaces ops of sdy by custom calls that HLO carries along.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-round-trip-shard-map-export",
        "Turns manual computations into calls of functions, as Shardy keeps them in HLO.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-round-trip-export-shardy-attrs",
        "Keeps meshes, shardings and rules in frontend attributes.",
        package=GSPMD,
    ),
    PassRow(
        "convert-sdy-to-shard",
        "Turns meshes and shardings into grids and annotations of MLIR's dialect shard.",
    ),
    PassRow(
        "xla-sdy-export-ops",
        "Replaces the ops of sdy that only move data by @Sharding custom calls.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-stablehlo-round-trip-shard-map-export",
        "Turns manual computations into calls between custom calls, as GSPMD has them.",
        package=GSPMD,
    ),
    PassRow(
        "xla-sdy-stablehlo-export-shardings",
        "Turns shardings over axes into `mhlo.sharding` and removes the meshes.",
        (
            Option(
                "add-missing-sharding-to-control-flow",
                False,
                "give loops and branches without a sharding the replicated one",
            ),
            Option("enable-hlo-sharding-v3", False, "spell shardings by mesh and axes"),
        ),
        package=GSPMD,
    ),
)

_BY_NAME = {row.name: row for row in PASSES}


def pass_by_name(name: str) -> PassRow | None:
    """The row of a pass, None if there is none of that name."""
    return _BY_NAME.get(name)
