"""Ops with effects beyond their results: channels between processes, queues to and from the host.

Not here: collectives (`collectives.py`); printing, probes and checks (`instruments.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.ir import Operation

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.op_errors import place_of
from shardy_py.ops.compute.lanes import TOKEN
from shardy_py.run.interpret.build import Builder, NestedRegion
from shardy_py.run.interpret.collectives import channel_of
from shardy_py.run.interpret.machine import Devices, Run
from shardy_py.run.interpret.values import Value


class Waiting:
    """An op that may have to wait for another process."""

    communicates = True

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, devices: Devices, operands: list[Value]) -> Sequence[Value]:
        """Runs the op."""
        return self._run(devices, operands)


def infeed(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "infeed": the next value of the host's queue."""
    count = len(op.results) - 1

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        queue = devices.machine.infeed
        if len(queue) < devices.count:
            raise ShardyError("infeed queue is empty")
        fed = [queue.popleft()() for _ in range(devices.count)]
        if any(len(values) != count for values in fed):
            raise ShardyError.unexpected("infeed", expected=f"{count} values", got=str(len(fed[0])))
        return (*map(np.concatenate, zip(*fed, strict=True)), TOKEN)

    return run


def outfeed(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "outfeed": appends the values to the host's queue."""

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        devices.machine.outfeed.append(operands[:-1])
        return (TOKEN,)

    return run


def send(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "send": puts the values into a channel."""
    channel, pairs = channel_of(op), op.properties.get("source_target_pairs")
    if pairs is not None:
        raise ShardyError.unsupported("a send with source_target_pairs")

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        devices.world.rendezvous.send(channel, operands[:-1])
        return (TOKEN,)

    return Waiting(run)


def recv(builder: Builder, op: Operation, regions: tuple[NestedRegion, ...]) -> Run:
    """Section "recv": waits for values in a channel."""
    channel = channel_of(op)

    def run(devices: Devices, operands: list[Value]) -> Sequence[Value]:
        never = partial(_never_sent, op, channel)
        return (*devices.world.rendezvous.receive(channel, never), TOKEN)

    return Waiting(run)


def _never_sent(op: Operation, channel: int, processes: Sequence[int]) -> Diagnostic:
    return Diagnostic(f"'{op.name}' op is in deadlock: nothing is sent to channel {channel}", place_of(op))
