"""A proof of a program on its own shapes: exact, or in floats.

Quantized types are proven in floats, as their integers are rounded floats. So are programs with custom calls
whose functions were registered, and other ops of users of which nothing more is known: those functions are
written for floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.record import record_of
from shardy_py.ops.compute import BUILT_IN, COMPUTED, Array
from shardy_py.ops.custom_calls import CALL
from shardy_py.ops.table import row_name
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.answer import Answer
from shardy_py.run.proof.exact import prove_exactly
from shardy_py.run.proof.exact_runs import rounds_of
from shardy_py.run.proof.field.facet import MEANINGS
from shardy_py.run.proof.options import DEFAULT, ProofOptions
from shardy_py.run.proof.proving import prove_in_floats
from shardy_py.run.proof.widening import can_widen
from shardy_py.run.proof.work import work_of


def prove_as_is(
    partitioned: Partitioned, options: ProofOptions = DEFAULT, inputs: Sequence[Array] = ()
) -> Answer:
    """Returns whether all devices compute what the whole program does, on its own shapes.

    inputs: of the whole program, instead of random ones.

    Raises:
        ShardyError: one of the programs cannot run.
    """
    reason = "asked for" if options.floats else why_in_floats(partitioned.whole)
    if reason:
        return replace(prove_in_floats(partitioned, options, inputs), why_floats=reason)
    return prove_exactly(partitioned, options, inputs, rounds_of(work_of(partitioned.whole).elements))


def why_in_floats(module: ModuleOp) -> str:
    """Returns why a program cannot be proven exactly; "" if it can."""
    if not can_widen(module):
        return "quantized types"
    for name in dict.fromkeys(row_name(record_of(op)) for op in walk_pre_order(module)):
        is_of_user = name in COMPUTED.rows and name not in BUILT_IN
        if is_of_user and (name.startswith(CALL) or MEANINGS.of(name) is MEANINGS.default):
            return f"the function of {name.removeprefix(CALL)} is one of floats"
    return ""
