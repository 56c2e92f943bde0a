"""The axes of a mesh on the links of hardware: axes of a torus, a switch, or the network beyond.

Axes are placed minor to major. Those that fit in the network lie on it, as JAX's `create_device_mesh` does:
the last axis takes as many whole torus axes as make its size, then the axis before it; what is left over
shares torus axes. Where a chip has several devices, the last axes take these first; all axes share the links
of the chip, but the one that goes through its devices has them alone. Others go beyond the network, where
every device has a link of its own. The bandwidth of an axis is the sum over its torus axes; a line that is no
ring has half of it, and one with a stride, whose links carry the data of neighbours too, its part. Not here:
costs of collectives (`hardware/cost.py`).

>>> from shardy_py.sharding import Mesh
>>> for each in placement_of("tpu-v5p").links(Mesh.of(data=16, model=4)):
...     print(each.axis, each.where, each.link.bytes_per_second / 1e9)
data y, z of a torus of 4x4x4 400.0
model x of a torus of 4x4x4 200.0
>>> [each.where for each in placement_of("h100").links(Mesh.of(data=4, model=8))]
['infiniband-ndr', 'switch h100-nvlink']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import combinations
from math import gcd, isqrt, prod

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hardware.model import Hardware, Link, NamedLink, Network
from shardy_py.hardware.names import hardware_of
from shardy_py.hardware.table import LINKS
from shardy_py.sharding import Mesh

_LETTERS = "xyz"
_BEYOND = "beyond"
_SIZE = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AxisLink:
    """The links along an axis of a mesh. where: what they are, as a phrase."""

    axis: str
    size: int
    link: Link
    where: str


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a torus axis: `size` devices, `stride` apart, of an axis of `whole` devices."""

    axis: int
    size: int
    stride: int
    whole: int


