"""Products of two vectors that are gathered for it: XLA:GPU gathers what both are multiplied to.

    dot(reshape(all_gather(x)), reshape(all_gather(y)))  ->  sum of all_gather(multiply(x, y))

A product of vectors is a multiplication and a sum by then, and reshapes are behind the former. Each gather
must have no other use. Source: openxla/xla, xla/hlo/transforms/collectives/all_gather_optimizer.cc,
`jnp.vdot` of sharded matrices as jax 0.10.2 compiles it for an H100. Not here: sums of two gathers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from shardy_py.mlir.dialects.stablehlo import MultiplyOp
from shardy_py.ops import OpRecord
from shardy_py.xla.spmd.program import PlannedOp
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, PassChange

_CHANGE = PassChange("all-gather-optimizer", "multiplied before it is sent")


def multiplied_before_gathers(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with one gather for a product of two vectors."""
    new: dict[int, DeviceNode] = {}
    for number in body.order:
        node = body.nodes[number]
        if body.form(number) is not NodeForm.PRODUCT or node.type is None or node.type.rank:
            continue
        gathers = [_gather(body, each, number) for each in node.inputs]
        if len(gathers) != 2 or None in gathers or gathers[0] == gathers[1]:
            continue
        first, second = (body.nodes[each] for each in gathers if each is not None)
        one, other = first.transfer, second.transfer
        source = body.nodes.get(first.inputs[0])
        if one is None or other is None or source is None or source.type is None or node.step is None:
            continue
        if one.collective != other.collective or one.collective.group != other.collective.group:
            continue
        made = next(numbers)
        record = OpRecord(MultiplyOp.name, (source.type, source.type), (source.type,))
        step = PlannedOp(record, node.step.operands, ((number, "multiplied"),), node.step.targets[:1])
        inputs = first.inputs[0], second.inputs[0]
        new[made] = DeviceNode(NodeRole.OP, inputs, source.type, step)
        members = (*one.members, *other.members)
        collective = replace(one.collective, key=None)
        transfer = replace(one.changed(_CHANGE, collective), members=members)
        (at, _) = gathers
        assert at is not None
        new[at] = replace(first, inputs=(made,), transfer=transfer)
        new[number] = replace(node, inputs=(node.inputs[0], node.inputs[0]))
    return body.edited(new, {})


def _gather(body: DeviceBody, number: int, user: int) -> int | None:
    """The gather that an operand is, in another form, if nothing else reads it."""
    while body.only_user(number) == user:
        transfer = body.transfer(number)
        if transfer is not None:
            return number if transfer.kind == "all_gather" else None
        if body.form(number) is not NodeForm.RESHAPE:
            return None
        number, user = body.nodes[number].inputs[0], number
    return None
