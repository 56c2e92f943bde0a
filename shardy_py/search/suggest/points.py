"""Points for sharding constraints: results of products of data, in groups over layers.

Not here: the roles of dimensions (`roles.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from shardy_py.search.suggest.roles import AnnotatedTensor, DimensionClasses, DimensionLink, Roles

_MOST = 8
"""Groups that are proposed at most: those of most bytes."""


def points_of(
    roles: Roles,
    links: Sequence[DimensionLink],
    number: DimensionClasses,
    values: Mapping[int, AnnotatedTensor],
    own: Sequence[AnnotatedTensor] = (),
) -> Roles:
    """Returns the roles with the points as further tensors, and then those that the program constrains.

    A point is a group of results of products that have the batch dimension and dimensions of equal kinds and
    sizes, of at least two products, as those of repeated blocks. values: by the slot of a product, what may
    be constrained for it: values with their names and places, and the slot of the first.
    """
    groups: dict[tuple[object, ...], list[AnnotatedTensor]] = defaultdict(list)
    for link in links:
        (*_, slot) = link.slots
        if not link.is_product or slot not in values:
            continue
        tensor = values[slot]
        classes = number.of(tensor.slot, len(tensor.shape))
        if roles.batch in classes:
            groups[tensor.shape, tensor.element, tuple(map(roles.kind, classes))].append(tensor)
    repeated = [group for group in groups.values() if len(group) > 1]
    repeated.sort(key=lambda group: -sum(each.bytes for each in group))
    points = [*(_joined(group) for group in repeated[:_MOST]), *own]
    classes = [number.of(each.slot, len(each.shape)) for each in points]
    return replace(roles, tensors=(*roles.tensors, *points), classes=(*roles.classes, *classes))


def _joined(group: Sequence[AnnotatedTensor]) -> AnnotatedTensor:
    listed = tuple(dict.fromkeys(pair for each in group for pair in each.values))
    return replace(group[0], values=listed)
