"""The program of one TPU as steps: with the collectives, parts, offsets and copies that XLA:TPU has, too.

`stored_steps.py` makes it. Not here: the program before (`xla/targets/`), which values are stored, and how
long (`xla/buffers/`).
"""
