"""Ops whose parameters are operands: their maps for static types.

They have no sharding rule. With a static result type, a dynamic reshape is a reshape that also reads its
operand of sizes.
"""

from __future__ import annotations

from dataclasses import replace

from shardy_py.indexing import Interval, runtime
from shardy_py.ops.movement import broadcast_in_dim, reshape
from shardy_py.ops.reads import (
    Domain,
    Maps,
    Reads,
    coordinates,
    domain_of,
    extents,
    integer,
    read_whole,
    shape_of,
)
from shardy_py.ops.record import OpRecord
from shardy_py.ops.spec import OpSpec


def _with_sizes(static: Maps) -> Maps:
    """The maps of the static op, with the last operand, a vector of sizes, read whole."""

    def maps(record: OpRecord) -> tuple[Reads, ...]:
        (reads,) = static(replace(record, operands=record.operands[:-1]))
        sizes = shape_of(record.operands[-1])
        return (Reads((0,), (*reads.operands, *read_whole(domain_of(record, 0, sizes), (sizes,)))),)

    return maps


def dynamic_iota(record: OpRecord) -> tuple[Reads, ...]:
    """Only the sizes are read."""
    sizes = shape_of(record.operands[0])
    return (Reads((0,), read_whole(domain_of(record, 0, sizes), (sizes,))),)


def torch_index_select(record: OpRecord) -> tuple[Reads, ...]:
    """Along `dim`, the operand is read at the index at the result's coordinates."""
    shape, index = shape_of(record.operands[0]), shape_of(record.operands[1])
    along, batches = integer(record.attributes, "dim"), integer(record.attributes, "batch_dims")
    looked_up = len(index) - batches
    result = coordinates(shape_of(record.results[0]))
    domain = Domain(extents(shape_of(record.results[0])), (), (Interval(0, shape[along] - 1),))
    point = (*result[:along], runtime(0), *result[along + looked_up :])
    where = (*result[:batches], *result[along : along + looked_up])
    return (Reads((0,), (domain.reading(point), domain.reading(where))),)


ROWS = (
    OpSpec("stablehlo.dynamic_broadcast_in_dim", closer=_with_sizes(broadcast_in_dim)),
    OpSpec("stablehlo.dynamic_iota", closer=dynamic_iota),
    OpSpec("stablehlo.dynamic_reshape", closer=_with_sizes(reshape)),
    OpSpec("stablehlo.torch_index_select", closer=torch_index_select),
    *(OpSpec(f"stablehlo.{name}") for name in ("dynamic_gather", "dynamic_pad", "real_dynamic_slice")),
)
