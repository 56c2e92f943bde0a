"""A device: what it computes, reads and receives in a second. Not here: the known devices (`table.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Literal

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.formats import Target

_F32_PASSES: Mapping[str, int] = {"DEFAULT": 1, "HIGH": 3, "HIGHEST": 6}
"""Products of bf16 that a TPU needs for one of f32, by the precision that JAX requests."""


@dataclass(frozen=True, slots=True)
class Link:
    """The connection of devices along an axis.

    bytes_per_second: the most that each device receives. latency_seconds: of one step from device to device.
    crossings: the links that a byte of an all-to-all crosses on average; 1 on a switch.
    """

    bytes_per_second: float
    latency_seconds: float
    crossings: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.bytes_per_second < inf and 0 <= self.latency_seconds < inf):
            expected = "a bandwidth above 0 and a latency of at least 0"
            got = f"{self.bytes_per_second} bytes/s and {self.latency_seconds} s"
            raise ShardyError.unexpected("link", expected=expected, got=got)


@dataclass(frozen=True, slots=True)
class NamedLink:
    """A known link. source: of its figures: a page, and the figures there."""

    name: str
    link: Link
    source: str


@dataclass(frozen=True, slots=True)
class Network:
    """The fast connections of devices.

    kind: "torus": each chip is linked to its neighbours along `dimensions` axes; "switch": to all others.
    devices: the most that it connects. link: along an axis of the torus in both directions, or to the switch;
        the part of one device where those of a chip share it.
    ring: the least size of a torus axis that is a ring; a shorter one is a line, along which data goes in one
    direction past the ends. Sizes of rings are multiples of it.
    cores: the devices of a chip of a torus. core_link: between these; None: as fast as the links of the chip.
    """

    kind: Literal["torus", "switch"]
    devices: int
    link: NamedLink
    dimensions: int = 1
    ring: int = 1
    cores: int = 1
    core_link: NamedLink | None = None

    def is_ring(self, size: int) -> bool:
        """Returns whether an axis of the torus with this size is a ring."""
        return size % self.ring == 0


@dataclass(frozen=True, slots=True)
class WindowCosts:
    """The cost of windows: parts of the operands and the result of a product that are on the chip at a time.

    As XLA:TPU estimates it: by its cycles for programs that differ in one of them
    (`tests/report/time/window_costs.py`).

    bytes_per_second: of windows that are read or written, by all cores. read_seconds, write_seconds: added to
        each window that is read, and that is written. step_seconds: added to the arithmetic of each window.
    lanes: the rows and columns of a matrix unit. cores: that share a product.
    """

    bytes_per_second: float
    read_seconds: float
    write_seconds: float
    step_seconds: float
    lanes: int
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Hardware:
    """One device as JAX counts them.

    Most are a chip or GPU, also those with two cores that compute as one (TPU v4, v5p). A core of TPU v2 and
    v3, a chiplet of TPU7x, and a logical core of Trainium2 are devices of their own.

    memory_bytes: of its high-bandwidth memory. memory_bytes_per_second: read or written.
    matrix_flops: per second in products, by element type; "" for types that are not listed.
    vector_flops: per second in other ops, in f32. target: the layouts of arrays.
    network: between devices that are close. beyond: between groups of these.
    source: of the figures of the device. compiler: which of XLA's backends compiles for it: "gpu", "tpu",
        "cpu"; "": another compiler, or an unknown one. cores: the multiprocessors of a GPU; 0: not known.
    loop_rows: of a bf16 product by a gathered matrix, above which XLA:TPU makes a loop of permutes of it; 0:
        not known. scoped_bytes: of the memory on a chip that it gives to one op; 0: not known.
    windows: what it takes the windows of a product to cost; None: not known.
    """

    name: str
    memory_bytes: int
    memory_bytes_per_second: float
    matrix_flops: Mapping[str, float]
    vector_flops: float
    target: Target
    network: Network
    beyond: NamedLink
    source: str
    compiler: str = ""
    cores: int = 0
    loop_rows: int = 0
    scoped_bytes: int = 0
    windows: WindowCosts | None = None

    @staticmethod
    def load(path: str | Path) -> Hardware:
        """Returns the device of a TOML file; docs/time.md describes its keys.

        Raises:
            ShardyError: the file cannot be read, or is invalid.
        """
        from shardy_py.hardware.toml import load

        return load(path)

    @property
    def peak_flops(self) -> float:
        """The floating-point operations per second of products in bf16, with which MFU compares."""
        return self.matrix_flops.get("bf16", self.matrix_flops[""])

    def flops_per_second(self, element: str, precision: str = "DEFAULT") -> float:
        """Returns the rate of products of an element type; precision: as JAX requests it."""
        if element == "f32" and self.target == "tpu":
            return self.matrix_flops["bf16"] / _F32_PASSES.get(precision, 1)
        if element == "f32" and precision != "HIGHEST" and "tf32" in self.matrix_flops:
            return self.matrix_flops["tf32"]
        known = self.matrix_flops
        return known.get(_KINDS.get(element, element), known[""])


_KINDS: Mapping[str, str] = {"f16": "bf16", "i8": "i8", "ui8": "i8", "i4": "i8", "ui4": "i8"} | dict.fromkeys(
    ("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"), "f8"
)
"""The entries of `matrix_flops` that element types use."""
