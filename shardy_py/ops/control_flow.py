"""Ops that structure a program: control flow, calls, tuples, tokens, barriers, data-flow edges.

Most have no maps: what flows through them is described by the columns `control`, `storage` and `is_wire`.
The maps of barriers and edges serve analyses only.
"""

from __future__ import annotations

from shardy_py.ops.elementwise import pointwise
from shardy_py.ops.passing import each_its_own, nothing_read
from shardy_py.ops.reads import names
from shardy_py.ops.spec import Control, OpSpec, RuleSource, Storage

_NONE, _ALIAS = RuleSource.NONE, Storage.ALIAS

WITHOUT_RULE = names("""stablehlo.after_all stablehlo.create_token stablehlo.infeed stablehlo.outfeed
    stablehlo.partition_id stablehlo.recv stablehlo.return stablehlo.send
    sdy.mesh sdy.return sdy.sharding_group func.return""")
UNSTATED = names("stablehlo.async_done stablehlo.replica_id chlo.scan")

ROWS = (
    *(OpSpec(name, rule_source=_NONE) for name in WITHOUT_RULE),
    *map(OpSpec, UNSTATED),
    OpSpec("builtin.module", rule_source=_NONE, control=Control.DEFINITION),
    OpSpec("func.call", rule_source=_NONE, control=Control.CALL),
    OpSpec("func.func", rule_source=_NONE, control=Control.DEFINITION),
    OpSpec("stablehlo.async_start", control=Control.ASYNC),
    OpSpec("stablehlo.case", rule_source=_NONE, control=Control.BRANCHES),
    OpSpec("stablehlo.composite", control=Control.CALL),
    OpSpec("stablehlo.custom_call", context="context.feeds_rng_bit_generator"),
    OpSpec("stablehlo.get_dimension_size", closer=nothing_read),
    OpSpec("stablehlo.get_tuple_element", rule_source=_NONE, is_wire=True, storage=Storage.ELEMENT),
    OpSpec("stablehlo.if", control=Control.BRANCHES),
    OpSpec(
        "stablehlo.optimization_barrier", closer=each_its_own, rule_source=_NONE, is_wire=True, storage=_ALIAS
    ),
    OpSpec("stablehlo.tuple", is_wire=True),
    OpSpec("stablehlo.while", rule_source=_NONE, control=Control.LOOP),
    OpSpec("sdy.manual_computation", rule_source=_NONE, control=Control.MANUAL),
    OpSpec("sdy.named_computation", rule_source=_NONE, control=Control.REGION),
    OpSpec("sdy.data_flow_edge", closer=each_its_own, rule_source=_NONE, is_wire=True, storage=_ALIAS),
    OpSpec("sdy.func_data_flow_edge", closer=each_its_own, rule_source=_NONE, is_wire=True, storage=_ALIAS),
    OpSpec("sdy.propagation_barrier", pointwise, is_elementwise=True, rule_source=_NONE, storage=_ALIAS),
    OpSpec(
        "sdy.sharding_constraint",
        pointwise,
        is_elementwise=True,
        storage=_ALIAS,
        # Elementwise, but it has an effect on the sharding of its operand.
        preserves_constants=False,
    ),
)
