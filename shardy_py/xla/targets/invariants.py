"""Collectives in loops that need nothing that the loop changes, moved before the loop: on the host only.

Source: openxla/xla, xla/service/while_loop_invariant_code_motion.cc. XLA's backends for GPUs and TPUs do not
run it on partitioned programs, so that weights are gathered again in each iteration.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from shardy_py.ops import TABLE, Control
from shardy_py.xla.spmd.from_program import has_effects
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, PassChange, Transfer

MOTION = "while-loop-invariant-code-motion"


def hoisted(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with what the loops in it send of unchanged values moved before these."""
    del numbers  # nodes keep theirs
    for number in body.order:
        node = body.nodes[number]
        if node.bodies and node.trips > 1 and TABLE[node.name].control is Control.LOOP:
            body = _hoisted(body, number)
    return body


def _hoisted(body: DeviceBody, loop: int) -> DeviceBody:
    node = body.nodes[loop]
    inner = node.bodies[-1]
    known = _invariant(inner)
    moved = _needed(inner, [each for each in inner.sent if each in known])
    if not moved:
        return body
    arguments = {
        number: node.inputs[inner.nodes[number].index] for number in moved if _is_argument(inner, number)
    }
    outside: dict[int, DeviceNode] = {}
    for number in inner.order:
        if number in moved and number not in arguments:
            own = inner.nodes[number]
            inputs = tuple(arguments.get(each, each) for each in own.inputs)
            transfer = None if own.transfer is None else _once(own.transfer, node.trips)
            outside[number] = replace(own, inputs=inputs, transfer=transfer)
    left = {number: each for number, each in inner.nodes.items() if number not in outside}
    bodies = (*node.bodies[:-1], DeviceBody(left, inner.arguments, inner.results, inner.captured))
    read = {each for number in bodies[-1].order for each in left[number].inputs if each in outside}
    inputs = (*node.inputs, *sorted(read - {*node.inputs}))
    return body.edited({**outside, loop: replace(node, inputs=inputs, bodies=bodies)}, {})


def _invariant(inner: DeviceBody) -> set[int]:
    """The nodes of the body of a loop whose values are the same in each iteration."""
    found: set[int] = set()
    returned = {*inner.results}
    for number in inner.order:
        node = inner.nodes[number]
        if node.role is NodeRole.ARGUMENT:
            is_unchanged = inner.results[node.index : node.index + 1] == (number,)
        else:
            acts = node.role is NodeRole.OP and node.step is not None and has_effects(node.step)
            can_move = number not in returned and not node.bodies and not acts
            is_unchanged = can_move and all(each in found or each not in inner.nodes for each in node.inputs)
        if is_unchanged:
            found.add(number)
    return found


def _needed(inner: DeviceBody, wanted: list[int]) -> set[int]:
    """These nodes of a body, with those of it that they need."""
    found: set[int] = set()
    left = wanted
    while left:
        number = left.pop()
        if number in inner.nodes and number not in found:
            found.add(number)
            left += inner.nodes[number].inputs
    return found


def _is_argument(inner: DeviceBody, number: int) -> bool:
    return inner.nodes[number].role is NodeRole.ARGUMENT


def _once(transfer: Transfer, trips: int) -> Transfer:
    one = transfer.collective
    reason = f"nothing that it needs changes in {trips} iterations: one before the loop"
    times = max(1, one.times // trips)
    return transfer.changed(PassChange(MOTION, reason), replace(one, times=times, key=None))
