"""The kernels of XLA:GPU: which ops of a computation are computed together, and how long that takes.

Not here: the passes before (`xla/targets/`), the buffers of kernels (`xla/buffers/gpu/`).
"""
