"""The compilers of devices on a planned program: its collectives after XLA's later passes.

`build.py` reads a planned program as a graph of what each device runs (`model.py`), each module of passes
changes it as a pass of XLA does, `gpu/` makes the kernels of XLA:GPU, whose collectives are combined after
fusion, and `compiled.py` runs the passes of a device in the order of its compiler.
docs/targets.md describes them. Not here: the plan of the partitioner (`xla/spmd/`), memory (`xla/buffers/`).
"""
