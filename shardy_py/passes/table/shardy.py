"""Passes of Shardy up to the propagated program."""

from __future__ import annotations

from shardy_py.passes import options
from shardy_py.passes.registration import ANY, FUNCTION, NO_OPS, PassRow, ops_of

IMPORT = (
    PassRow(
        "symbol-dce",
        "Erases private functions and meshes that are never referenced.",
        "passes.import_.call_graph",
        anchor=ANY,
        adds=NO_OPS,
    ),
    PassRow(
        "sdy-lift-inlined-meshes",
        "Converts inlined meshes to mesh symbols, one per distinct mesh.",
        "passes.import_.meshes",
        options.LiftInlinedMeshesOptions,
        adds=ops_of("sdy.mesh"),
    ),
    PassRow(
        "sdy-remove-size-one-axes",
        "Removes axes of size one from all shardings.",
        "passes.export.removal",
        adds=NO_OPS,
    ),
    PassRow(
        "sdy-propagate-sharding-from-func-to-call",
        "Copies the result shardings of functions to their calls without shardings.",
        "passes.export.function_shardings",
        needs=ops_of("func.call"),
        adds=NO_OPS,
    ),
    PassRow(
        "sdy-constant-or-scalar-splitter",
        "Clones constants and broadcast scalars so that each has a single use.",
        "passes.import_.constants",
        adds=ops_of("sdy.constant", "func.func"),
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
        adds=NO_OPS,
    ),
    PassRow(
        "sdy-add-data-flow-edges",
        "Inserts an op for each data-flow edge into and out of regions.",
        "passes.import_.data_flow_edges",
        adds=ops_of("sdy.data_flow_edge"),
    ),
    PassRow(
        "sdy-flatten-call-graph",
        "Clones functions until each has a single call.",
        "passes.import_.call_graph",
        options.CopyOptions,
        needs=ops_of("func.call"),
        adds=ops_of("func.func"),
    ),
    PassRow(
        "sdy-import-func-calls",
        "Converts calls to named computations that hold the body of the callee.",
        "passes.import_.named_computations",
        options.ImportFuncCallsOptions,
        needs=ops_of("func.call", "sdy.named_computation"),
        adds=ops_of("sdy.named_computation", "sdy.return", "sdy.data_flow_edge"),
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
        needs=ops_of("sdy.sharding_constraint", "sdy.manual_computation"),
        adds=ops_of("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-sharding-group-import",
        "Merges and validates sharding groups that share a member.",
        "passes.import_.constraints",
        needs=ops_of("sdy.sharding_group"),
        adds=NO_OPS,
    ),
    PassRow(
        "sdy-pre-order-funcs",
        "Sorts functions so that callers precede callees.",
        "passes.import_.call_graph",
        adds=NO_OPS,
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
        adds=ops_of("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-aggressive-propagate",
        "Propagates shardings and resolves conflicts between operands.",
        "passes.propagate.propagating",
        options.AggressivePropagateOptions,
        adds=ops_of("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-op-priority-propagate",
        "Propagates aggressively, through pass-through ops first.",
        "passes.propagate.propagating",
        options.OpPriorityPropagateOptions,
        adds=ops_of("sdy.sharding_constraint"),
    ),
    PassRow(
        "sdy-user-priority-propagate",
        "Propagates by op priority within each user priority, p0 first.",
        "passes.propagate.propagating",
        options.UserPriorityPropagateOptions,
        adds=ops_of("sdy.sharding_constraint"),
    ),
)
"""Each strategy includes the one before."""
