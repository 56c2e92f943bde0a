"""The way in which the values of a program are stored."""

from __future__ import annotations

from math import inf

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.formats import Target


@dataclass(frozen=True, slots=True)
class CompileSetting:
    """How programs are compiled.

    on_host: by XLA's backend for the host: ops start as early as they can, products are of f32, all-reduces
    are combined; otherwise ops run so that little memory is needed. target: the layouts of arrays.
    as_compiled: the steps are those of the program as XLA:TPU's passes leave it. room_in_vmem: the bytes of
    VMEM for values; any_in_vmem: whether any op may make a value there, not only fusions without a product.
    sparse_cores: whether there are cores for sparse data. on_tpu: as XLA:TPU stores values, which the report
    on time does not follow. flops_per_byte: how many products run while a byte of memory is read.
    sends_apart: whether collectives are steps of their own. moved_while_kept: the bytes that ops can read and
    write at most while a value stays in VMEM.
    """

    on_host: bool
    target: Target
    as_compiled: bool = False
    room_in_vmem: int = 0
    any_in_vmem: bool = False
    sparse_cores: bool = False
    on_tpu: bool = False
    flops_per_byte: float = inf
    sends_apart: bool = False
    moved_while_kept: float = inf
