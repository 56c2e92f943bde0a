"""The steps of a computation as passes of XLA:TPU leave them that need all of them, in their order.

    steps = rewritten(steps, records, is_fixed)

Not here: what an op becomes by itself (`expanded.py`, `images.py`, `sends.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardy_py.xla.buffers.tpu.attention import with_attention
from shardy_py.xla.buffers.tpu.cumulated_rows import with_rows_copied
from shardy_py.xla.buffers.tpu.flat_gathers import with_flat_gathers
from shardy_py.xla.buffers.tpu.folded import with_folded
from shardy_py.xla.buffers.tpu.packed_bits import with_packed_bits
from shardy_py.xla.buffers.tpu.records import Records
from shardy_py.xla.buffers.tpu.repeated import with_repeats_stored
from shardy_py.xla.buffers.tpu.vector_products import with_vectors_multiplied
from shardy_py.xla.spmd.program import PlannedOp

_REWRITES = (
    with_folded,
    with_vectors_multiplied,
    with_attention,
    with_packed_bits,
    with_repeats_stored,
    with_rows_copied,
    with_flat_gathers,
)


def rewritten(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> Sequence[PlannedOp]:
    """Returns the steps as passes leave them. is_fixed: whether something else knows a step, which stays."""
    for rewrite in _REWRITES:
        steps = rewrite(steps, records, is_fixed)
    return steps
