"""The compiler that a program is from: XLA's for CPUs, GPUs or TPUs, by what only it writes."""

from __future__ import annotations

from typing import Literal

from shardy_py.hlo.text import HloModule, Shape

Platform = Literal["cpu", "gpu", "tpu"]
_OF_GPU = ("operation_queue_id", "collective_backend_config", "fusion_backend_config", "gpu_backend_config")
_OF_TPU = ("flag_configs", "window_config", "estimated_cycles")


def platform_of(module: HloModule) -> Platform:
    """Returns the platform that a module was compiled for: of TPUs arrays have tiles, of GPUs kernels."""
    for computation in module.computations:
        for instruction in computation.instructions:
            config = str(instruction.attributes.get("backend_config", ""))
            if any(word in config for word in _OF_TPU) or _has_tiles(instruction.shape):
                return "tpu"
            if any(word in config for word in _OF_GPU):
                return "gpu"
    return "cpu"


def _has_tiles(shape: Shape) -> bool:
    return any(leaf.layout is not None and bool(leaf.layout.tiles) for leaf in shape.leaves())
