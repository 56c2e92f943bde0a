"""What collectives cost: bytes that each device takes in, seconds from two numbers an axis.

A link has a bandwidth and a latency. Along an axis of n devices, with `held` bytes on each device before and
`made` after (ring algorithms; R. Thakur et al., "Optimization of Collective Communication Operations in
MPICH", 2005, and the bandwidth terms of NCCL's performance notes):

    all_gather      made - held                 (n - 1) latencies
    reduce_scatter  held - made                 (n - 1) latencies
    all_reduce      twice (n - 1) / n of held   2 (n - 1) latencies, as reduce_scatter and all_gather
    all_to_all      (n - 1) / n of held         (n - 1) latencies
    permute         held                        one latency, over the slowest axis that takes part
    broadcast       held                        (n - 1) latencies: in small parts, from device to device
    all_slice       nothing

Several axes are taken one after another: gathers the slowest first, while the parts are small, scatters the
slowest last. Not here: which collectives a program needs (`collectives.py`), the least that a
reshard takes (`reshard_cost.py`).

>>> model = CostModel("even", Link(1e9, 1e-6))
>>> model.all_gather((("x", 4),), held_bytes=1000).bytes
3000
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from shardy_py.errors import ShardyError

AxisSize = tuple[str, int]
"""The name of an axis, or of the axis that a part is of, and how many devices lie along it."""


@dataclass(frozen=True, slots=True)
class Link:
    """How devices along an axis are connected.

    bytes_per_second: what each device takes in at most. latency_seconds: of one step from device to device.
    """

    bytes_per_second: float
    latency_seconds: float

    def __post_init__(self) -> None:
        """Raises `ShardyError` for a bandwidth that is not positive, or a latency below 0."""
        if not (self.bytes_per_second > 0 and self.latency_seconds >= 0):
            raise ShardyError(
                f"a link needs a bandwidth above 0 and a latency of at least 0; got {self.bytes_per_second} "
                f"bytes/s and {self.latency_seconds} s"
            )


@dataclass(frozen=True, slots=True)
class Cost:
    """What one device takes in, and for how long the collective runs."""

    bytes: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.bytes + other.bytes, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class CostModel:
    """The links of a machine.

    name: of the machine. link: of every axis that `by_axis` does not name. source: of the numbers.
    """

    name: str
    link: Link
    by_axis: Mapping[str, Link] = field(default_factory=dict[str, Link])
    source: str = ""

    def link_of(self, axis: str) -> Link:
        """The link along an axis."""
        return self.by_axis.get(axis, self.link)

    def all_gather(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """Every device ends up with the parts of all along `axes`."""
        total, held = Cost(), held_bytes
        for name, size in self._slowest_first(axes):
            total += self._ring(name, size, held * (size - 1), size - 1)
            held *= size
        return total

    def reduce_scatter(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """The sum over `axes`, of which each device keeps its part."""
        return self.all_gather(axes, -(-held_bytes // prod(size for _, size in axes)))

    def all_reduce(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """The sum over `axes` on every device."""
        half = self.reduce_scatter(axes, held_bytes)
        return half + half

    def all_to_all(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """Every device sends a part of what it holds to each other along `axes`."""
        total = Cost()
        for name, size in axes:
            total += self._ring(name, size, held_bytes - held_bytes // size, size - 1)
        return total

    def collective_permute(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """Every device sends all it holds to another that differs along `axes`."""
        moving = [self.link_of(name) for name, size in axes if size > 1]
        if not moving:
            return Cost()
        slowest = min(link.bytes_per_second for link in moving)
        latency = max(link.latency_seconds for link in moving)
        return Cost(held_bytes, held_bytes / slowest + latency)

    def collective_broadcast(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """One device along `axes` sends all it holds to all others, who hold as much already."""
        total = Cost()
        for name, size in axes:
            total += self._ring(name, size, held_bytes, size - 1)
        return Cost(min(total.bytes, held_bytes), total.seconds)

    def _ring(self, axis: str, size: int, moved_bytes: int, steps: int) -> Cost:
        if size == 1:
            return Cost()
        link = self.link_of(axis)
        return Cost(moved_bytes, moved_bytes / link.bytes_per_second + steps * link.latency_seconds)

    def _slowest_first(self, axes: Iterable[AxisSize]) -> list[AxisSize]:
        return sorted(axes, key=lambda axis: self.link_of(axis[0]).bytes_per_second)


_CLOUD = "https://docs.cloud.google.com/tpu/docs"
PRESETS: Mapping[str, CostModel] = {
    model.name: model
    for model in (
        CostModel(
            "tpu-v5p",
            Link(200e9, 1e-6),
            source=f"{_CLOUD}/v5p: 1200 GB/s both ways over 6 links, 2 an axis; 1 us a hop is assumed",
        ),
        CostModel(
            "tpu-v5e",
            Link(100e9, 1e-6),
            source=f"{_CLOUD}/v5e: 400 GB/s both ways over 4 links, 2 an axis; 1 us a hop is assumed",
        ),
        CostModel(
            "tpu-dcn",
            Link(6.25e9, 10e-6),
            source=f"{_CLOUD}/v5p: 50 Gb/s a chip between slices; a latency of 10 us is assumed",
        ),
        CostModel(
            "h100-nvlink",
            Link(450e9, 2e-6),
            source="NVIDIA H100 datasheet: NVLink 900 GB/s both ways; a latency of 2 us is assumed",
        ),
        CostModel(
            "infiniband-ndr",
            Link(50e9, 5e-6),
            source="NVIDIA ConnectX-7 datasheet: 400 Gb/s a port; a latency of 5 us is assumed",
        ),
    )
}
"""Machines by name."""
DEFAULT = PRESETS["tpu-v5p"]


def cost_model(text: str) -> CostModel:
    """A model from its text: `tpu-v5p`, or with links of some axes: `tpu-v5p,data=tpu-dcn,x=50e9:2e-6`.

    An axis takes a preset's link, or `bytes per second:seconds`. Raises `ShardyError` for anything else.

    >>> cost_model("tpu-v5p,data=tpu-dcn").link_of("data").bytes_per_second
    6250000000.0
    """
    name, *overrides = text.split(",")
    base = _preset(name)
    by_axis: dict[str, Link] = {}
    for override in overrides:
        axis, equals, value = override.partition("=")
        if not equals or not axis:
            raise ShardyError(f"expected AXIS=LINK in a cost model, got: '{override}'")
        by_axis[axis] = _link(value)
    return CostModel(base.name, base.link, by_axis, base.source)


def _preset(name: str) -> CostModel:
    found = PRESETS.get(name)
    if found is None:
        raise ShardyError(f"there is no cost model '{name}'; there are {', '.join(PRESETS)}")
    return found


def _link(text: str) -> Link:
    bandwidth, colon, latency = text.partition(":")
    if not colon:
        return _preset(text).link
    try:
        return Link(float(bandwidth), float(latency))
    except ValueError:
        raise ShardyError(f"expected BYTES_PER_SECOND:SECONDS as a link, got: '{text}'") from None
