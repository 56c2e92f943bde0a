"""All-reduces in loops whose results are only added to a carried value, moved behind the loop.

    carried = carried + all_reduce(x), in each iteration
    ->  carried = carried + x, in each iteration; start + all_reduce(carried), once

Source: openxla/xla, xla/hlo/transforms/collectives/while_loop_all_reduce_code_motion.cc. Small sums that a
loop stacks are moved too. Not here: sums that are scattered into a carried value.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from shardy_py.ops import TABLE, Control, TensorType
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import ADD, ROOT, DeviceBody, DeviceNode, NodeRole, PassChange, Transfer

MOTION = "while-loop-all-reduce-code-motion"
_MOST_STACKED = 10 << 10
"""The bytes of all parts of a stacked sum that is moved, at most. XLA's flag for it is
`xla_while_loop_all_reduce_dus_code_motion_max_size_bytes`; jax 0.10.2, compiling for an H100, moves 10,240
bytes of 4, 8 or 16 iterations, and leaves 10,256."""
_FORWARDED = (NodeForm.CONVERT, NodeForm.RESHAPE, NodeForm.TRANSPOSE, NodeForm.SLICE, NodeForm.COPY)


def moved_out(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with all-reduces of the loops in it moved behind these, where they are only accumulated."""
    for number in body.order:
        node = body.nodes[number]
        step = node.step
        if not node.bodies or step is None or TABLE[node.name].control is not Control.LOOP:
            continue
        found = _movable(node.bodies[-1], node.trips)
        if found:
            body = _moved(body, number, found, numbers)
    return body


def _movable(body: DeviceBody, trips: int) -> dict[int, tuple[int, ...]]:
    """The all-reduces of a loop's body that can be moved, with the positions of the carried values."""
    found: dict[int, tuple[int, ...]] = {}
    taken = _element_positions(body)
    for number in body.order:
        transfer = body.transfer(number)
        if transfer is None or transfer.kind != "all_reduce":
            continue
        stacked = _stacked(body, number) if trips * transfer.result_bytes <= _MOST_STACKED else None
        if stacked is not None and stacked not in taken:
            found[number] = (stacked,)
        elif transfer.reduction == ADD and (carried := _accumulations(body, number)):
            found[number] = carried
    return found


def _element_positions(body: DeviceBody) -> set[int]:
    """The positions of elements of tuples, as of barriers, without those that nothing reads.

    XLA takes an element of any tuple for a use of the value that a loop carries at the same position.
    """
    elements: dict[int, set[int]] = {}
    for number in body.order:
        node = body.nodes[number]
        if node.role is NodeRole.ELEMENT:
            elements.setdefault(node.inputs[0], set()).add(node.index)
    found = set[int]()
    for number, own in elements.items():
        found.update(range(len(own)) if body.form(number) is NodeForm.BARRIER else own)
    return found


def _stacked(body: DeviceBody, number: int) -> int | None:
    """The position of the carried value that a sum becomes a part of, and that nothing else reads."""
    user = body.only_user(number)
    while user is not None and body.form(user) in (NodeForm.RESHAPE, NodeForm.CONVERT):
        number, user = user, body.only_user(user)
    if user is None or body.form(user) is not NodeForm.UPDATE or body.nodes[user].inputs[1] != number:
        return None
    origin = _origin(body, body.nodes[user].inputs[0], user)
    return origin if origin is not None and _end(body, user) == origin else None


def _accumulations(body: DeviceBody, number: int) -> tuple[int, ...]:
    """The positions of the carried values that a sum is added to; () if it has any other use."""
    found: list[int] = []
    left = [number]
    while left:
        at = left.pop()
        for user in body.users.get(at, ()):
            node = body.nodes.get(user)
            if node is None:
                return ()
            form = body.form(user)
            if form in _FORWARDED or form is NodeForm.BROADCAST:
                left.append(user)
                continue
            position = _carried(body, at, user, node)
            if position is None:
                return ()
            found.append(position)
    return tuple(found)


def _carried(body: DeviceBody, at: int, user: int, node: DeviceNode) -> int | None:
    """The position of the carried value that `user` adds `at` to, and that nothing else reads."""
    if node.name != ADD or len(node.inputs) != 2 or node.inputs[0] == node.inputs[1]:
        return None
    other = node.inputs[1] if node.inputs[0] == at else node.inputs[0]
    origin = _origin(body, other, user)
    end = _end(body, user)
    return origin if origin is not None and origin == end else None


def _origin(body: DeviceBody, number: int, user: int) -> int | None:
    """The position of the argument that a value is, in another form; nothing but `user` reads it."""
    while True:
        node = body.nodes.get(number)
        if node is None or body.only_user(number) != user:
            return None
        if node.role is NodeRole.ARGUMENT:
            return node.index
        if body.form(number) not in _FORWARDED:
            return None
        number, user = node.inputs[0], number


def _end(body: DeviceBody, number: int) -> int | None:
    """The position of the result that a value becomes, in another form, and nothing else."""
    while True:
        user = body.only_user(number)
        if user is None:
            return None
        if user == ROOT:
            return body.results.index(number) if body.results.count(number) == 1 else None
        if body.form(user) not in _FORWARDED:
            return None
        number = user


def _moved(body: DeviceBody, loop: int, found: dict[int, tuple[int, ...]], numbers: count[int]) -> DeviceBody:
    """The body around a loop with these all-reduces behind it."""
    node = body.nodes[loop]
    inner = node.bodies[-1]
    instead = {number: inner.nodes[number].inputs[0] for number in found}
    bodies = (*node.bodies[:-1], inner.edited({}, instead))
    new: dict[int, DeviceNode] = {loop: replace(node, bodies=bodies)}
    behind: dict[int, int] = {}
    elements = {body.nodes[each].index: each for each in body.users.get(loop, ()) if each != ROOT}
    for number, positions in found.items():
        transfer = inner.nodes[number].transfer
        assert transfer is not None
        for position in positions:
            element = elements.get(position)
            if element is None:
                continue
            type_ = body.nodes[element].type
            last, total = next(numbers), next(numbers)
            new[last] = DeviceNode(
                NodeRole.SENT, (element,), type_, node.step, _after(transfer, node.trips, type_)
            )
            # The sum is added to what the value was before the loop; one of parts takes its place.
            new[total] = DeviceNode(NodeRole.OP, (last, node.inputs[position]), type_)
            behind[element] = total
    edited = body.edited(new, {})
    fixed = {each: _but(edited.nodes[each], behind) for each in edited.order if each not in new}
    results = tuple(behind.get(each, each) for each in edited.results)
    return DeviceBody({**edited.nodes, **fixed}, edited.arguments, results)


def _but(node: DeviceNode, behind: dict[int, int]) -> DeviceNode:
    return replace(node, inputs=tuple(behind.get(each, each) for each in node.inputs))


def _after(transfer: Transfer, trips: int, type_: TensorType | None) -> Transfer:
    reason = f"each of {trips} iterations only adds it to a carried value, or keeps it: one behind the loop"
    one = transfer.collective
    shape = one.held_shape if type_ is None else tuple(size or 0 for size in type_.shape)
    times = max(1, one.times // max(trips, 1))
    collective = replace(one, times=times, held_shape=shape, made_shape=shape, key=None)
    return transfer.changed(PassChange(MOTION, reason), collective)
