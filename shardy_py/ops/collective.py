"""Ops that exchange tensors between devices, as seen from one device's tensors.

What another device holds stands in the same place of its tensor; dimensions that are cut or joined over
devices are read whole. Several operands are exchanged alike.
"""

from __future__ import annotations

from shardy_py.indexing import range_var
from shardy_py.ops.elementwise import pointwise
from shardy_py.ops.reads import Maps, OpSpec, Reads, all_results, coordinates, domain_of, integer, shape_of
from shardy_py.ops.record import OpRecord


def _exchanged(*attributes: str) -> Maps:
    def maps(record: OpRecord) -> tuple[Reads, ...]:
        shape = shape_of(record.operands[0])
        moved = tuple(dict.fromkeys(integer(record.attributes, name) for name in attributes))
        domain = domain_of(record, ranges=tuple(shape[d] for d in moved))
        point = list(coordinates(shape))
        for number, position in enumerate(moved):
            point[position] = range_var(number)
        operands = range(len(record.operands))
        beside = {(operand, d): d for operand in operands for d in moved}
        read = domain.reading(tuple(point))
        whole = frozenset(range(len(moved)))
        return (Reads(all_results(record), (read,) * len(operands), whole, beside),)

    maps.__doc__ = "Pointwise but for the dimensions cut or joined, which are read whole."
    return maps


ROWS = (
    OpSpec("stablehlo.all_reduce", pointwise),
    OpSpec("stablehlo.collective_broadcast", pointwise),
    OpSpec("stablehlo.collective_permute", pointwise),
    OpSpec("stablehlo.collective_reduce", pointwise),
    OpSpec("stablehlo.cross-replica-sum", pointwise),
    OpSpec("stablehlo.all_gather", _exchanged("all_gather_dim")),
    OpSpec("stablehlo.all_to_all", _exchanged("split_dimension", "concat_dimension")),
    OpSpec("stablehlo.reduce_scatter", _exchanged("scatter_dimension")),
)
