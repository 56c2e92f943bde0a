"""Execution traces of Chakra, one a device, which ASTRA-sim and other simulators read.

A trace is a sequence of messages of `schema/protobuf/et_def.proto` of mlcommons/chakra, each behind its size:
`GlobalMetadata`, then a `Node` for each group of fused ops (COMP_NODE) and collective (COMM_COLL_NODE), with
those it needs in `data_deps`. Devices are numbered as in the mesh, row-major. A permute is a send to the next
device along its axes and a receive from the one before. Dimensions of the network are the axes of the mesh,
the last one first; groups along sub-axes have a number in `pg_name`, and their devices in
`comm_groups.json`.

    write_traces("traces", report, mesh)     traces/step.0.et, traces/step.1.et, ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.errors import ShardyError
from shardy_py.base.files import write_whole
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import utf8
from shardy_py.base.wire import bytes_field, integer_field, packed, varint
from shardy_py.hardware.cost import AxisSize
from shardy_py.report.communication import SENDING_KINDS
from shardy_py.report.time.graph import TimedNode
from shardy_py.report.time.unrolled import unrolled
from shardy_py.sharding import Mesh

if TYPE_CHECKING:
    from shardy_py.report.time.report import TimeReport

VERSION = "0.0.4"
COMP_NODE, COMM_SEND_NODE, COMM_RECV_NODE, COMM_COLL_NODE = 4, 5, 6, 7
COMM_TYPES = {
    "all_reduce": 0,
    "all_gather": 2,
    "collective_broadcast": 5,
    "all_to_all": 6,
    "reduce_scatter": 7,
}
"""The values of `CollectiveCommType`."""
_PART = re.compile(r"(.*):\((\d{1,18})\)(\d{1,18})", re.DOTALL | re.ASCII)
_PERMUTES = frozenset(("collective_permute", "halo_exchange", "reshard"))

_ID, _NAME, _TYPE, _DATA_DEPS, _DURATION, _ATTR = 1, 2, 3, 5, 7, 10
_ATTR_NAME, _INT32, _INT64, _UINT64, _BOOL, _BOOL_LIST, _STRING = 1, 7, 9, 13, 27, 28, 29

Devices = NDArray[np.int64]
Piece = bytes | tuple["TimedNode", int, tuple[int, ...]]
"""A part of a trace: bytes that all devices have, or a node that differs, its id and what it needs."""


def traces(report: TimeReport, mesh: Mesh) -> Iterator[bytes]:
    """Returns the trace of each device of a mesh, in order.

    Raises:
        ShardyError: the step has too many ops, or a collective has no equivalent in Chakra.
    """
    return _Writer(mesh).traces(report)


def write_traces(folder: str | Path, report: TimeReport, mesh: Mesh) -> list[Path]:
    """Writes the trace of each device, and the groups of devices; returns the files.

    Raises:
        ShardyError: as `traces`, and if a file cannot be written.
    """
    writer, files = _Writer(mesh), list[Path]()
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for device, data in enumerate(writer.traces(report)):
            files.append(Path(folder) / f"step.{device}.et")
            write_whole(str(files[-1]), data)
        files.append(Path(folder) / "comm_groups.json")
        write_whole(str(files[-1]), json.dumps(writer.groups) + "\n")
    except OSError as error:
        raise ShardyError(f"cannot write '{folder}': {error.strerror}") from error
    return files


@dataclass
class _Writer:
    """groups: the devices of each group that is not along whole axes, by its number."""

    mesh: Mesh
    groups: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    numbers: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])

    def traces(self, report: TimeReport) -> Iterator[bytes]:
        pieces = list(self._pieces(report))
        sizes = [*self.mesh.sizes.values()]
        for device in range(prod(sizes)):
            parts = (p if isinstance(p, bytes) else self._own(*p, device) for p in pieces)
            yield b"".join(parts)

    def _pieces(self, report: TimeReport) -> Iterator[Piece]:
        yield _delimited(bytes_field(1, VERSION.encode()))
        ids: list[int] = []  # the id of the last message of each node
        number = 0
        for node, after in unrolled(report.block):
            needs = tuple(ids[before] for before in after)
            if node.bound != "communication" or (node.use is not None and node.use.kind not in SENDING_KINDS):
                yield _delimited(_computation(node, number, needs))
            elif node.use is None or node.use.kind in _PERMUTES:
                yield node, number, needs
                number += 1
            elif self._whole_axes(node.use.axes) is not None:
                yield _delimited(self._collective(node, number, needs, 0))
            else:
                yield node, number, needs
            ids.append(number)
            number += 1

    def _check_axes(self, node: TimedNode, axes: Sequence[AxisSize]) -> None:
        """Raises ShardyError for axes of another mesh: devices have the numbers of one."""
        for name, count in axes:
            part = _PART.fullmatch(name)
            size = self.mesh.sizes.get(part[1] if part else name)
            before = int(part[2]) if part else 1
            if size is not None and size % (before * count):
                what = f"{node.name} along {count} devices of '{name}', which is {size} in {self.mesh},"
                raise ShardyError.unsupported(f"{what} in a trace of Chakra", remedy="use one mesh")

    def _own(self, node: TimedNode, number: int, needs: tuple[int, ...], device: int) -> bytes:
        """The messages of a node that differ between devices."""
        axes = () if node.use is None else node.use.axes
        self._check_axes(node, axes)
        group = self._group(axes, device)
        if node.use is not None and node.use.kind not in _PERMUTES:
            return _delimited(self._collective(node, number, needs, self._number(group)))
        at = group.index(device)
        to, source = group[(at + 1) % len(group)], group[at - 1]
        size = _int64("comm_size", round(node.bytes))
        ends = ((COMM_SEND_NODE, device, to), (COMM_RECV_NODE, source, device))
        found = b""
        for offset, (kind, start, end) in enumerate(ends):
            places = (("comm_src", start), ("comm_dst", end), ("comm_tag", number))
            attributes = [_ON_DEVICE, size, *(_attribute(name, _INT32, value) for name, value in places)]
            found += _delimited(_node(number + offset, node.name, kind, needs, attributes, node.seconds))
        return found

    def _collective(self, node: TimedNode, number: int, needs: Sequence[int], group: int) -> bytes:
        use = node.use
        if use is None or node.name not in COMM_TYPES:
            raise ShardyError.unsupported(f"{node.name} in a trace of Chakra")
        attributes = [
            _ON_DEVICE,
            _int64("comm_type", COMM_TYPES[node.name]),
            _int64("comm_size", use.held_bytes),
            _involved(self._involved(use.axes)),
        ]
        if group:
            attributes.append(_attribute_bytes("pg_name", _STRING, str(group).encode()))
        return _node(number, node.name, COMM_COLL_NODE, needs, attributes, node.seconds)

    def _whole_axes(self, axes: Sequence[AxisSize]) -> list[str] | None:
        """The names of axes if they are whole axes of the mesh."""
        sizes = self.mesh.sizes
        return [name for name, _ in axes] if all(sizes.get(name) == size for name, size in axes) else None

    def _involved(self, axes: Sequence[AxisSize]) -> list[bool]:
        names = {name.partition(":(")[0] for name, _ in axes}
        known = names & self.mesh.sizes.keys()
        return [not known or name in known for name in reversed(self.mesh.sizes)]

    def _group(self, axes: Sequence[AxisSize], device: int) -> tuple[int, ...]:
        """The devices with which a device communicates along axes and sub-axes, itself included."""
        sizes = [*self.mesh.sizes.values()]
        names = [*self.mesh.sizes]
        split: list[int] = []
        moving: list[int] = []
        for name, size in zip(names, sizes, strict=True):
            before, inside, behind = _split(name, size, axes)
            moving += [len(split) + 1] if inside > 1 else []
            split += (before, inside, behind)
        if not moving:
            count = min(prod(size for _, size in axes) or 1, prod(sizes))
            first = device // count * count
            return tuple(range(first, first + count))
        devices: Devices = np.arange(prod(sizes)).reshape(split)
        place = np.unravel_index(device, split)
        index = tuple(slice(None) if i in moving else int(at) for i, at in enumerate(place))
        return tuple(map(int, devices[index].ravel()))

    def _number(self, group: tuple[int, ...]) -> int:
        if group not in self.numbers:
            self.numbers[group] = len(self.numbers) + 1
            self.groups[str(self.numbers[group])] = [*group]
        return self.numbers[group]


def _split(axis: str, size: int, axes: Sequence[AxisSize]) -> tuple[int, int, int]:
    """The sizes of an axis before, in and behind the part along which data moves."""
    for name, count in axes:
        part = _PART.fullmatch(name)
        if part and part[1] == axis:
            return int(part[2]), count, size // (int(part[2]) * count)
        if name == axis:
            return 1, count, size // count
    return size, 1, 1


def _computation(node: TimedNode, number: int, needs: Sequence[int]) -> bytes:
    operations = _int64("num_ops", round(node.work.all_flops + node.work.transcendentals))
    size = _attribute("tensor_size", _UINT64, round(node.bytes))
    return _node(number, node.name, COMP_NODE, needs, [_ON_DEVICE, operations, size], node.seconds)


def _node(
    number: int, name: str, kind: int, needs: Sequence[int], attributes: Sequence[bytes], seconds: float
) -> bytes:
    parts = [integer_field(_ID, number), bytes_field(_NAME, utf8(name)), integer_field(_TYPE, kind)]
    if needs:
        parts.append(bytes_field(_DATA_DEPS, packed(needs)))
    parts.append(integer_field(_DURATION, round(seconds * 1e6)))
    return b"".join([*parts, *(bytes_field(_ATTR, each) for each in attributes)])


def _attribute(name: str, kind: int, value: int) -> bytes:
    return bytes_field(_ATTR_NAME, name.encode()) + integer_field(kind, value)


def _attribute_bytes(name: str, kind: int, value: bytes) -> bytes:
    return bytes_field(_ATTR_NAME, name.encode()) + bytes_field(kind, value)


def _int64(name: str, value: int) -> bytes:
    return _attribute(name, _INT64, value)


def _involved(values: Sequence[bool]) -> bytes:
    return _attribute_bytes("involved_dim", _BOOL_LIST, bytes_field(1, packed(values)))


_ON_DEVICE = _attribute("is_cpu_op", _BOOL, 0)


def _delimited(message: bytes) -> bytes:
    return varint(len(message)) + message
