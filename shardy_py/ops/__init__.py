"""Ops as data: the record of an op, and the table that states what each op reads as indexing maps.

Imports `indexing` only. What follows for sharding is in `rules/`.
"""

from shardy_py.ops.reads import Domain, OpSpec, Reads, everything
from shardy_py.ops.record import OpRecord, TensorType
from shardy_py.ops.table import TABLE, indexing_maps, is_elementwise, reads_of, register, row_name, row_of

__all__ = [
    "TABLE",
    "Domain",
    "OpRecord",
    "OpSpec",
    "Reads",
    "TensorType",
    "everything",
    "indexing_maps",
    "is_elementwise",
    "reads_of",
    "register",
    "row_name",
    "row_of",
]
