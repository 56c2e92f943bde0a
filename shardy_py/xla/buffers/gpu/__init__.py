"""The memory that XLA:GPU allocates: the order of its kernels, their buffers.

Not here: the program before and its kernels (`xla/targets/`), what hosts and TPUs allocate (`xla/buffers/`).
"""
