"""Facts of the computations of a device that its block is made by.

Not here: the block (`local_block.py`).
"""

from __future__ import annotations

from shardy_py.ops import CALL, TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole


def devices_of(body: DeviceBody) -> int:
    """Returns the number of devices, as tilings have it; 0 if nothing is tiled."""
    steps = (node.step for node in body.nodes.values() if node.step is not None)
    tilings = (tiling for step in steps for tiling in step.targets if tiling is not None)
    return next((tiling.device_count for tiling in tilings), 0)


def has_images(body: DeviceBody) -> bool:
    """Returns whether a computation, or one inside, has convolutions."""
    nodes = body.nodes.values()
    has_own = any(COMPILED.of(node.name).form is NodeForm.CONVOLUTION for node in nodes)
    return has_own or any(has_images(inner) for node in nodes for inner in node.bodies)


def equal_along(node: DeviceNode | None) -> set[int]:
    """Returns the dimensions along which all elements of a value are equal: those of a broadcast."""
    if node is None or node.step is None or COMPILED.of(node.name).form is not NodeForm.BROADCAST:
        return set()
    kept = integers(node.step.record.attributes, "broadcast_dimensions")
    (given, *_), rank = node.step.record.operands, 0 if node.type is None else node.type.rank
    read = {d for d, size in zip(kept, () if given is None else given.shape, strict=False) if size != 1}
    return set(range(rank)) - read


def elements_by_position(body: DeviceBody) -> dict[int, dict[int, int]]:
    """Returns by node with several results the nodes of these, by their positions."""
    found: dict[int, dict[int, int]] = {}
    for number in body.order:
        node = body.nodes[number]
        if node.role is NodeRole.ELEMENT:
            found.setdefault(node.inputs[0], {})[node.index] = number
    return found


def grown_dimension(held: TensorType | None, made: TensorType | None) -> int:
    """Returns the first dimension in which two types differ; 0 if there is none."""
    pairs = zip(() if held is None else held.shape, () if made is None else made.shape, strict=False)
    return next((d for d, (own, other) in enumerate(pairs) if own != other), 0)


def is_computed_whole(own: PlannedOp, step: PlannedOp) -> bool:
    """Returns whether a call computes whole what devices keep parts of. own: the step on a device."""
    if step.record.name != CALL or own.blocks or not own.operands:
        return False
    pairs = zip(own.record.operands, step.record.operands, strict=False)
    return all(one == other for one, other in pairs) and own.record.results != step.record.results
