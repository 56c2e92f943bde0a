"""Passes on all-reduces: of all-reduces, of sums of all-reduces, and of what is only sliced afterwards.

Source: openxla/xla, xla/service/all_reduce_folder.cc, xla/service/reduce_scatter_utils.cc,
xla/hlo/transforms/collectives/all_reduce_reassociate.cc. Not here: the order of passes (`compiled.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from math import inf, prod

from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing.layout import element_type
from shardy_py.ops import TABLE, TensorType
from shardy_py.xla.spmd.tiling import Shape, Tiling
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole, PassChange, Transfer

_REDUCE = "all_reduce"
_LOOKED_THROUGH = (NodeForm.RESHAPE, NodeForm.PAD, NodeForm.SLICE, NodeForm.CONVERT, NodeForm.COPY)
REASSOCIATION = "all-reduce-reassociate"
Fits = Callable[[Shape, Shape, str], bool]
"""Decides whether a sum of a shape is scattered in parts of another one, by the type of elements."""


def folded(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """All-reduces of all-reduces over other devices, as one over all of them.

    all_reduce(all_reduce(x) over a) over b  ->  all_reduce(x) over a, b
    """
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = new.get(number) or body.nodes[number]
        outer = node.transfer
        (source, *_) = node.inputs or (-1,)
        inner_node = new.get(source) or body.nodes.get(source)
        inner = None if inner_node is None else inner_node.transfer
        if outer is None or inner is None or inner_node is None or body.only_user(source) != number:
            continue
        if not outer.kind == inner.kind == _REDUCE or not _alike(outer, inner):
            continue
        group = product_of_groups(inner.collective.group, outer.collective.group)
        if group is None:
            continue
        change = PassChange(
            "all-reduce-folder", "the sum of a sum over other devices is one over all of them"
        )
        collective = replace(inner.collective, group=group, group_size=len(group))
        members = (*inner.members, *outer.members)
        made = replace(inner.changed(change, collective), members=members)
        new[number] = replace(node, inputs=inner_node.inputs, transfer=made)
    return body.edited(new, {})


def _alike(one: Transfer, other: Transfer) -> bool:
    types = one.collective.element_type == other.collective.element_type
    return types and one.reduction == other.reduction


def product_of_groups(inner: tuple[int, ...], outer: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the devices whose values are in a sum of sums; None if some would be in it twice."""
    if not inner or not outer or len(set(inner) & set(outer)) > 1:
        return None
    offsets = [device - inner[0] for device in inner]
    found = {device + offset for device in outer for offset in offsets}
    return tuple(sorted(found)) if len(found) == len(inner) * len(outer) else None


@dataclass(frozen=True, slots=True)
class _Side:
    """An operand of a sum that is an all-reduce: its node, and the slice of it, if only a part is added."""

    sent: int
    slice: int = -1
    converts: bool = False


