"""The result of an estimate of memory: bytes on each device, and what is alive when most is.

Apart from how it is made (`estimate.py`), whose many modules most commands do not need.

>>> MemoryEstimate(arguments=8, results=4, aliased=4, temporaries=2).total_bytes
10
"""

from __future__ import annotations

from dataclasses import field

from shardy_py.base.records import dataclass


@dataclass(frozen=True, slots=True)
class LiveTensor:
    """A buffer at the peak: its bytes, the op that it is for or the argument, and its line; "" if unknown."""

    bytes: int
    name: str
    location: str


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes on each device.

    arguments, results: of the entry function. aliased: of results in the memory of donated arguments.
    temporaries: at most at one time, without those in the memory of results. host: in memory of the host
    (`pinned_host`), which is not counted above. largest: of what is alive when most is, with arguments.
    largest_temporary: the bytes of the largest of those without.
    in_vmem: of the temporaries, those that may be in VMEM instead of HBM. Where all fit there beside
    arguments and results, temporaries are 0, but for what is in HBM even so (`beside_vmem.py`).
    """

    arguments: int
    results: int
    aliased: int
    temporaries: int
    host: int = 0
    largest: tuple[LiveTensor, ...] = field(default=(), compare=False)
    largest_temporary: int = field(default=0, compare=False)
    in_vmem: int = 0

    @property
    def least_bytes(self) -> int:
        """All that is allocated in HBM if as much as possible is in VMEM; `total_bytes` is the most."""
        return self.total_bytes - self.in_vmem

    @property
    def peak_bytes(self) -> int:
        """Arguments and temporaries, as XLA's `argument_size + temp_size`."""
        return self.arguments + self.temporaries

    @property
    def total_bytes(self) -> int:
        """All that is allocated, results included: compare this with the memory of a device."""
        return self.peak_bytes + self.results - self.aliased
