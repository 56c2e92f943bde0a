"""Gathers of broadcasts: XLA:GPU gathers what is broadcast.

    all_gather(broadcast(x))  ->  broadcast(all_gather(x))

Where devices gather along a dimension that `x` has, so does the new op; else each device sends all of `x`,
if that is less. Source: openxla/xla, xla/hlo/transforms/collectives/all_gather_broadcast_reorder.cc.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod

from shardy_py.ops import TensorType
from shardy_py.xla.spmd.tiling import Shape
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, PassChange
from shardy_py.xla.targets.parts import shape_of

_CHANGE = PassChange("all-gather-bcast-reorder", "sent before it is broadcast")


def gathered_before_broadcasts(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with gathers before broadcasts."""
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer, source = node.transfer, node.inputs[0]
        if transfer is None or transfer.kind != "all_gather" or body.form(source) is not NodeForm.BROADCAST:
            continue
        spread = body.nodes[source]
        shapes = _sent(body, spread, transfer.collective.held_shape, transfer.result_shape)
        if shapes is None:
            continue
        held, made = shapes
        collective = replace(transfer.collective, held_shape=held, made_shape=made, key=None)
        type_ = TensorType(made, transfer.collective.element_type)
        first = next(numbers)
        changed = transfer.changed(_CHANGE, collective)
        new[first] = replace(node, inputs=spread.inputs, type=type_, transfer=changed)
        new[number] = replace(spread, inputs=(first,), type=node.type)
    return body.edited(new, {})


def _sent(body: DeviceBody, spread: DeviceNode, held: Shape, made: Shape) -> tuple[Shape, Shape] | None:
    """The shapes of what is gathered before the broadcast, and of what that makes; None where XLA does not.

    held, made: those of the gather of the broadcast.
    """
    operand = body.nodes.get(spread.inputs[0])
    step = spread.step
    if operand is None or operand.type is None or step is None or len(held) != len(made):
        return None
    along = [i for i, (own, all_) in enumerate(zip(held, made, strict=True)) if own != all_]
    dimensions = step.record.attributes.get("broadcast_dimensions", ())
    sizes = shape_of(operand.type)
    if len(along) != 1 or len(dimensions) != len(sizes):
        return None
    kept = {at: size for at, size in zip(dimensions, sizes, strict=True) if size == held[at]}
    if prod(size for i, size in enumerate(made) if i not in kept and i not in along) == 1:
        return None
    (dimension,) = along
    devices = made[dimension] // held[dimension]
    if dimension in kept:
        return tuple(kept.values()), tuple(
            size * (devices if at == dimension else 1) for at, size in kept.items()
        )
    return (1, *kept.values()), (devices, *kept.values())
