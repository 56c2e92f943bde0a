"""Rotations along a sharded dimension: the pieces that a device sends and keeps, as slices of its own part.

    64 rows rolled by 20, 16 on each of 4 devices: the last 4 are for the second next one, 12 for the next

The partitioner plans the permutes at the slice that becomes the front (`xla/spmd/rotations.py`); a device
slices what it holds, and puts together what it receives.

>>> [(piece.start, piece.size, piece.is_sent) for piece in pieces_of(20, size=64, part=16)]
[(12, 4, True), (0, 12, True)]
>>> [(piece.start, piece.size, piece.is_sent) for piece in pieces_of(3, size=128, part=64)]
[(61, 3, True), (0, 61, False)]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from shardy_py.xla.spmd.rotations import rotation
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, NodeRole


class RotatedPiece(NamedTuple):
    """A piece of the rotated part of a device: where it begins in what a device holds, which may send it."""

    start: int
    size: int
    is_sent: bool


class RotatedPart(NamedTuple):
    """A rotation on a device. source: what is rotated. sent: the permutes, one for each piece that is sent.

    hidden: the nodes that are not computed as they are.
    """

    source: int
    dimension: int
    pieces: tuple[RotatedPiece, ...]
    sent: tuple[int, ...]
    hidden: frozenset[int]


def pieces_of(amount: int, *, size: int, part: int) -> Iterator[RotatedPiece]:
    """Yields the pieces of a part along a dimension, whose last `amount` elements move to the front.

    size: of the dimension. part: what a device has of it.
    """
    at = 0
    while at < part:
        distance = -(-(amount - at) // part)
        piece = min(amount - at - (distance - 1) * part, part - at)
        yield RotatedPiece((at - amount) % part, piece, distance % (size // part) != 0)
        at += piece


def rotations(body: DeviceBody, readers: Mapping[int, Sequence[int]]) -> dict[int, RotatedPart]:
    """Returns the rotations of a computation, by the nodes that end them. readers: of each node."""
    found = ((number, _rotated(body, number, readers)) for number in body.order)
    return {number: part for number, part in found if part is not None}


def _rotated(body: DeviceBody, number: int, readers: Mapping[int, Sequence[int]]) -> RotatedPart | None:
    nodes = body.nodes
    node = nodes[number]
    if (
        body.form(number) is not NodeForm.JOIN
        or len(node.inputs) != 2
        or node.step is None
        or node.type is None
    ):
        return None
    joined, front = (nodes.get(each) for each in node.inputs)
    if joined is None or joined.role is not NodeRole.OP or joined.step is not None or not joined.inputs:
        return None
    end, *sent = joined.inputs
    slices = [nodes.get(end), front]
    if any(each is None or COMPILED.of(each.name).form is not NodeForm.SLICE for each in slices):
        return None
    (source,) = {each.inputs[:1] for each in slices if each is not None} or {()}
    steps = [each.step for each in slices if each is not None and each.step is not None]
    moved = rotation(node.step.record, [step.record for step in steps]) if len(steps) == 2 else None
    whole = node.step.record.results[0]
    if moved is None or whole is None or nodes.get(source[0]) is None or nodes[source[0]].type != node.type:
        return None
    dimension, amount = moved
    size, part = whole.shape[dimension] or 0, node.type.shape[dimension] or 0
    if not part or size % part:
        return None
    pieces = (*pieces_of(amount, size=size, part=part),)
    hidden = {end, *node.inputs, *sent, *(nodes[each].inputs[0] for each in sent)}
    if len(pieces) < 2 or not _are_sent(body, sent, pieces, dimension) or _is_read(hidden, number, readers):
        return None
    return RotatedPart(source[0], dimension, pieces, (*sent,), frozenset(hidden))


def _are_sent(body: DeviceBody, sent: Sequence[int], pieces: Sequence[RotatedPiece], dimension: int) -> bool:
    """True if one permute sends each piece that is sent."""
    sizes = list[int]()
    for each in sent:
        transfer = body.nodes[each].transfer
        if transfer is None or transfer.kind != "collective_permute":
            return False
        sizes.append(transfer.collective.held_shape[dimension])
    return sizes == [piece.size for piece in pieces if piece.is_sent]


def _is_read(hidden: Collection[int], number: int, readers: Mapping[int, Sequence[int]]) -> bool:
    """True if other nodes than a rotation read what is only made for it."""
    return any(each != number and each not in hidden for name in hidden for each in readers.get(name, ()))
