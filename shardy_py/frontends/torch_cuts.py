"""Uneven splits of a dimension that several mesh dimensions shard: DTensor's and sdy's.

In DTensor each mesh dimension splits the parts of the ones before it, as `torch.chunk`; sdy splits once, into
the product of the axes. 9 elements over 2 and then 4: DTensor gives 5 to the first four devices, as 2, 2, 1,
0.

>>> from shardy_py.sharding import AxisRef
>>> steps = (Step("dp", 2, 1), Step("tp", 4, 1))
>>> difference(9, DimensionSharding((AxisRef("dp"), AxisRef("tp")), is_closed=True), steps)
'where DTensor and sdy differ: at dp=0, tp=2, DTensor holds [4:5], sdy [4:6]'

Not here: the mesh dimensions of a tensor dimension (`torch_placements.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from shardy_py.api import Mesh, Sharding
from shardy_py.sharding import DimensionSharding, TensorSharding

Spans = tuple[range, ...]
"""The indices of a device in order, as spans that are not adjacent."""


@dataclass(frozen=True, slots=True)
class Step:
    """The split of a tensor dimension by one mesh dimension: each of `split_factor` parts into `size`."""

    name: str
    size: int
    split_factor: int


def difference(size: int, dimension: DimensionSharding, steps: Sequence[Step]) -> str:
    """The first difference between the parts of a dimension of `size` elements; "" if there is none.

    steps: of the mesh dimensions, in mesh order; dimension: the same split as axes.
    """
    mesh = Mesh.of({step.name: step.size for step in steps})
    ours = Sharding(mesh, TensorSharding("mesh", (dimension,))).device_slices((size,))
    coordinates = product(*(range(step.size) for step in steps))
    offsets, sizes = ours.offsets[:, 0].tolist(), ours.sizes[:, 0].tolist()
    for place, theirs, offset, count in zip(coordinates, _split(size, steps), offsets, sizes, strict=True):
        if theirs != _joined([range(offset, offset + count)]):
            named = ", ".join(f"{step.name}={i}" for step, i in zip(steps, place, strict=True))
            return (
                f"where DTensor and sdy differ: at {named}, DTensor holds {_spelled(theirs)}, "
                f"sdy [{offset}:{offset + count}]"
            )
    return ""


def _split(size: int, steps: Sequence[Step]) -> list[Spans]:
    """The indices of each device, in mesh order, as torch splits: step by step, `torch.chunk`."""
    parts = [_joined([range(size)])]
    for step in steps:
        parts = [
            _joined([span for piece in pieces for span in piece])
            for part in parts
            for pieces in zip(*(_chunks(p, step.size) for p in _chunks(part, step.split_factor)), strict=True)
        ]
    return parts


def _chunks(part: Spans, count: int) -> list[Spans]:
    each = -(-sum(map(len, part)) // count)
    return [_between(part, i * each, (i + 1) * each) for i in range(count)]


def _between(part: Spans, start: int, limit: int) -> Spans:
    """The indices from place `start` to before place `limit`."""
    spans: list[range] = []
    place = 0
    for span in part:
        spans.append(span[max(start - place, 0) : max(limit - place, 0)])
        place += len(span)
    return _joined(spans)


def _joined(spans: Sequence[range]) -> Spans:
    joined: list[range] = []
    for span in spans:
        if joined and span and joined[-1].stop == span.start:
            joined[-1] = range(joined[-1].start, span.stop)
        elif span:
            joined.append(span)
    return tuple(joined)


def _spelled(spans: Spans) -> str:
    return " and ".join(f"[{span.start}:{span.stop}]" for span in spans[:4]) or "nothing"
