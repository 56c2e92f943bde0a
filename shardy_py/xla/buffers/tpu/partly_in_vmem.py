"""The HBM that a program needs on a TPU whose VMEM may hold any of its values.

XLA:TPU has a value in VMEM if there is room, and if it is worth it; which ones is decided by estimated times.
So there are two figures: with those values there that have room, and with none. Source: the memory that
XLA:TPU assigned for 47 training and inference steps of real size on v6e and 21 on v5e.
Not here: programs whose values are all in VMEM (`beside_vmem.py`), which values have room (`fetched.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shardy_py.xla.buffers.beside_vmem import addresses
from shardy_py.xla.buffers.packing import NeededBytes
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.program import Name

_LESS: Final = 0.85
_MORE: Final = 1.1
"""The margins below the figure with values in VMEM, and above that without: of 65 of these programs XLA:TPU
allocates less for 3, and more for 2."""


def partly_in_vmem(
    stored: StoredBlock, room: int, results: Sequence[int], carried: Sequence[Name | None]
) -> NeededBytes:
    """Returns the bytes that a program needs in HBM, and what is alive with no value in VMEM.

    stored: as compiled, without room in VMEM. room: the bytes there. results, carried: see
    `StoredBlock.assignment`.
    """
    apart = stored.assignment(results, carried)
    without, alive = apart.temporaries()
    there = stored.with_vmem(room).assignment(results, carried)
    within, _ = there.temporaries()
    most = max(without + addresses(apart), within + addresses(there))
    return NeededBytes(int(_LESS * within), round(_MORE * most), alive)
