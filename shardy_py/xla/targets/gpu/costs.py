"""The time of a kernel, as XLA:GPU estimates it to choose which ops are computed together.

A kernel takes the time to launch it, and the longer of its arithmetic and of moving what it reads and
writes, but for the part of the shorter one that they do not share. Source: openxla/xla,
xla/service/gpu/model/gpu_performance_model_base.cc; the device is XLA's description of an H100.

>>> H100.moved(3352320), H100.operations(H100.grid(10**6))
(1.0, 66908000.0)
"""

from __future__ import annotations

from shardy_py.base.records import dataclass

LAUNCH = 1.0
"""Microseconds to launch a kernel."""
TICKS = 4000
"""In a microsecond."""
_SECOND = TICKS * 1e6
_SHARED = 0.95
"""The part of the shorter of arithmetic and movement that is hidden behind the longer one."""
_L2_SPEEDUP, _L1_SPEEDUP = 2.5, 8.0
_BLOCK = 128
"""The threads of a block."""
_UNROLLED = 4
"""The elements that a thread computes at most."""
_RESIDENT = 2048
"""The threads that a core holds."""
Grid = tuple[int, int]
"""The blocks of a kernel, and the threads of each."""
Rates = tuple[Grid, float, float, float]
"""The blocks and threads of a kernel; the bytes a second that it reads from memory, and that it requests at
most; operations in a microsecond."""
NO_RATES: Rates = (0, 0), 0.0, 0.0, 0.0

THREADS_OF_ROWS = 256
"""The threads of a block that reduces rows, unless a single one needs more."""
_OF_THREAD = 16
"""The elements of a row that a thread reduces."""
_WARP = 32


@dataclass(frozen=True, slots=True)
class GpuDescription:
    """A GPU: bytes a second of its memory, clock in GHz, cores, arithmetic units of each, bytes of caches."""

    bandwidth: float
    clock: float
    cores: int
    units: int
    l2: int
    l1: int
    transaction: int = 32

    def grid(self, elements: int) -> Grid:
        """The blocks of a kernel that makes so many elements, and the threads of each.

        A thread makes several elements if all threads that the cores hold have work then.
        """
        unrolled = _UNROLLED if elements >= self.cores * _RESIDENT and elements % _UNROLLED == 0 else 1
        threads = max(elements // unrolled, 1)
        return -(-threads // _BLOCK), min(threads, _BLOCK)

    def operations(self, grid: Grid) -> float:
        """The operations of arithmetic of a kernel in a microsecond: whole ones in a nanosecond."""
        blocks, threads = grid
        busy = min(blocks, self.cores) * min(threads, self.units)
        return int(busy * self.clock * 2) * 1e3

    def moved(self, size: float) -> float:
        """The microseconds to write bytes."""
        return size / self.bandwidth * 1e6

    def requested(self, blocks: int) -> float:
        """The most bytes a second that a kernel of so many blocks requests."""
        return blocks * self.clock * 1e9 * self.transaction

    def again(self, size: float) -> float:
        """The bytes a second of an operand of `size` bytes that is read again, from a cache if it fits."""
        if size >= self.l2:
            return self.bandwidth
        return self.bandwidth * (_L2_SPEEDUP * (_L1_SPEEDUP if size < self.l1 * self.cores else 1))


H100 = GpuDescription(3.35232e12, 1.98, 132, 128, 50 << 20, 2 << 10)
"""XLA counts 2 KiB of the L1 cache of each core: xla/stream_executor/device_description.h."""


def ticks(time: float) -> int:
    """Microseconds in the quarters of a nanosecond in which XLA counts time (`absl::Duration`).

    These are integers, so that equal times are equal however they were added; halves are rounded up.
    """
    return int(time * TICKS + 0.5)


def combined(arithmetic: int, movement: int) -> int:
    """The ticks of both, which overlap; what they share is a part of a second first, as XLA rounds it."""
    return arithmetic + movement - int(min(arithmetic, movement) * _SHARED / _SECOND * _SECOND + 0.5)


def blocks_of_rows(rows: int, row: int) -> int:
    """Returns the blocks that reduce rows, several each if these are short.

    Source: openxla/xla, xla/backends/gpu/codegen/emitters/reduction.cc.
    """
    if row < _WARP:
        return rows * row // THREADS_OF_ROWS
    threads = -(-row // (_OF_THREAD * _WARP)) * _WARP
    return -(-rows // max(min(THREADS_OF_ROWS // threads, rows), 1))


def read_time(size: int, use: float, once: float, again: float, most: float) -> int:
    """Returns the ticks to read a value so often, some of it again from a cache.

    once, again: the bytes a second from memory, and from the cache. most: those that are requested.
    """
    total = size * use
    if total <= size:
        return ticks(total / once * 1e6)
    return ticks(size / once * 1e6) + ticks((total - size) / min(again, most) * 1e6)


_MATRIX = 700e12
"""Operations a second of large products of bf16; half of it of f32.

An assumption, as are the next two: they stand in for XLA's tables of times measured on an H100
(xla/service/gpu/model/matmul_interpolator.cc, collective_interpolator.cc). They decide what runs beside a
collective. Halved or doubled, each moves the memory of at most 2 of 23 programs of real size, and of 1 of 87
small ones, across a limit of 10 or 25 % (tests/xla/buffers/on_large.py, on_targets.py).
"""
_LINK = 300e9
"""Bytes a second to other devices, in large collectives: an assumption."""
_LATENCY = 50.0
"""Microseconds of any collective, at least: an assumption."""


def product_time(operations: float, element: str) -> float:
    """The microseconds of a product."""
    return operations / (_MATRIX if element in ("bf16", "f16") else _MATRIX / 2) * 1e6


def collective_time(kind: str, size: int, devices: int) -> float:
    """The microseconds of a collective that makes `size` bytes on each device."""
    share = (devices - 1) / max(devices, 1)
    times = {"all_reduce": 2.0, "reduce_scatter": float(devices), "collective_permute": 1 / max(share, 0.5)}
    return max(_LATENCY, times.get(kind, 1.0) * share * size / _LINK * 1e6)
