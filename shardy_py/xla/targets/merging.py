"""Products that share an operand, which XLA:GPU computes as one: all of them need what any of them needs.

    dot(x, w), dot(x, v)  ->  slices of dot(x, concatenate(w, v))

No collective changes; but sets of collectives that do not need each other do (`combining.py`). A pair is
merged if one of the two is small and neither needs the other. Source: openxla/xla,
xla/hlo/transforms/simplifiers/dot_merger.cc, and dot_decomposer.cc there for the forms that it compares.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import isqrt, prod

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.xla.targets.facet import NodeForm
from shardy_py.xla.targets.model import DeviceBody, DeviceNode, NodeRole
from shardy_py.xla.targets.parts import bytes_of, shape_of

_MOST_BYTES = 64 << 20
"""The bytes of operands and result of a product that is merged with any other.

XLA's flag for it is `xla_gpu_dot_merger_threshold_mb`."""
_SAME = (NodeForm.RESHAPE, NodeForm.COPY)


@dataclass(slots=True)
class _Product:
    """A product, or several that were merged.

    form: equal for all that may be merged if they share an operand. node: that computes it. operands: keys
    of both. bytes: of operands and result; given: of the
    operands. members: as bits.
    """

    node: int
    inputs: tuple[int, int]
    operands: tuple[Hashable, Hashable]
    form: Hashable
    bytes: int
    given: tuple[int, int]
    elements: int
    members: int


_FEW_ELEMENTS = 10_000_000
"""The elements of matrices of a product from which on it is computed as one, also if one is a vector."""


