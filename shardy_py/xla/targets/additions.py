"""Additions to scatters into zeros, which XLA makes scatters into what is added before it partitions.

    add(y, all_reduce(scatter(0, indices, updates)))  ->  all_reduce(scatter(y, indices, updates))
    add(y, scatter(0, indices, updates))              ->  scatter(y, indices, updates)

The gradient of a table that is used twice is such, and that of logits of which some are taken. Where devices
hold parts of y, it is gathered, as the result is summed whole. Source: openxla/xla, `HandleAdd` in
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc. Not here: what the partitioner plans without it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod

from shardy_py.ops import TensorType
from shardy_py.xla.spmd.walk import Sent
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import ADD, DeviceBody, DeviceNode, NodeRole, PassChange, Transfer

_CHANGE = PassChange("algsimp", "an addition to a scatter into zeros is a scatter into what is added")


def into_scatters(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with scatters into what is added to them."""
    new: dict[int, DeviceNode] = {}
    instead: dict[int, int] = {}
    nodes = body.nodes
    for number in body.order:
        node = nodes[number]
        step = node.step
        if step is None or step.record.name != ADD or len(node.inputs) != 2 or node.role is not NodeRole.OP:
            continue
        sides = [_scatter(body, each, number) for each in node.inputs]
        if None not in sides or not instead.keys().isdisjoint(node.inputs):
            continue  # of two scatters the results are added, before devices sum them
        for found, other, side in zip(sides, node.inputs[::-1], node.inputs, strict=True):
            if found is None or not _is_into_zeros(body, found[0]):
                continue
            scatter, total = found
            into = _whole(body, other, total, new, numbers)
            made = body.nodes[scatter]
            new[scatter] = replace(made, inputs=(into, *made.inputs[1:]))
            instead[number] = side
            break
    return body.edited(new, instead)


def _scatter(body: DeviceBody, number: int, user: int) -> tuple[int, int] | None:
    """The scatter behind an operand of an addition, and its last all-reduce, if any; each used once."""
    node = body.nodes.get(number)
    is_sliced = node is not None and node.role is NodeRole.SLICE
    if node is not None and is_sliced and body.only_user(number) == user:
        number, user = node.inputs[0], number
    last = number
    while (transfer := body.transfer(number)) is not None and transfer.kind == "all_reduce":
        if body.only_user(number) != user:
            return None
        number, user = body.nodes[number].inputs[0], number
    is_scatter = body.form(number) is NodeForm.SCATTER and body.only_user(number) == user
    return (number, last) if is_scatter and (number != last or not is_sliced) else None


def _is_into_zeros(body: DeviceBody, scatter: int) -> bool:
    return body.form(body.nodes[scatter].inputs[0]) is NodeForm.BROADCAST


def _whole(body: DeviceBody, number: int, total: int, new: dict[int, DeviceNode], numbers: count[int]) -> int:
    """The value that is scattered into: gathered, if devices hold parts of it."""
    transfer, type_ = body.transfer(total), body.nodes[number].type if number in body.nodes else None
    if transfer is None or type_ is None:
        return number
    held = tuple(size or 0 for size in type_.shape)
    whole = transfer.collective.held_shape
    if prod(held) >= prod(whole):
        return number
    collective = replace(transfer.collective, kind="all_gather", held_shape=held, made_shape=whole, key=None)
    step = body.nodes[total].step
    gathered = Transfer(collective, (Sent(step, collective, 0),), changes=(_CHANGE,))
    place = next(numbers)
    made = TensorType(whole, collective.element_type)
    new[place] = DeviceNode(NodeRole.SENT, (number,), made, step, gathered)
    return place
