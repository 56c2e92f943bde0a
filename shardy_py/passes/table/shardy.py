"""Passes of Shardy up to the propagated program."""

from __future__ import annotations

from shardy_py.passes import options
from shardy_py.passes.registration import ANY, FUNCTION, PassRow, ops_of

IMPORT = (
    PassRow(
        "symbol-dce",
        "Erases private functions and meshes that are never referenced.",
        "passes.import_.call_graph",
        anchor=ANY,
        tracked=True,
    ),
    PassRow(
        "sdy-lift-inlined-meshes",
        "Converts inlined meshes to mesh symbols, one per distinct mesh.",
        "passes.import_.meshes",
        options.LiftInlinedMeshesOptions,
        tracked=True,
    ),
    PassRow(
        "sdy-remove-size-one-axes",
        "Removes axes of size one from all shardings.",
        "passes.export.removal",
        tracked=True,
    ),
    PassRow(
        "sdy-propagate-sharding-from-func-to-call",
        "Copies the result shardings of functions to their calls without shardings.",
        "passes.export.function_shardings",
        needs=ops_of("func.call"),
        tracked=True,
    ),
    PassRow(
        "sdy-constant-or-scalar-splitter",
        "Clones constants and broadcast scalars so that each has a single use.",
        "passes.import_.constants",
        tracked=True,
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
        needs=ops_of("sdy.manual_computation"),
        tracked=True,
    ),
    PassRow(
        "sdy-add-data-flow-edges",
        "Inserts an op for each data-flow edge into and out of regions.",
        "passes.import_.data_flow_edges",
        tracked=True,
    ),
    PassRow(
        "sdy-flatten-call-graph",
        "Clones functions until each has a single call.",
        "passes.import_.call_graph",
        options.CopyOptions,
        needs=ops_of("func.call"),
        tracked=True,
    ),
    PassRow(
        "sdy-import-func-calls",
        "Converts calls to named computations that hold the body of the callee.",
        "passes.import_.named_computations",
        options.ImportFuncCallsOptions,
        needs=ops_of("func.call", "sdy.named_computation"),
        tracked=True,
    ),
    PassRow(
        "sdy-add-func-data-flow-edges",
        "Inserts an op for each edge between calls and functions.",
        "passes.import_.data_flow_edges",
        tracked=True,
    ),
    PassRow(
        "sdy-apply-sharding-constraints",
        "Copies the sharding of a constraint to its input where no other use conflicts.",
        "passes.import_.constraints",
        options.DebugInfoOptions,
        needs=ops_of("sdy.sharding_constraint", "sdy.manual_computation"),
        tracked=True,
    ),
    PassRow(
        "sdy-sharding-group-import",
        "Merges and validates sharding groups that share a member.",
        "passes.import_.constraints",
        needs=ops_of("sdy.sharding_group"),
        tracked=True,
    ),
    PassRow(
        "sdy-pre-order-funcs",
        "Sorts functions so that callers precede callees.",
        "passes.import_.call_graph",
        tracked=True,
    ),
)
"""Prepares the user's program for propagation."""

PROPAGATION = (
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
        tracked=True,
    ),
    PassRow(
        "sdy-aggressive-propagate",
        "Propagates shardings and resolves conflicts between operands.",
        "passes.propagate.propagating",
        options.AggressivePropagateOptions,
        tracked=True,
    ),
    PassRow(
        "sdy-op-priority-propagate",
        "Propagates aggressively, through pass-through ops first.",
        "passes.propagate.propagating",
        options.OpPriorityPropagateOptions,
        tracked=True,
    ),
    PassRow(
        "sdy-user-priority-propagate",
        "Propagates by op priority within each user priority, p0 first.",
        "passes.propagate.propagating",
        options.UserPriorityPropagateOptions,
        tracked=True,
    ),
)
"""Each strategy includes the one before."""
