"""Which ops random programs have: every row of the op table has a family here, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.ops import TABLE, collective, custom_calls
from tests.differential import (
    call_ops,
    elementwise_ops,
    flow_ops,
    running_flow,
    running_ops,
    shape_ops,
    window_ops,
)
from tests.differential.flow_ops import Family
from tests.differential.writer import Scope, Writer

EVERYWHERE = (
    elementwise_ops.FAMILIES
    | shape_ops.FAMILIES
    | window_ops.FAMILIES
    | call_ops.FAMILIES
    | flow_ops.IN_REGIONS
)
"""Families that may add an op anywhere."""

NO_QUANT = "jaxlib's Shardy does not know the types of the quant dialect"
NEWER = "jaxlib's StableHLO does not have it yet"
EDGE = "sdy-add-data-flow-edges and sdy-add-func-data-flow-edges make it: the modes that import have it"
COLLECTIVE = "sdy-reshard-to-collectives makes it: the mode `collectives` has it"
REASONS: dict[str, str] = {
    "stablehlo.uniform_quantize": NO_QUANT,
    "stablehlo.uniform_dequantize": NO_QUANT,
    "stablehlo.collective_reduce": NEWER,
    "linalg.generic": "C++ Shardy has no rule for it",
    "stablehlo.composite": "to Shardy it is a custom call without a rule, and a reference to a function",
    **dict.fromkeys(
        (name for name in TABLE if name.startswith(("check.", "interpreter."))),
        "jaxlib lacks the dialects of StableHLO's interpreter",
    ),
    "sdy.data_flow_edge": EDGE,
    "sdy.func_data_flow_edge": EDGE,
    **{
        f"sdy.{name}": COLLECTIVE
        for name in (
            "all_gather",
            "all_reduce",
            "all_slice",
            "all_to_all",
            "collective_permute",
            "reduce_scatter",
            "replicated_to_unreduced",
            "sharded_to_unreduced",
        )
    },
    **dict.fromkeys(
        (f"stablehlo.custom_call@{target}" for target in (*custom_calls.WITHOUT_RULE, collective.RAGGED)),
        "to Shardy it is a custom call without a rule, as one of an unknown target",
    ),
}
"""Rows of the op table, besides those of HLO, that programs are never given, and why."""
ALWAYS = ("builtin.module", "func.func", "func.return", "sdy.mesh")
"""Rows that every program has."""


CANNOT_RUN = frozenset(
    (
        *(call_ops.known_call, call_ops.unknown_call, call_ops.collective, call_ops.host_transfer),
        *(call_ops.tuples, flow_ops.asynchronous),
    )
)
"""Families of ops that no program on one logical device runs, or whose operands propagation refuses."""


def any_op(w: Writer, scope: Scope) -> None:
    """Adds an op, one without regions of its own to a region."""
    weights = {family: weight for family, (weight, _) in EVERYWHERE.items()}
    if scope.depth == 1:
        if w.has_regions:
            weights |= {family: weight for family, (weight, _) in flow_ops.AT_TOP.items()}
        for family, (option, weight, _) in flow_ops.OPTIONAL.items():
            if getattr(w.width, option):
                weights[family] = weight
    if w.width.runs:
        weights = {family: weight for family, weight in weights.items() if family not in CANNOT_RUN}
        weights |= {
            family: weight for family, (weight, _) in (running_ops.FAMILIES | running_flow.IN_REGIONS).items()
        }
        if scope.depth == 1 and w.has_regions:
            weights |= {family: weight for family, (weight, _) in running_flow.AT_TOP.items()}
    w.rng.choices(list(weights), list(weights.values()))[0](w, scope)


def rows() -> dict[Family, tuple[str, ...]]:
    """The rows of the op table by family."""
    optional = {family: names for family, (_, _, names) in flow_ops.OPTIONAL.items()}
    return {family: names for family, (_, names) in (EVERYWHERE | flow_ops.AT_TOP).items()} | optional


def generated(families: Iterable[Family]) -> set[str]:
    """The rows that some family adds ops of."""
    table = rows()
    return {name for family in families for name in table[family]}


flow_ops.add_any.append(any_op)
