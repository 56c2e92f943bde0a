"""Passes from and to the forms of XLA, and those that XLA runs before Shardy."""

from __future__ import annotations

from shardy_py.passes import options
from shardy_py.passes.registration import PassRow, ops_of

READING = (
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
)
"""From the shardings of GSPMD dumps and of HLO to sdy."""

PREPARATION = (
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
        needs=ops_of("stablehlo.while"),
        tracked=True,
    ),
    PassRow(
        "xla-erase-dead-ops",
        "Erases ops without effects whose results are not used.",
        "xla.prepare.fold",
        tracked=True,
    ),
    PassRow(
        "xla-order-ops", "Orders ops as XLA reads them back from HLO.", "xla.prepare.inlining", tracked=True
    ),
    PassRow(
        "xla-populate-expanded-op-rules",
        "Gives ops that XLA expands the sharding rule of their indexing maps.",
        "xla.prepare.populate_expanded_op_rules",
        tracked=True,
    ),
    PassRow(
        "xla-open-free-loop-values",
        "Inserts open constraints between sharded values and the loops that use them from outside.",
        "xla.prepare.loops",
        needs=ops_of("stablehlo.while"),
        tracked=True,
    ),
)
"""Before import: the changes that XLA makes to a program of JAX on its way to Shardy."""

WRITING = (
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
"""From sdy to XLA, GSPMD and other dialects."""
