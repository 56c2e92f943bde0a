"""The devices whose memory is compared with the estimate.

>>> CHIPS["tpu-v5p"].memory_bytes // 2**30, CHIPS["tpu-v5p"].target
(95, 'tpu')
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from shardy_py.hardware import (
    HARDWARE,
    AxisPlacement,
    Hardware,
    known_hardware,
    placement_of,
    unknown_hardware,
)
from shardy_py.indexing.layout.formats import TARGETS, Target

Chip = Hardware
"""A device as JAX counts them."""

CHIPS: Mapping[str, Chip] = {name: each for name, each in HARDWARE.items() if name != "cpu"}
"""The accelerators by name; the memory of a host is not known."""


_VMEM: Mapping[str, int] = {"tpu-v5e": 128 << 20, "tpu-v5p": 64 << 20, "tpu-v6e": 128 << 20}
"""The bytes of the vector memory of a core. Source: jax-ml.github.io/scaling-book. Others are not known."""
_SPARSE_CORES: Final = ("tpu-v4", "tpu-v5p", "tpu-v6e", "tpu7x")
"""The chips with cores for sparse data. Source: cloud.google.com/tpu/docs/system-architecture-tpu-vm."""
_COPIES_WHILE_KEPT: Final = 8
_HBM_FIRST: Final = ("tpu-v5p",)
"""The chips for which XLA:TPU leaves values in HBM, but for operands that are fetched before, and for what
fusions without a product make."""


def values_in_vmem(chip: Hardware | None) -> int:
    """Returns the bytes of VMEM for values: what is left by ops themselves; 0 where these are in HBM.

    Of 230 programs compiled for v6e, the most is 95.8 MiB, of 130 for v5p (of fusions) 47.9.

    >>> [values_in_vmem(CHIPS[name]) >> 20 for name in ("tpu-v5e", "tpu-v6e", "tpu-v5p")]
    [112, 96, 0]
    """
    return 0 if chip is None or chip.name in _HBM_FIRST else left_in_vmem(chip)


def fusions_in_vmem(chip: Hardware | None) -> int:
    """Returns the bytes of VMEM for what fusions without a product make, where other values are in HBM.

    >>> fusions_in_vmem(CHIPS["tpu-v5p"]) >> 20
    48
    """
    return left_in_vmem(chip) if chip is not None and chip.name in _HBM_FIRST else 0


def has_sparse_cores(chip: Hardware | None) -> bool:
    """Returns whether a chip has cores that run scatters of single elements beside others."""
    return chip is not None and chip.name in _SPARSE_CORES


def moved_while_kept(chip: Hardware | None) -> float:
    """Returns the bytes that ops can read and write at most while a value stays in VMEM.

    They move as many in the time in which XLA:TPU copies what values have of VMEM eight times, which is what
    `xla_msa_max_overlap_to_mem_size_async_copy_ratio` says: of chains of products the compiler keeps a value
    while they could move 346 MiB, not 395.

    >>> moved_while_kept(CHIPS["tpu-v5p"]) / 2**20
    384.0
    """
    return inf if chip is None or chip.name not in _VMEM else _COPIES_WHILE_KEPT * left_in_vmem(chip)


def flops_per_byte(chip: Hardware | None) -> float:
    """Returns how many operations of bf16 products run while a byte of memory is read.

    >>> round(flops_per_byte(CHIPS["tpu-v5p"]))
    166
    """
    return inf if chip is None else chip.peak_flops / chip.memory_bytes_per_second


def left_in_vmem(chip: Hardware) -> int:
    """Returns the bytes of VMEM that ops leave; 0: not known."""
    return max(0, _VMEM.get(chip.name, 0) - chip.scoped_bytes)


_ERRORS: Mapping[str, tuple[float, float]] = {"gpu": (0.75, 1.11), "tpu": (0.5, 1.5)}
"""By compiler, the temporaries that it allocates over the estimate: less for 5 % of programs, and more for
another 5 %. Arguments and results are exact.

Measured on programs of real size for H100 (`tests.xla.buffers.on_large`), and on the few of 88 small ones
that have temporaries in HBM for TPU v5e (`tests.xla.buffers.on_targets`)."""
_ALL_IN_HBM = (0.9, 1.3)
"""The same of all bytes of the 96 programs for TPU v5p that are allocated 16 MiB and more: 6 less, 5 more."""


_OF_MEMORY, _OF_REST = 0.8, 0.95
"""XLA:GPU computes values again where temporaries exceed 95 % of what arguments and results leave of 80 % of
memory. Source: openxla/xla, `GetSchedulerMemoryLimit` in xla/service/gpu/gpu_hlo_schedule.cc."""
_LEFT = 0.5
"""The part of temporaries that is left at least: of 14 kinds of programs that are compiled for 0.9 to 2 times
the memory of an H100, 0.58 to 1 is (`tests.xla.buffers.at_limits`)."""


def recomputed_from(chip: Hardware, held: int) -> float:
    """Returns the bytes of temporaries from which on the compiler computes values again; infinite for others.

    held: those of arguments and results.
    """
    if chip.compiler != "gpu":
        return inf
    return max(0.0, _OF_MEMORY * chip.memory_bytes - held) * _OF_REST


def fits_in_vmem(chip: Hardware | None, held: int, temporaries: int) -> bool:
    """Returns whether temporaries are in VMEM alone: they fit there with all that ops may be read from there.

    held: the bytes of arguments and results. Operands are fetched into VMEM before they are read, so they
    compete with temporaries for it: where both do not fit, XLA:TPU chooses.
    """
    room = values_in_vmem(chip)
    return room > 0 and held + temporaries <= room


def expected_bytes(chip: Hardware, held: int, least: int, most: int, largest: int = 0) -> tuple[int, int]:
    """Returns what 90 % of programs are allocated on a chip where `least` to `most` bytes are estimated.

    held: those of arguments and results, which all programs are. largest: of one temporary, which is there
    also where values are computed again.

    >>> expected_bytes(CHIPS["h100"], 100, 200, 200)
    (175, 211)
    >>> [size >> 30 for size in expected_bytes(CHIPS["h100"], 0, 80 << 30, 80 << 30)]
    [40, 88]
    """
    if chip.compiler == "tpu" and not values_in_vmem(chip):
        low, high = _ALL_IN_HBM
        return max(held, int(least * low)), round(most * high)
    low, high = _ERRORS.get(chip.compiler, _ERRORS["tpu"])
    fewest = max(least - held, 0) * low
    if most - held > recomputed_from(chip, held):
        fewest = max(fewest * _LEFT / low, min(largest, fewest))
    return held + int(fewest), held + round(max(most - held, 0) * high)


def target_of(target: Hardware | AxisPlacement | str) -> tuple[Target, Chip | None]:
    """Returns the layouts of a target, and the chip whose memory is compared; None for layouts only.

    target: "tpu", "linear", or a device as all reports take it: a name, also with the places of mesh axes,
        which do not matter here, or a TOML file.

    Raises:
        ShardyError: for other text, and for a TOML file as `Hardware.load` does.

    >>> target_of("linear"), target_of("v5e,topology=4x4")[1].name
    (('linear', None), 'tpu-v5e')
    """
    for layouts in TARGETS:
        if target == layouts:
            return layouts, None
    if isinstance(target, str):
        name = target.partition(",")[0]
        if known_hardware(name) is None and not name.endswith(".toml"):
            raise unknown_hardware("target", name, (*TARGETS, *CHIPS))
        target = placement_of(target)
    device = target.hardware if isinstance(target, AxisPlacement) else target
    return device.target, None if device.name == "cpu" else device
