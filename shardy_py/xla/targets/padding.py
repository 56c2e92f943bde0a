"""Scattered sums as XLA:TPU pads them, and the permute that moves rows back to where they belong.

It adds up rows in equal parts, each as large as the memory on the chip allows; so a device has more rows than
its own, and those of the others begin later:

    1024 rows of 2048 columns on each of 4 devices  ->  5 parts of 26 tiles of 8 rows, 1040 rows;
                                                        3 x 16 rows go to the next device

From what it makes of sums of many sizes, and what it notes beside them (parts, sizes, scoped memory). Known
for sums that are scattered along the last but one dimension, with nothing before it. Not here: which sums are
scattered (`sums.py`).

>>> ScatteredParts().rows(1024, 2048, 4), ScatteredParts().rows(1024, 4096, 4, rings=2)
(1040, 1120)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, pairwise
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.hardware import rings_of_group
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.partitioned import with_size
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, PassChange

_ROWS, _COLUMNS = 8, 128
"""The rows and columns of a tile."""
_MADE_BY = "tpu-all-reduce-scatter-fusion"


_RECEIVED = 4
"""The parts that a device receives at a time, beside its own and those that it sends."""


def left_for_parts(scoped_bytes: int) -> int:
    """Returns the bytes for parts in the memory on a chip that XLA:TPU gives an op.

    Of 16 MiB more than 1.5 MiB were left to others, and at most 1.75; of 32 MiB more than 2.5, at most 2.75.

    >>> [left_for_parts(size * 2**20) / 2**20 for size in (16, 32)]
    [14.25, 29.25]
    """
    return scoped_bytes - 3 * 2**18 - scoped_bytes // 16


def held_in_parts(held_bytes: int, devices: int) -> int:
    """Returns the bytes on a chip of a sum that is scattered in one part, among so many devices."""
    return held_bytes * (devices + _RECEIVED) // devices


@dataclass(frozen=True, slots=True)
class ScatteredParts:
    """The parts in which a sum is scattered.

    bytes: of the memory on a chip that XLA:TPU gives an op. dimensions: of the torus.
    """

    bytes: int = 2**24
    dimensions: int = 2

    def tiles(self, columns: int, devices: int) -> int:
        """The most tiles of rows of each device in a part, which all send and four receive, in four bytes."""
        width = -(-columns // _COLUMNS) * _COLUMNS
        return left_for_parts(self.bytes) // held_in_parts(4 * _ROWS * width * devices, devices)

    def rows(self, rows: int, columns: int, devices: int, rings: int = 1) -> int:
        """The rows of a sum on each device, with padding. rings: among which a part is divided."""
        most = self.tiles(columns, devices) // rings * rings
        tiles = -(-rows // _ROWS)
        if most <= 0:
            return tiles * _ROWS
        number = -(-tiles // most)
        return number * -(-tiles // number // rings) * rings * _ROWS


def padded(body: DeviceBody, numbers: count[int], parts: ScatteredParts) -> DeviceBody:
    """The body with the rows of scattered sums that are padded, and permutes behind them."""
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node, transfer = body.nodes[number], body.nodes[number].transfer
        if transfer is None or transfer.kind != "reduce_scatter":
            continue
        collective = transfer.collective
        held, made, devices = collective.held_shape, collective.made_shape, collective.group_size
        at = len(made) - 2
        if at < 0 or prod(made[:at]) != 1 or with_size(held, at, made[at]) != made:
            continue
        rows = parts.rows(made[at], made[-1], devices, _rings(node, collective, parts))
        if rows == made[at]:
            continue
        change = PassChange(_MADE_BY, f"padded from {made[at]:,} rows to {rows:,}")
        sums = replace(
            collective,
            held_shape=with_size(held, at, rows * devices),
            made_shape=with_size(made, at, rows),
            key=None,
        )
        first = next(numbers)
        new[first] = replace(node, transfer=transfer.changed(change, sums))
        moved = PassChange(_MADE_BY, "rows behind the padding of the devices before")
        sent = _permute(collective, with_size(made, at, (devices - 1) * (rows - made[at])))
        behind = replace(transfer, members=transfer.members[:1]).changed(moved, sent)
        new[number] = DeviceNode(NodeRole.SENT, (first,), node.type, node.step, behind)
    return body.edited(new, {})


def _rings(node: DeviceNode, collective: PlannedCollective, parts: ScatteredParts) -> int:
    targets = () if node.step is None else node.step.targets
    devices = max((target.device_count for target in targets if target is not None), default=0)
    group = collective.group
    if len(group) < 2 or devices < len(group):
        return 1
    return rings_of_group(devices, parts.dimensions, group[1] - group[0], len(group))


def _permute(collective: PlannedCollective, shape: tuple[int, ...]) -> PlannedCollective:
    group = collective.group
    pairs = tuple(pairwise(group))
    return replace(
        collective,
        kind="collective_permute",
        group_size=2,
        held_shape=shape,
        made_shape=shape,
        group=tuple(device for pair in pairs for device in pair),
        pairs=pairs,
        key=None,
    )
