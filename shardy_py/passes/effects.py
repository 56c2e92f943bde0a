"""Which ops passes work on and which they add, so that passes without an op to work on need not run.

`name: needs -> adds`: without any of the ops that it needs, and without options, a pass changes nothing; of
the ops that a program does not hold, it adds these at most. A pass that is not listed may do anything.
"""

from __future__ import annotations

_ROWS = """
xla-drop-invariant-loop-values: stablehlo.while ->
xla-erase-dead-ops: ->
xla-order-ops: ->
xla-populate-expanded-op-rules: ->
xla-open-free-loop-values: stablehlo.while -> sdy.sharding_constraint
symbol-dce: ->
sdy-lift-inlined-meshes: -> sdy.mesh
sdy-remove-size-one-axes: ->
sdy-propagate-sharding-from-func-to-call: func.call ->
sdy-constant-or-scalar-splitter: -> sdy.constant func.func
sdy-manual-axes-cleanup: sdy.manual_computation ->
sdy-add-data-flow-edges: -> sdy.data_flow_edge
sdy-flatten-call-graph: func.call -> func.func
sdy-import-func-calls: func.call sdy.named_computation -> sdy.named_computation sdy.return sdy.data_flow_edge
sdy-apply-sharding-constraints: sdy.sharding_constraint sdy.manual_computation -> sdy.sharding_constraint
sdy-sharding-group-import: sdy.sharding_group ->
sdy-pre-order-funcs: ->
sdy-basic-propagate: -> sdy.sharding_constraint
sdy-aggressive-propagate: -> sdy.sharding_constraint
sdy-op-priority-propagate: -> sdy.sharding_constraint
sdy-user-priority-propagate: -> sdy.sharding_constraint
sdy-export-named-computations: sdy.named_computation -> func.func func.call func.return
sdy-propagate-to-func-results: ->
sdy-unflatten-call-graph: ->
sdy-insert-func-call-reshards: func.call -> sdy.reshard
sdy-constant-or-scalar-merger: ->
sdy-sink-data-flow-edges: sdy.data_flow_edge ->
sdy-sink-func-data-flow-edges: sdy.func_data_flow_edge ->
sdy-remove-sharding-groups: sdy.sharding_group ->
sdy-sharding-constraint-to-reshard: sdy.sharding_constraint -> sdy.reshard
sdy-update-non-divisible-input-output-shardings: ->
sdy-remove-sub-axes-in-input-output-shardings: ->
sdy-close-shardings: ->
sdy-verify-unreduced-axes: ->
sdy-drop-sharding-rules: ->
"""


def _effects(row: str) -> tuple[str, tuple[frozenset[str], frozenset[str]]]:
    name, _, rest = row.partition(":")
    needs, adds = rest.split("->")
    return name, (frozenset(needs.split()), frozenset(adds.split()))


EFFECTS = dict(map(_effects, _ROWS.strip().splitlines()))
"""By pass: the ops that it needs (none: it always runs) and those that it may add."""