def reassociated(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """Sums of all-reduces over the same devices, as all-reduces of sums; each used once.

    add(all_reduce(x), all_reduce(y))  ->  all_reduce(add(x, y))
    """
    while True:
        new: dict[int, DeviceNode] = {}
        instead: dict[int, int] = {}
        # An all-reduce is used once, so that no two sums of a round move the same one.
        for number in _sums_of_sums(body):
            _reassociate(body, number, numbers, new, instead)
        if not new:
            return body
        body = body.edited(new, instead)


def _sums_of_sums(body: DeviceBody) -> Iterator[int]:
    """The nodes with two inputs each of which is an all-reduce, or one in another form."""
    nodes, users = body.nodes, body.users
    near = {number for number in body.sent if is_sum(body, number)}
    left = {user for number in near for user in users.get(number, ())}
    for number in body.order if left else ():
        if number not in left or nodes[number].transfer is not None:
            continue
        node = nodes[number]
        if node.inputs[0] in near:
            if node.role is NodeRole.SLICE or body.form(number) in _LOOKED_THROUGH:
                near.add(number)
                left.update(users.get(number, ()))
            elif len(node.inputs) == 2 and node.inputs[1] in near:
                yield number


def _reassociate(
    body: DeviceBody, number: int, numbers: count[int], new: dict[int, DeviceNode], instead: dict[int, int]
) -> None:
    """Moves all-reduces behind a node that adds two, by new nodes, and others that are read instead."""
    node = body.nodes[number]
    row = TABLE.get(node.name)
    if row is None or row.combiner is None or len(node.inputs) != 2 or node.type is None:
        return
    sides = [_side(body, each) for each in node.inputs]
    left, right = sides
    if left is None or right is None or left.sent == right.sent or (left.slice < 0) != (right.slice < 0):
        return
    one, other = body.transfer(left.sent), body.transfer(right.sent)
    if one is None or other is None or not _compatible(body, node, (left, right), one, other):
        return
    shape = one.collective.held_shape if left.slice >= 0 else _shape(node.type)
    if prod(one.collective.held_shape) + prod(other.collective.held_shape) < prod(shape):
        return
    change = PassChange(REASSOCIATION, "a sum of sums over the same devices is added up first")
    collective = replace(
        one.collective,
        held_shape=shape,
        made_shape=shape,
        element_type=node.type.element,
        key=None,
        times=max(one.collective.times, other.collective.times),
    )
    made = replace(
        one.changed(change, collective),
        members=(*one.members, *other.members),
        changes=(*one.changes, *(c for c in other.changes if c not in one.changes), change),
    )
    sums, after = next(numbers), next(numbers)
    whole = TensorType(shape, node.type.element)
    # What is between each all-reduce and the sum is of the local value now.
    first, second = (body.nodes[side.sent].inputs[0] for side in (left, right))
    new[after] = DeviceNode(NodeRole.SENT, (sums,), whole, node.step, made)
    if left.slice >= 0:
        part = next(numbers)
        new[sums] = replace(node, inputs=(first, second), type=whole)
        new[part] = replace(body.nodes[left.slice], inputs=(after,), type=node.type)
        instead[number] = part
    else:
        new[sums] = node
        instead |= {left.sent: first, right.sent: second, number: after}


def _side(body: DeviceBody, number: int) -> _Side | None:
    """The all-reduce behind an operand, through what only changes its form; each used once."""
    node = body.nodes.get(number)
    if node is None:
        return None
    if node.role is NodeRole.SLICE:
        (source,) = node.inputs
        is_alone = is_sum(body, source) and body.only_user(source) is not None
        return _Side(source, number) if is_alone and body.only_user(number) is not None else None
    converts = False
    while not is_sum(body, number):
        node = body.nodes.get(number)
        form = body.form(number)
        if node is None or form not in _LOOKED_THROUGH or body.only_user(number) is None:
            return None
        converts = converts or form is NodeForm.CONVERT
        number = node.inputs[0]
    return _Side(number, converts=converts) if body.only_user(number) is not None else None


def is_sum(body: DeviceBody, number: int) -> bool:
    """Returns whether a node is the result of an all-reduce."""
    transfer = body.transfer(number)
    return transfer is not None and transfer.kind == _REDUCE


def _compatible(
    body: DeviceBody, node: DeviceNode, sides: tuple[_Side, _Side], one: Transfer, other: Transfer
) -> bool:
    left, right = sides
    made, types = node.type, (one.collective.element_type, other.collective.element_type)
    if made is None or one.reduction != other.reduction or one.reduction != node.name:
        return False
    if one.collective.group != other.collective.group:
        return False
    if left.slice >= 0:
        parts = body.nodes[left.slice], body.nodes[right.slice]
        same = one.collective.held_shape == other.collective.held_shape
        return same and types[0] == types[1] and _offsets(parts[0]) == _offsets(parts[1])
    if not (left.converts or right.converts):
        return types[0] == types[1]
    converted = [kind for kind, side in zip(types, sides, strict=True) if side.converts]
    return len(set(converted)) == 1 and all(_bits(kind) <= _bits(made.element) for kind in types)


def _offsets(node: DeviceNode) -> object:
    return node.type, None if node.tiling is None else node.tiling.devices


def _bits(element: str) -> int:
    return element_type(element).bits


def scattered(
    body: DeviceBody,
    numbers: count[int],
    most: float = inf,
    fits: Fits | None = None,
    *,
    along_one: bool = False,
) -> DeviceBody:
    """All-reduces of which each device keeps its part only, as reduce-scatters.

    slice(all_reduce(x))  ->  reduce_scatter(x)

    most: the devices of a mesh all of which may scatter a sum among them. fits: None: always. along_one: True
    for parts along one dimension only; XLA:GPU leaves the sums whose parts are along several.
    """
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node = body.nodes[number]
        transfer = node.transfer
        if transfer is None or transfer.kind != _REDUCE:
            continue
        for part in _parts(body, number):
            sliced = body.nodes[part]
            if sliced.type is None or not _is_own_part(transfer, sliced) or _is_large(transfer, sliced, most):
                continue
            held, shape = transfer.collective.held_shape, _shape(sliced.type)
            if along_one and _is_along_several(held, shape):
                continue
            shape = _scattered_shape(held, shape)
            if not _fits(transfer, shape, fits):
                continue
            change = PassChange("reduce-scatter-creator", "each device keeps its part of the sum only")
            collective = replace(transfer.collective, kind="reduce_scatter", made_shape=shape, key=None)
            made = transfer.changed(change, collective)
            new[part] = DeviceNode(NodeRole.SENT, node.inputs, sliced.type, node.step, made)
    return body.edited(new, {})


def unscattered(body: DeviceBody, numbers: count[int], most: float, fits: Fits) -> DeviceBody:
    """Reduce-scatters that the program has, as all-reduces where XLA:TPU does not scatter; see `scattered`.

    reduce_scatter(x)  ->  slice(all_reduce(x))
    """
    new: dict[int, DeviceNode] = {}
    for number in body.sent:
        node, transfer = body.nodes[number], body.nodes[number].transfer
        if transfer is None or transfer.kind != "reduce_scatter" or node.type is None:
            continue
        collective = transfer.collective
        shape = collective.made_shape or _shape(node.type)
        targets = () if node.step is None else node.step.targets
        devices = max((target.device_count for target in targets if target is not None), default=0)
        is_large = collective.group_size > most and collective.group_size == devices
        if not is_large and _fits(transfer, shape, fits):
            continue
        held = collective.held_shape
        change = PassChange("reduce-scatter-decomposer", "summed whole, of which each device slices its part")
        made = transfer.changed(change, replace(collective, kind=_REDUCE, made_shape=held, key=None))
        whole = next(numbers)
        new[whole] = replace(node, type=TensorType(held, collective.element_type), transfer=made)
        new[number] = DeviceNode(NodeRole.SLICE, (whole,), node.type)
    return body.edited(new, {})


def _fits(transfer: Transfer, made: Shape, fits: Fits | None) -> bool:
    """True if parts of a shape are such that the sum of a transfer is scattered."""
    held = transfer.collective.held_shape
    return fits is None or fits(held, made, transfer.collective.element_type)


def _parts(body: DeviceBody, number: int) -> Iterator[int]:
    """The slice that is all that reads a sum, or a reshape of it."""
    user = body.only_user(number)
    node = None if user is None else body.nodes.get(user)
    if node is not None and user is not None and body.form(user) is NodeForm.RESHAPE:
        user = body.only_user(user)
        node = None if user is None else body.nodes.get(user)
    if node is not None and node.role is NodeRole.SLICE and user is not None:
        yield user


def _is_own_part(transfer: Transfer, sliced: DeviceNode) -> bool:
    """True if device i of each group keeps part i of the sum."""
    collective, type_ = transfer.collective, sliced.type
    if type_ is None or prod(_shape(type_)) * collective.group_size != prod(collective.held_shape):
        return False
    held, made = collective.held_shape, _shape(type_)
    tiling = sliced.tiling
    if tiling is None or {len(held), len(tiling.dimensions)} != {len(made)} or not collective.group:
        return True
    if any(whole % size for whole, size in zip(held, made, strict=True)):
        return False
    return _numbers(tiling, held, made, collective.group) == tuple(range(collective.group_size))


def _is_large(transfer: Transfer, sliced: DeviceNode, most: float) -> bool:
    """True if a sum of all devices has too many of them."""
    size = transfer.collective.group_size
    return size > most and sliced.tiling is not None and size == sliced.tiling.device_count


def _numbers(tiling: Tiling, held: Shape, made: Shape, group: tuple[int, ...]) -> tuple[int, ...]:
    """The number of the part that each device of a group keeps, in row-major order of the parts."""
    if tiling.names or max(group) >= tiling.device_count:
        return tuple(range(len(group)))
    counts = tuple(whole // size for whole, size in zip(held, made, strict=True))
    return _parts_kept(tiling.devices, tiling.replicas, tiling.dimensions, counts, group)


@SESSION.cache(256)
def _parts_kept(
    devices: tuple[int, ...], replicas: int, tiles: tuple[int, ...], counts: Shape, group: tuple[int, ...]
) -> tuple[int, ...]:
    """The parts that the devices of a group keep. counts: of parts along each dimension."""
    places = {device: place // replicas for place, device in enumerate(devices)}
    found: list[int] = []
    for device in group:
        tile, number, stride = places[device], 0, 1
        for size, parts in zip(reversed(tiles), reversed(counts), strict=True):
            tile, at = divmod(tile, size)
            number += at % parts * stride
            stride *= parts
        found.append(number)
    return tuple(found)


def _is_along_several(held: Shape, made: Shape) -> bool:
    """True if a part is smaller than the whole along more than one dimension."""
    return len(held) == len(made) and sum(size < whole for whole, size in zip(held, made, strict=True)) > 1


def _scattered_shape(held: Shape, made: Shape) -> Shape:
    """The shape of a part of a sum: as sliced, or of as many elements if a reshape is between."""
    if len(held) == len(made):
        return made
    return (prod(made),)


def _shape(type_: TensorType) -> Shape:
    return tuple(size or 0 for size in type_.shape)
