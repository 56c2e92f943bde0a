"""Ops without operands to map, and those of which nothing is stated.

Constants and random numbers read no tensor, or a state that is read whole. Control flow, calls, tokens and
ops whose shapes are known only at run time have rows without maps: they are known, and nothing follows.
"""

from __future__ import annotations

from shardy_py.indexing import IndexMap, range_var
from shardy_py.ops.reads import OpSpec, Reads, domain_of, names, shape_of
from shardy_py.ops.record import OpRecord

UNSTATED = names("""after_all async_done async_start case composite create_token custom_call
    dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad dynamic_reshape
    einsum get_dimension_size get_tuple_element if infeed optimization_barrier outfeed partition_id
    real_dynamic_slice recv replica_id return send torch_index_select tuple unary_einsum while""")
CHLO_UNSTATED = ["ragged_dot", "scan"]
SDY = names("""all_gather all_reduce all_slice all_to_all collective_permute data_flow_edge
    func_data_flow_edge
    manual_computation mesh named_computation reduce_scatter
    replicated_to_unreduced return
    sharded_to_unreduced sharding_group""")
OTHERS = ["builtin.module", "func.call", "func.func", "func.return"]


def no_operands(record: OpRecord) -> tuple[Reads, ...]:
    """Nothing is read."""
    return (Reads((0,), ()),)


def scalars_only(record: OpRecord) -> tuple[Reads, ...]:
    """Each operand is read whole by each element."""
    shapes = [shape_of(t) for t in record.operands]
    domain = domain_of(record, ranges=tuple(size for shape in shapes for size in shape))
    start = 0
    read: list[IndexMap] = []
    for shape in shapes:
        read.append(domain.reading(tuple(range_var(start + i) for i in range(len(shape)))))
        start += len(shape)
    return (Reads((0,), tuple(read), frozenset(range(start))),)


def rng_bit_generator(record: OpRecord) -> tuple[Reads, ...]:
    """The next state and every random element read the whole state."""
    state = shape_of(record.operands[0])
    point = tuple(map(range_var, range(len(state))))
    whole = frozenset(range(len(state)))
    return (
        Reads((0,), (domain_of(record, 0, state).reading(point),), whole, {(0, d): d for d in whole}),
        Reads((1,), (domain_of(record, 1, state).reading(point),), whole),
    )


ROWS = (
    *(
        OpSpec(name, no_operands)
        for name in ("stablehlo.constant", "stablehlo.iota", "sdy.constant", "chlo.constant")
    ),
    OpSpec("stablehlo.rng", scalars_only),
    OpSpec("stablehlo.rng_bit_generator", rng_bit_generator),
    *(OpSpec(f"stablehlo.{name}") for name in UNSTATED),
    *(OpSpec(f"chlo.{name}") for name in CHLO_UNSTATED),
    *(OpSpec(f"sdy.{name}") for name in SDY),
    *map(OpSpec, OTHERS),
)
