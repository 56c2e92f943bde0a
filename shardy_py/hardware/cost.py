"""The cost of collectives: bytes received per device, and seconds from the bandwidth and latency of links.

Along an axis of n devices, with `held` bytes on each device before and `made` after (ring algorithms; R.
Thakur et al., "Optimization of Collective Communication Operations in MPICH", 2005, and the bandwidth terms
of NCCL's performance notes):

    all_gather      made - held                 (n - 1) latencies
    reduce_scatter  held - made                 (n - 1) latencies
    all_reduce      twice (n - 1) / n of held   2 (n - 1) latencies, as reduce_scatter and all_gather
    all_to_all      (n - 1) / n of held         (n - 1) latencies; times the links that a byte crosses
    ragged          as all_to_all: what is sent if all devices receive as much
    permute         held                        one latency, over the slowest axis involved
    broadcast       held                        (n - 1) latencies: pipelined from device to device
    all_slice       nothing

Several axes are processed one after another: gathers the slowest first, while the parts are small, scatters
the slowest last. Data that an all_to_all or a broadcast forwards to the next axis counts in seconds, not in
bytes. Not here: the collectives of a program (`collectives.py`), the minimum cost of a reshard
(`reshard_cost.py`).

>>> model = CostModel("even", Link(1e9, 1e-6))
>>> model.all_gather((("x", 4),), held_bytes=1000).bytes
3000
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import prod

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hardware import (
    HARDWARE,
    LINKS,
    AxisPlacement,
    Link,
    known_hardware,
    placement_of,
    unknown_hardware,
)
from shardy_py.hardware.links import axis_links
from shardy_py.sharding import Mesh

AxisSize = tuple[str, int]
"""The name of an axis, or of the axis of a sub-axis, and the number of devices along it."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The bytes that one device receives, and the seconds that the collective takes."""

    bytes: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.bytes + other.bytes, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class CostModel:
    """The links of a machine.

    name: of the machine. link: of the axes that are not in `by_axis`. source: of the numbers.
    placement: of the axes of meshes on a device, whose links `on` finds; None: `link` for all.
    """

    name: str
    link: Link
    by_axis: Mapping[str, Link] = field(default_factory=dict[str, Link])
    source: str = ""
    placement: AxisPlacement | None = None

    @staticmethod
    def of(placement: AxisPlacement) -> CostModel:
        """Returns the links of a device."""
        link = placement.hardware.network.link
        return CostModel(placement.hardware.name, link.link, {}, link.source, placement)

    def on(self, meshes: Iterable[Mesh]) -> CostModel:
        """Returns the model with the links that the axes of meshes lie on; all seconds are computed by such.

        Raises:
            ShardyError: the placement is of an axis that no mesh has, or an axis does not fit.

        >>> model = cost_model("tpu-v5p").on([Mesh.of(data=16, model=4)])
        >>> model.link_of("data").bytes_per_second / 1e9, model.link_of("model").bytes_per_second / 1e9
        (400.0, 200.0)
        """
        meshes = [mesh for mesh in meshes if mesh.axes and not mesh.is_maximal]
        if self.placement is None or not meshes:
            return self
        found = {each.axis: each.link for each in axis_links(self.placement, meshes)}
        return replace(self, by_axis=found | dict(self.by_axis), placement=None)

    def link_of(self, axis: str) -> Link:
        """The link along an axis, or a sub-axis of it."""
        return self.by_axis.get(axis.partition(":(")[0], self.link)

    def all_gather(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """Every device receives the shards of all others along `axes`."""
        return Cost(held_bytes * (_count(axes) - 1), self._gather_seconds(axes, held_bytes))

    def reduce_scatter(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """The sum over `axes`, one shard of it on each device."""
        count = _count(axes)
        return Cost(_rest(held_bytes, count), self._gather_seconds(axes, held_bytes / count))

    def all_reduce(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """The sum over `axes` on every device."""
        half = self.reduce_scatter(axes, held_bytes)
        return Cost(_rest(2 * held_bytes, _count(axes)), 2 * half.seconds)

    def all_to_all(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """Every device sends a part of its shard to each other device along `axes`."""
        parts = ((name, size, held_bytes * (size - 1) / size) for name, size in axes)
        seconds = sum(
            self._ring(name, size, moved * self.link_of(name).crossings) for name, size, moved in parts
        )
        return Cost(_rest(held_bytes, _count(axes)), seconds)

    def ragged_all_to_all(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """As `all_to_all`, of slices whose sizes are known at run time: held by all devices on average."""
        return self.all_to_all(axes, held_bytes)

    def collective_permute(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """Every device sends its shard to another device along `axes`."""
        moving = [self.link_of(name) for name, size in axes if size > 1]
        if not moving:
            return Cost()
        slowest = min(link.bytes_per_second for link in moving)
        latency = max(link.latency_seconds for link in moving)
        return Cost(held_bytes, held_bytes / slowest + latency)

    def collective_broadcast(self, axes: Sequence[AxisSize], held_bytes: int) -> Cost:
        """One device along `axes` sends its shard to all others, which replace theirs."""
        moving = [(name, size) for name, size in axes if size > 1]
        seconds = sum(self._ring(name, size, held_bytes) for name, size in moving)
        return Cost(held_bytes if moving else 0, seconds)

    def from_one_device(self, split: Sequence[AxisSize], copied: Sequence[AxisSize], made_bytes: int) -> Cost:
        """One device sends each its shard along `split`, and broadcasts them along `copied`.

        A reversed all_gather and a broadcast; the cost of the reverse, to one device, is that of an
        all_gather.
        """
        seconds = self._gather_seconds(split, made_bytes)
        return Cost(made_bytes, seconds + self.collective_broadcast(copied, made_bytes).seconds)

    def _gather_seconds(self, axes: Iterable[AxisSize], held_bytes: float) -> float:
        seconds, held = 0.0, held_bytes
        for name, size in sorted(axes, key=lambda axis: self.link_of(axis[0]).bytes_per_second):
            seconds += self._ring(name, size, held * (size - 1))
            held *= size
        return seconds

    def _ring(self, axis: str, size: int, moved_bytes: float) -> float:
        """Seconds of size - 1 steps round the ring."""
        if size == 1:
            return 0.0
        link = self.link_of(axis)
        return moved_bytes / link.bytes_per_second + (size - 1) * link.latency_seconds


def _count(axes: Iterable[AxisSize]) -> int:
    return prod(size for _, size in axes)


def _rest(held_bytes: int, parts: int) -> int:
    """The bytes without one of `parts` parts, rounded up."""
    return held_bytes - held_bytes // parts


PRESETS: Mapping[str, CostModel] = {
    **{name: CostModel.of(AxisPlacement(device)) for name, device in HARDWARE.items()},
    **{
        name: CostModel(name, each.link, source=each.source)
        for name, each in LINKS.items()
        if name not in HARDWARE
    },
}
"""Devices and links by name."""
DEFAULT = PRESETS["tpu-v5p"]


def cost_model(text: str) -> CostModel:
    """Parses a model: `tpu-v5p`, `h100`, or with links of some axes: `tpu-v5p,data=tpu-dcn,x=50e9:2e-6`.

    A device, as `hardware_of` knows it, takes the options of `placement_of`, too: `v5e,topology=4x4,data=x`.
    A link is that of a preset, or `bytes per second:seconds`. Raises a `ShardyError` for other text.

    >>> cost_model("tpu-v5p,data=tpu-dcn").link_of("data").bytes_per_second
    6250000000.0
    """
    name, *overrides = text.split(",")
    if known_hardware(name) is not None or name.endswith(".toml"):
        return _of_device(placement_of(text))
    base = _preset(name)
    by_axis: dict[str, Link] = {}
    for override in overrides:
        axis, equals, value = override.partition("=")
        if not equals or not axis:
            raise ShardyError.unexpected("cost model", expected="AXIS=LINK", got=f"'{override}'")
        by_axis[axis] = _link(value)
    return CostModel(base.name, base.link, by_axis, base.source)


def _of_device(placement: AxisPlacement) -> CostModel:
    """The links of a device; those that the text gives are known without a mesh."""
    known = {axis: placement.link_of(axis) for axis in placement.axes}
    by_axis = {axis: link for axis, link in known.items() if link is not None}
    return replace(CostModel.of(placement), by_axis=by_axis)


def _preset(name: str) -> CostModel:
    device = known_hardware(name)
    found = PRESETS.get(name if device is None else device.name)
    if found is None:
        known = dict.fromkeys((DEFAULT.name, *HARDWARE, *LINKS))
        raise unknown_hardware("cost model", name, known)
    return found


def _link(text: str) -> Link:
    bandwidth, colon, latency = text.partition(":")
    if not colon:
        return _preset(text).link
    try:
        return Link(float(bandwidth), float(latency))
    except ValueError:
        raise ShardyError.unexpected("link", expected="BYTES_PER_SECOND:SECONDS", got=f"'{text}'") from None
