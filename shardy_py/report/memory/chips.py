"""The devices whose memory is compared with the estimate.

>>> CHIPS["tpu-v5p"].memory_bytes // 2**30, CHIPS["tpu-v5p"].target
(95, 'tpu')
"""

from __future__ import annotations

from collections.abc import Mapping

from shardy_py.hardware import HARDWARE, Hardware

Chip = Hardware
"""A device as JAX counts them."""

CHIPS: Mapping[str, Chip] = {name: each for name, each in HARDWARE.items() if name != "cpu"}
"""The accelerators by name; the memory of a host is not known."""
