"""The program of one TPU as steps: with the collectives, parts, offsets and copies that XLA:TPU has, too.

Not here: the program before (`xla/targets/`), which values are stored, and how long (`xla/buffers/`).
"""

from shardy_py.xla.buffers.tpu.stored_steps import stored_block

__all__ = ["stored_block"]
