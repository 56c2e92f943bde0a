"""The values that XLA:TPU stores for a program as its passes leave it.

stored_block(on_chip.plan(function).body, setting, issued).assignment(sizes)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from shardy_py.xla.buffers.local_sizes import LocalSizes
from shardy_py.xla.buffers.settings import CompileSetting
from shardy_py.xla.buffers.stored import StoredBlock
from shardy_py.xla.buffers.tpu.local_block import local_block
from shardy_py.xla.targets.combining import Issued
from shardy_py.xla.targets.model import DeviceBody


def stored_block(body: DeviceBody, setting: CompileSetting, issued: Iterable[Issued]) -> StoredBlock:
    """Returns the values of the entry computation of a program. issued: its collective ops."""
    local = local_block(body, sparse_cores=setting.sparse_cores)
    joined = {id(part.collective): id(op) for op in issued if len(op.parts) > 1 for part in op.parts}
    return StoredBlock(
        *(
            local.block,
            {**local.sent},
            dict[Hashable, int](),
            replace(setting, sends_apart=True),
            LocalSizes(setting.target),
        ),
        joined=joined,
        rounded=local.rounded,
    )
