"""`xla-sdy-round-trip-shard-map-export`: replaces manual computations by calls that XLA's HLO preserves.

    before  %3 = sdy.manual_computation(%0) in_shardings=[...] out_shardings=[...] manual_axes={...} { ... }
    after   %1 = custom_call @xla.sdy.GlobalToLocalShape(%0) {... xla.sdy.in_shardings, xla.sdy.manual_axes}
            %2 = call @xla.sdy.manual_computation_body(%1)
            %3 = custom_call @xla.sdy.LocalToGlobalShape(%2) {... xla.sdy.out_shardings, xla.sdy.manual_axes}

The inverse: `xla-sdy-round-trip-shard-map-import`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from shardy_py.dialects.sdy import ManualComputationOp
from shardy_py.graph.movements import replace_by_values
from shardy_py.graph.nesting import innermost_first
from shardy_py.graph.symbols import Symbols
from shardy_py.gspmd.custom_calls import custom_call
from shardy_py.gspmd.encoding import (
    BODY_BORDERS,
    GLOBAL_TO_LOCAL,
    INLINEABLE,
    LOCAL_TO_GLOBAL,
    MANUAL_COMPUTATION_BODY,
    with_frontend,
)
from shardy_py.gspmd.shard_maps import outline_body
from shardy_py.ir import find_ops, place_before


def xla_sdy_round_trip_shard_map_export(module: ModuleOp) -> None:
    """Replaces manual computations by calls between custom calls that encode them."""
    symbols = Symbols(module)
    for computation in innermost_first(find_ops(module, ManualComputationOp.name)):
        arguments = computation.regions[0].blocks[0].args
        local = _border(computation, GLOBAL_TO_LOCAL, computation.operands, arguments)
        attributes = with_frontend(computation.attributes, {INLINEABLE: StringAttr("false")})
        call = outline_body(computation, MANUAL_COMPUTATION_BODY, local, symbols, attributes)
        made = _border(computation, LOCAL_TO_GLOBAL, call.results, computation.results)
        replace_by_values(computation, made)


def _border(
    computation: Operation, target: str, operands: Sequence[SSAValue], like: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """The results, with types as of `like`, of a new custom call before the computation; () without any."""
    if not operands:
        return ()
    entries = {entry.name: computation.properties[name] for entry, name in BODY_BORDERS[target].items()}
    types = [value.type for value in like]
    call = custom_call(target, operands, types, with_frontend({}, entries), computation.location)
    place_before(call, computation)
    return call.results