@dataclass(frozen=True, slots=True)
class AxisPlacement:
    """Hardware, and where the axes of meshes lie.

    topology: the sizes of the torus in chips; () for the most compact one that holds the devices.
    axes: by the name of a mesh axis, where it lies: letters of torus axes ("x", "yz"), "beyond", the name
        of a link, or BYTES_PER_SECOND:SECONDS. Other axes are placed by rule.
    """

    hardware: Hardware
    topology: tuple[int, ...] = ()
    axes: Mapping[str, str] = field(default_factory=dict[str, str])

    def links(self, mesh: Mesh) -> tuple[AxisLink, ...]:
        """Returns the links of each axis of a mesh, in its order.

        Raises:
            ShardyError: an axis does not fit where it is to lie.
        """
        found = {name: self._named(name, size) for name, size in mesh.sizes.items() if self._is_named(name)}
        near, network = 1, self.hardware.network
        placed: dict[str, int] = {}
        most = prod(self.topology) * network.cores if self.topology else network.devices
        for axis in reversed(mesh.axes):
            if axis.name in found:
                continue
            inside = min(axis.size, max(1, most // near))
            near *= axis.size
            if inside == axis.size and network.kind == "torus":
                placed[axis.name] = axis.size
            else:
                found[axis.name] = _to_switch(self.hardware, axis.name, axis.size, inside)
        if placed:
            found |= {each.axis: each for each in self._on_torus(network, placed)}
        return tuple(found[axis.name] for axis in mesh.axes)

    def _is_named(self, axis: str) -> bool:
        where = self.axes.get(axis, "")
        return bool(where) and not set(where) <= set(_LETTERS)

    def link_of(self, axis: str) -> Link | None:
        """Returns the link that is given for an axis; None if it lies on the network."""
        return self._named(axis, 1).link if self._is_named(axis) else None

    def _named(self, axis: str, size: int) -> AxisLink:
        where = self.axes[axis]
        named = self.hardware.beyond if where == _BEYOND else LINKS.get(where)
        link = _link(where) if named is None else named.link
        return AxisLink(axis, size, link, where if named is None else named.name)

    def _on_torus(self, network: Network, sizes: Mapping[str, int]) -> Iterator[AxisLink]:
        chip, idle = _on_chip(network.cores, sizes, self.axes)
        chips = {axis: size // chip[axis] for axis, size in sizes.items()}
        torus = self.topology or default_topology(prod(chips.values()), network.dimensions)
        for axis, parts in _parts(torus, chips, self.axes).items():
            letters = ", ".join(_LETTERS[part.axis] for part in parts)
            where = f"{letters or 'no axis'} of a torus of {'x'.join(map(str, torus))}"
            if chip[axis] == 1:
                link = _torus_link(network, parts, sizes[axis], 1, idle)
            elif chips[axis] == 1:
                link, where = _chip_link(network), f"devices of a chip of {network.cores}"
            else:
                link, where = _torus_link(network, parts, sizes[axis], chip[axis], idle), f"chip, {where}"
            yield AxisLink(axis, sizes[axis], link, where)


def _on_chip(cores: int, sizes: Mapping[str, int], given: Mapping[str, str]) -> tuple[dict[str, int], int]:
    """The devices of a chip along each axis, minor axes first, and those that a smaller mesh leaves idle.

    Axes with given places take what others leave.
    """
    found = dict.fromkeys(sizes, 1)
    for axis in sorted(sizes, key=given.__contains__):
        found[axis] = gcd(sizes[axis], cores)
        cores //= found[axis]
    return found, cores


def _chip_link(network: Network) -> Link:
    if network.core_link is not None:
        return network.core_link.link
    link = network.link.link
    return Link(link.bytes_per_second * network.cores, link.latency_seconds)


def placement_of(text: str) -> AxisPlacement:
    """Parses hardware with options: `tpu-v5p`, `tpu-v5e,topology=4x4,data=x,pod=beyond`, `my.toml,...`.

    An option is `topology=SIZES`, or AXIS=WHERE as in `AxisPlacement.axes`.

    Raises:
        ShardyError: for other text, and for a TOML file as `load` does.

    >>> placement_of("tpu-v5e,topology=4x4,data=x").topology
    (4, 4)
    """
    name, *options = text.split(",")
    if name.endswith(".toml"):
        from shardy_py.hardware.toml import load

        hardware = load(name)
    else:
        hardware = hardware_of(name)
    topology: tuple[int, ...] = ()
    axes: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not (equals and key and value):
            raise ShardyError.unexpected(
                "hardware", expected="topology=SIZES or AXIS=LINK", got=f"'{option}'"
            )
        if key == "topology":
            topology = _topology(value, hardware)
        else:
            axes[key] = value
            if not set(value) <= set(_LETTERS[: hardware.network.dimensions]) and value != _BEYOND:
                _ = LINKS[value] if value in LINKS else _link(value)
    return AxisPlacement(hardware, topology, axes)


def as_placement(hardware: AxisPlacement | Hardware | str) -> AxisPlacement:
    """Returns the placement itself, that of a device by rule, or the one of a text.

    Raises:
        ShardyError: as `placement_of`, and for anything else.
    """
    if isinstance(hardware, AxisPlacement):
        return hardware
    if isinstance(hardware, Hardware):
        return AxisPlacement(hardware)
    if isinstance(hardware, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return placement_of(hardware)
    expected = "the name of a device such as 'tpu-v5p', a Hardware, or an AxisPlacement"
    raise ShardyError.unexpected("hardware", expected=expected, got=repr(hardware)[:200])


def _topology(text: str, hardware: Hardware) -> tuple[int, ...]:
    sizes = text.split("x")
    network = hardware.network
    if (
        network.kind != "torus"
        or len(sizes) != network.dimensions
        or not all(_SIZE.fullmatch(s) for s in sizes)
    ):
        count = network.dimensions if network.kind == "torus" else 0
        expected = f"{count} sizes such as {'x'.join(['4'] * count)}" if count else "none: it has a switch"
        raise ShardyError.unexpected(f"topology of {hardware.name}", expected=expected, got=f"'{text[:60]}'")
    return tuple(max(1, int(size)) for size in sizes)


def _link(text: str) -> Link:
    bandwidth, colon, latency = text.partition(":")
    try:
        if colon:
            return Link(float(bandwidth), float(latency))
    except ValueError:
        pass
    remedy = "torus axes are letters, as in data=xy; other links BYTES_PER_SECOND:SECONDS"
    raise ShardyError.unknown("link", text, (*LINKS, _BEYOND), remedy=remedy)


def default_topology(devices: int, dimensions: int) -> tuple[int, ...]:
    """Returns the most compact torus of so many devices, shortest axis first.

    >>> default_topology(32, 3), default_topology(8, 2), default_topology(6, 3)
    ((2, 4, 4), (2, 4), (1, 2, 3))
    """
    if dimensions == 1:
        return (devices,)
    small = [size for size in range(1, isqrt(devices) + 1) if devices % size == 0]
    divisors = dict.fromkeys((*small, *(devices // size for size in reversed(small))))
    tried = ((size, *default_topology(devices // size, dimensions - 1)) for size in divisors)
    return min(map(_sorted, tried), key=lambda sizes: (max(sizes), sum(sizes)))


_PLANE = 2
"""The devices along each side of a plane along both of whose axes collectives send at once."""


@lru_cache
def rings_of_group(devices: int, dimensions: int, stride: int, size: int) -> int:
    """Returns the rings that a collective of XLA:TPU uses at once: two in a plane of 2x2 of three dimensions.

    All other groups were seen to be one ring. The group has `size` devices of so many, each `stride` behind
    the one before in the order of the mesh, which lies on the most compact torus by rule.

    >>> rings_of_group(8, 3, 1, 4), rings_of_group(16, 3, 4, 4), rings_of_group(8, 3, 1, 8)
    (2, 1, 1)
    """
    if dimensions < len(_LETTERS) or size != _PLANE**2:
        return 1
    sizes = {"minor": stride, "group": size, "major": devices // (stride * size)}
    try:
        parts = _parts(default_topology(devices, dimensions), sizes, {})["group"]
    except ShardyError:
        return 1
    return len(parts)


def _sorted(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(sizes))


def _parts(
    torus: Sequence[int], sizes: Mapping[str, int], given: Mapping[str, str]
) -> dict[str, list[_Part]]:
    """The parts of torus axes on which mesh axes lie; sizes: minor axes first."""
    used = [1] * len(torus)
    found: dict[str, list[_Part]] = {}
    named = {axis: [_LETTERS.index(letter) for letter in given[axis]] for axis in sizes if axis in given}
    for axis, size in sizes.items():
        if axis in named:
            found[axis] = _take(torus, used, named[axis], axis, size)
    for axis, size in sizes.items():
        if axis not in found:
            whole = _whole_axes(torus, used, size)
            among = range(len(torus)) if whole is None else whole
            order = sorted(among, key=lambda i: -(torus[i] // used[i]))
            found[axis] = _take(torus, used, order if whole is None else whole, axis, size)
    return found


def _whole_axes(torus: Sequence[int], used: Sequence[int], size: int) -> tuple[int, ...] | None:
    """The unused torus axes whose product is `size`: as many as possible; None if there are none."""
    free = [i for i, count in enumerate(used) if count == 1 and torus[i] > 1]
    for count in range(len(free), 0, -1):
        for chosen in combinations(free, count):
            if prod(torus[i] for i in chosen) == size:
                return chosen
    return None


def _take(torus: Sequence[int], used: list[int], among: Sequence[int], axis: str, size: int) -> list[_Part]:
    """Takes `size` devices from what is left of torus axes."""
    parts: list[_Part] = []
    needed = size
    for i in among:
        taken = gcd(needed, torus[i] // used[i])
        if taken > 1:
            parts.append(_Part(i, taken, used[i], torus[i]))
            used[i] *= taken
            needed //= taken
    if needed > 1:
        shape, letters = "x".join(map(str, torus)), "".join(_LETTERS[i] for i in among)
        remedy = "give another topology=SIZES, or another place"
        fact = f"axis '{axis}' of {size} devices does not fit on {letters} of a torus of {shape}"
        raise ShardyError(f"{fact}; {remedy}")
    return parts


def _torus_link(network: Network, parts: Sequence[_Part], size: int, inside: int, idle: int) -> Link:
    """All parts are used at the same time; a collective goes along one after the other.

    In an all-to-all on a ring of n devices a byte crosses n / 4 links on average; a line has half of the
    links, and its middle one carries as much. `inside` devices of a chip are on the way, so that one ring
    uses the links that these and `idle` others share; in an all-to-all each of them sends its own.
    """
    whole = network.link.link
    alone = whole.bytes_per_second * inside * idle
    bandwidth = hops = 0.0
    for part in parts:
        is_ring = network.is_ring(part.whole) and part.size * part.stride == part.whole
        bandwidth += alone / part.stride / (1 if is_ring else 2)
        hops += part.size * part.stride / 2 if is_ring else (part.size - 1) * part.stride
    steps = max(1, size - 1)
    longest = max((part.size for part in parts), default=1)
    crossings = inside * max(1.0, len(parts) * longest / 4 * size / steps)
    return Link(bandwidth or alone, whole.latency_seconds * hops * inside / steps, crossings)


def _to_switch(hardware: Hardware, axis: str, size: int, inside: int) -> AxisLink:
    """An axis with `inside` neighbours in one network; each of them has a link beyond it."""
    near, far = hardware.network.link, hardware.beyond
    if inside == size:
        return AxisLink(axis, size, near.link, f"switch {near.name}")
    return AxisLink(
        axis, size, _crossing(near, far, inside), far.name if inside == 1 else f"{near.name} and {far.name}"
    )


def _crossing(near: NamedLink, far: NamedLink, inside: int) -> Link:
    bandwidth = min(near.link.bytes_per_second, inside * far.link.bytes_per_second)
    return Link(bandwidth, max(near.link.latency_seconds, far.link.latency_seconds))
