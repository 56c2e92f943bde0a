"""The HBM that a program needs on a TPU whose VMEM may hold any of its values.

XLA:TPU has a value in VMEM if there is room, and if it is worth it; which ones is decided by estimated times.
So there are two figures: with those values there that have room, and with none. Source: the memory that
XLA:TPU assigned for 40 training and inference steps of real size on v6e and 16 on v5e.
Not here: programs whose values are all in VMEM (`beside_vmem.py`), which values have room (`fetched.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shardy_py.xla.buffers.beside_vmem import addresses
from shardy_py.xla.buffers.packing import Needed
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.spmd.program import Name

_LESS: Final = 0.85
_MORE: Final = 1.1
"""What is allocated over the figure with values in VMEM, and over that without: less for 4 of the 56
programs, and more for 5."""


def partly_in_vmem(
    stored: StoredBlock, room: int, results: Sequence[int], carried: Sequence[Name | None]
) -> Needed:
    """Returns the bytes that a program needs in HBM, and what is alive with no value in VMEM.

    stored: as compiled, without room in VMEM. room: the bytes there. results, carried: see
    `StoredBlock.assignment`.
    """
    apart = stored.assignment(results, carried)
    without, alive = apart.temporaries()
    there = stored.with_vmem(room).assignment(results, carried)
    within, _ = there.temporaries()
    most = max(without + addresses(apart), within + addresses(there))
    return Needed(int(_LESS * within), round(_MORE * most), alive)
