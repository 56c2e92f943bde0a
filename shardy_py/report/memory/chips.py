"""The memory of accelerators, and the layouts of their arrays.

>>> CHIPS["tpu-v5p"].memory_bytes // 2**30, CHIPS["tpu-v5p"].target
(95, 'tpu')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from shardy_py.layout.formats import Target


@dataclass(frozen=True, slots=True)
class Chip:
    """A device as JAX counts them: a core of TPU v2 and v3, else a chip.

    memory_bytes: of its high-bandwidth memory. target: the layouts of arrays. source: of the figure.
    """

    name: str
    memory_bytes: int
    target: Target
    source: str


_CLOUD = "https://cloud.google.com/tpu/docs"
_NVIDIA = "https://www.nvidia.com/en-us/data-center"

CHIPS: dict[str, Chip] = {
    name: Chip(name, gibibytes * 2**30, target, source)
    for name, gibibytes, target, source in cast(
        "tuple[tuple[str, int, Target, str], ...]",
        (
            ("tpu-v2", 8, "tpu", f"{_CLOUD}/v2: 16 GiB a chip of two cores"),
            ("tpu-v3", 16, "tpu", f"{_CLOUD}/v3: 32 GiB a chip of two cores"),
            ("tpu-v4", 32, "tpu", f"{_CLOUD}/v4"),
            ("tpu-v5e", 16, "tpu", f"{_CLOUD}/v5e"),
            ("tpu-v5p", 95, "tpu", f"{_CLOUD}/v5p"),
            ("tpu-v6e", 32, "tpu", f"{_CLOUD}/v6e"),
            ("tpu7x", 192, "tpu", f"{_CLOUD}/tpu7x"),
            ("a100-40gb", 40, "linear", f"{_NVIDIA}/a100"),
            ("a100-80gb", 80, "linear", f"{_NVIDIA}/a100"),
            ("h100", 80, "linear", f"{_NVIDIA}/h100"),
            ("h200", 141, "linear", f"{_NVIDIA}/h200"),
        ),
    )
}
"""The devices by name."""
