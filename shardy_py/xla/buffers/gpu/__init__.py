"""The memory that XLA:GPU allocates: the kernels of a program, their order, their buffers.

Not here: the program before (`xla/targets/`), what hosts and TPUs allocate (`xla/buffers/`).
"""