def is_vector_product(batch: int, made: int, left: int, right: int) -> bool:
    """True for products of a batch that are computed as multiplications and sums: one operand is a vector.

    made, left, right: the elements of the result and of the operands. Source: openxla/xla,
    xla/service/gpu/gpu_algebraic_simplifier.cc.

    >>> [is_vector_product(4, 4 * rows * 64, 4 * rows * 32, 4 * 64 * 32) for rows in (1, 2)]
    [True, False]
    """
    if not (batch and made):
        return False
    contracted = isqrt(left * right // (made * batch))
    rows, columns = (size // (batch * contracted) if contracted else 0 for size in (left, right))
    return min(rows, columns) == 1 and (rows == columns or (rows + columns) * contracted < _FEW_ELEMENTS)


def merged(body: DeviceBody, numbers: count[int]) -> DeviceBody:
    """The body with products that share an operand as one each."""
    known: _Known = {}
    products = [each for number in sorted(body.order) if (each := _product(body, number, known)) is not None]
    classes: dict[tuple[int, Hashable, Hashable], list[int]] = defaultdict(list)
    for place, each in enumerate(products):
        each.members = 1 << place
        for side, key in enumerate(each.operands):
            classes[side, key, each.form].append(place)
    if all(len(places) < 2 for places in classes.values()):
        return body
    needs = _needs(body, {each.node: each.members for each in products})
    new: dict[int, DeviceNode] = {}
    instead: dict[int, int] = {}
    taken = 0
    for (side, _, _), places in classes.items():
        left = [products[place] for place in places if not taken >> place & 1]
        while left:
            (one, *others), left = left, list[_Product]()
            for other in others:
                first, second = needs.get(one.node, 0), needs.get(other.node, 0)
                apart = not first & other.members and not second & one.members
                if not apart or min(one.bytes, other.bytes) > _MOST_BYTES:
                    left.append(other)
                    continue
                one = _together(body, one, other, side, new, instead, numbers)
                taken |= one.members
                before = first | second
                if before:
                    needs[one.node] = before
                joined = before | one.members
                needs |= {at: found | joined for at, found in needs.items() if found & one.members}
    return body.edited(new, instead)


def _together(
    body: DeviceBody,
    one: _Product,
    other: _Product,
    side: int,
    new: dict[int, DeviceNode],
    instead: dict[int, int],
    numbers: count[int],
) -> _Product:
    """Two products as one, on the `side` that they share; if the first is several, it takes in the other."""
    first, second = new.get(one.node) or body.nodes[one.node], body.nodes[other.node]
    shared, own = one.inputs[side], one.inputs[1 - side]
    if one.node in new:
        product, joined, before, added = one.node, own, new[own].inputs, [(other.node, second)]
    else:
        product, joined, before = next(numbers), next(numbers), (own,)
        added = [(one.node, first), (other.node, second)]
    new[joined] = DeviceNode(NodeRole.OP, (*before, other.inputs[1 - side]))
    inputs = (shared, joined) if side == 0 else (joined, shared)
    elements = one.elements + other.elements
    new[product] = DeviceNode(NodeRole.OP, inputs, TensorType((elements,), _element(first)), first.step)
    for whole, node in added:
        part = instead[whole] = next(numbers)
        new[part] = DeviceNode(NodeRole.OP, (product,), node.type)
    size = one.bytes + other.bytes - one.given[side]
    return replace(
        one,
        node=product,
        inputs=inputs,
        bytes=size,
        elements=elements,
        members=one.members | other.members,
    )


def _product(body: DeviceBody, number: int, known: _Known) -> _Product | None:
    """The product that a node computes; None for other nodes, and for products without free dimensions.

    known: the kinds of products before it, which receives its own.
    """
    node = body.nodes[number]
    if len(node.inputs) != 2 or node.step is None or node.role is not NodeRole.OP:
        return None
    record = node.step.record
    if "dot_dimension_numbers" not in record.attributes:
        return None
    types = [body.nodes[each].type if each in body.nodes else None for each in node.inputs]
    key = id(record), id(node.type), *map(id, types)
    if key not in known:  # what these identify lives as long as the body
        known[key] = _kind(record, node.type, _with_outer(record, node.type, types))
    kind = known[key]
    if kind is None:
        return None
    left, right = node.inputs
    keys = _operand(body, left, kind.operands[0]), _operand(body, right, kind.operands[1])
    return _Product(number, (left, right), keys, kind.form, kind.bytes, kind.given, kind.elements, 0)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The products of one op of operands and a result of some types; see `_Product`."""

    operands: tuple[_Form, _Form]
    form: Hashable
    bytes: int
    given: tuple[int, int]
    elements: int


def _kind(record: OpRecord, made: TensorType | None, types: Sequence[TensorType | None]) -> _Kind | None:
    """The kind of a product; None if it has no free dimensions, or is of a vector."""
    own = [type_ for type_ in types if type_ is not None]
    ranks = [None if type_ is None else type_.rank for type_ in record.operands[:2]]
    if made is None or [type_.rank for type_ in own] != ranks:
        return None
    numbers = DotDimensions.of(record.attributes)
    left, right = _form(own[0], numbers, 0), _form(own[1], numbers, 1)
    batch = prod(shape_of(own[0])[d] for d in numbers.batching[0])
    sizes = (prod(shape_of(each)) for each in (made, *own))
    if left is None or right is None or is_vector_product(batch, *sizes):
        return None
    elements = tuple(type_.element for type_ in (*own, made))
    form = (left[0], right[0]), elements, str(record.attributes.get("precision_config"))
    given = bytes_of(own[0]), bytes_of(own[1])
    return _Kind((left, right), form, sum(given) + bytes_of(made), given, prod(shape_of(made)))


def _with_outer(
    record: OpRecord, made: TensorType | None, types: Sequence[TensorType | None]
) -> Sequence[TensorType | None]:
    """The types of operands, of which one may be of a computation around: by the other and the result."""
    missing = [side for side, type_ in enumerate(types) if type_ is None]
    if made is None or len(missing) != 1:
        return types
    (side,) = missing
    given, known = record.operands[side], types[1 - side]
    if given is None or known is None:
        return types
    numbers = DotDimensions.of(record.attributes)
    batch, contracted = numbers.batching, numbers.contracting
    free = [d for d in range(given.rank) if d not in batch[side] and d not in contracted[side]]
    ends = made.rank - len(free) if side else len(batch[side])
    sizes = dict(zip(batch[side], made.shape, strict=False))
    sizes |= zip(free, made.shape[ends:], strict=False)
    sizes |= {
        own: known.shape[other] for own, other in zip(contracted[side], contracted[1 - side], strict=True)
    }
    shape = tuple([sizes.get(d) for d in range(given.rank)])
    found = [*types]
    found[side] = TensorType(shape, given.element)
    return found


_Form = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The form of an operand with one free and one contracted dimension behind its batch: the position of the
latter, the order of the operand's dimensions in them, and its shape."""
_Known = dict[tuple[int, ...], "_Kind | None"]
"""Kinds of products by the identities of a record, its result's type and its operands'."""


def _form(type_: TensorType, numbers: DotDimensions, side: int) -> _Form | None:
    """The form of an operand that a product reads; None if it has no free dimensions, or contracts none."""
    shape = shape_of(type_)
    batch, contracted = numbers.batching[side], numbers.contracting[side]
    free = tuple(i for i in range(len(shape)) if i not in batch and i not in contracted)
    if not free or not contracted:
        return None
    orders = [(*batch, *free, *contracted), (*batch, *contracted, *free)]
    natural = [i for i, order in enumerate(orders) if order == tuple(range(len(shape)))]
    major = natural[0] if natural else side
    sizes = [prod(shape[i] for i in dimensions) for dimensions in (free, contracted)]
    ends = sizes if major == 0 else sizes[::-1]
    return len(batch) + 1 - major, orders[major], (*(shape[i] for i in batch), *ends)


def _operand(body: DeviceBody, number: int, form: _Form) -> Hashable:
    """The key of an operand in a form: the value that it is a reshape of, if its dimensions are in order."""
    _, order, shape = form
    is_ordered = order == tuple(range(len(order)))
    while is_ordered and body.form(number) in _SAME:
        number = body.nodes[number].inputs[0]
    return number, () if is_ordered else order, shape


def _needs(body: DeviceBody, products: Mapping[int, int]) -> dict[int, int]:
    """For each product that needs others those, as bits."""
    before: dict[int, int] = {}
    found: dict[int, int] = {}
    nodes = body.nodes
    for number in body.order:
        needed = 0
        for each in nodes[number].inputs:
            if each in before:
                needed |= before[each]
        if number in products:
            if needed:
                found[number] = needed
            needed |= products[number]
        if needed:
            before[number] = needed
    return found


def _element(node: DeviceNode) -> str:
    return "" if node.type is None else node.type.element
