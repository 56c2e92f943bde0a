"""Scattered sums as XLA:TPU pads them, and the permute that moves rows back to where they belong.

It adds up rows in equal parts, each as large as the memory on the chip allows; so a device has more rows than
its own, and those of the others begin later:

    1024 rows of 2048 columns on each of 4 devices  ->  5 parts of 26 tiles of 8 rows, 1040 rows;
                                                        3 x 16 rows go to the next device

From what it makes of sums of many sizes, and what it notes beside them (parts, sizes, scoped memory). Known
for sums that are scattered along the last but one dimension, with nothing before it. Not here: which sums are
scattered (`sums.py`).

>>> padded_rows(1024, 2048, 4, Parts()), padded_rows(1024, 4096, 4, Parts(colors=2))
(1040, 1120)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.partitioned import with_size
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, PassChange

_ROWS, _COLUMNS = 8, 128
"""The rows and columns of a tile."""
_MADE_BY = "tpu-all-reduce-scatter-fusion"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts in which a sum is scattered.

    bytes: of the memory of one part, with what is received meanwhile, in elements of four bytes: nine tenths
    of the 16 MiB that XLA:TPU gives an op. colors: the rings among which a part is divided.
    """

    bytes: int = 16 * 2**20 * 9 // 10
    colors: int = 1

    def tiles(self, columns: int, devices: int) -> int:
        """The most tiles of rows of one device in a part: those of all devices, and of four that are sent."""
        width = -(-columns // _COLUMNS) * _COLUMNS
        return self.bytes // (4 * _ROWS * width * (devices + 4)) // self.colors * self.colors


def padded_rows(rows: int, columns: int, devices: int, parts: Parts) -> int:
    """Returns the rows of a sum on each device, with padding."""
    most = parts.tiles(columns, devices)
    tiles = -(-rows // _ROWS)
    if not most:
        return tiles * _ROWS
    number = -(-tiles // most)
    each = -(-tiles // number)
    return number * -(-each // parts.colors) * parts.colors * _ROWS


def padded(body: DeviceBody, numbers: count[int], parts: Parts) -> DeviceBody:
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
        rows = padded_rows(made[at], made[-1], devices, parts)
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


def _permute(collective: PlannedCollective, shape: tuple[int, ...]) -> PlannedCollective:
    group = collective.group
    pairs = tuple(zip(group, group[1:], strict=False))
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
