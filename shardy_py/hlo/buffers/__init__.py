"""The memory of a compiled program on a device: by its schedule, or by the buffers that XLA assigned.

    memory_of(read_module(text))
    read_assignment(text)

Not here: what was estimated (`xla/buffers/`).
"""

from shardy_py.hlo.buffers.assignment import read_assignment
from shardy_py.hlo.buffers.model import AllocatedMemory, HeldBuffer
from shardy_py.hlo.buffers.schedule import memory_of

__all__ = ["AllocatedMemory", "HeldBuffer", "memory_of", "read_assignment"]
