"""The costs of windows of XLA:TPU, from the cycles of `tpu_cycles.EXPERIMENTS`.

A product of one window takes the cycles of its arithmetic, of the bytes of operands and result, of two
windows that are read and one that is written, and of a step. So the difference of two such products of
different sizes is that of arithmetic and bytes; that of one whose left operand is fetched before, and one
where it is not, is a window that is read. Where matrix units take longest, one more window adds its
arithmetic and a step. Products of 256 and 512 in each dimension have one window on each core; those of
2,048 x 4,096 have windows of equal size for all numbers of columns.

>>> [round(each * 1e9) for each in costs_of("v6e")[1:]]
[686, 1200, 585]
"""

from __future__ import annotations

import json
from math import log2
from typing import NamedTuple

from shardy_py.hardware import hardware_of
from tests.report.time.tpu_cycles import CLOCKS, CYCLES

SMALL, LARGE = 256, 512
WINDOWS_ADDED = {"v5e": 16, "v5p": 8, "v6e": 4}
"""By how many windows a core computes more columns of 2048 x 4096 x 2048 than of half as many."""


class Costs(NamedTuple):
    """As in `shardy_py.hardware.WindowCosts`."""

    bytes_per_second: float
    read_seconds: float
    write_seconds: float
    step_seconds: float


def costs_of(chip: str) -> Costs:
    """Returns the costs of windows on a chip: v5e, ..."""
    device = hardware_of(f"tpu-{chip}")
    assert device.windows is not None
    cores, clock = device.windows.cores, CLOCKS[chip]
    flops = 2.0 ** round(log2(device.peak_flops / clock)) * clock  # peak rates are rounded
    seconds = {name: cycles / clock for name, cycles in json.loads(CYCLES.read_text())[chip].items()}
    # Each core reads the left operand, and its part of the right one; it writes its part of the result.
    sizes = SMALL, LARGE
    small, large = (seconds[f"product {n} {n} {n} f32 read"] - 2 * n**3 / flops for n in sizes)
    moved, more = (4 * (1 + 2 / cores) * n**2 for n in sizes)
    per_byte = (large - small) / (more - moved)
    fetched = seconds[f"product {SMALL} {SMALL} {SMALL} f32"] - 2 * SMALL**3 / flops
    read = small - fetched - 4 * SMALL**2 * per_byte
    longer, shorter = (seconds[f"product 2048 4096 {columns} bf16"] for columns in (2048, 1024))
    step = (longer - shorter - 2 * 2048 * 4096 * 1024 / flops) / WINDOWS_ADDED[chip]
    return Costs(cores / per_byte, read, small - moved * per_byte - 2 * read - step, step)
