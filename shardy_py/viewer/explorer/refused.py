"""Why the largest tensors are not sharded along the axes that they do not use: the reasons that a page shows.

A question is a value, a dimension and an axis. Values of one type and sharding that ops of one name make, as
those of equal layers, are alike: the first is asked. The values that take the most bytes on a device come
first, and no more than `MOST_QUESTIONS` questions are asked, of large programs fewer, because an answer takes
time proportional to the program. Not here: the answers (`report/explain/why_not.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import Attribute

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.plain import tensor_type
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of
from shardy_py.sharding.slices import local_shape
from shardy_py.viewer.explorer.items import Items

if TYPE_CHECKING:
    from shardy_py.report.explain import WhyNot

MOST_QUESTIONS = 300
_VALUES_SEARCHED = 100_000
"""The values of the program for all questions, of which at least `_FEWEST` are asked."""
_FEWEST = 4
_MOST_REASONS = 2


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a dimension of a value, by its position in the value table, is not sharded along an axis."""

    value: int
    dimension: int
    axis: str
    reasons: tuple[str, ...]


def alike(items: Items, shardings: Sequence[TensorSharding | None]) -> list[int]:
    """By value, the first one that is alike. shardings: by value."""
    first: dict[Hashable, int] = {}
    keys = (
        (entry.type, shardings[number], entry.op.name if entry.role == "intermediate" else number)
        for number, entry in enumerate(items.table.entries)
    )
    return [first.setdefault(key, number) for number, key in enumerate(keys)]


def refused(
    items: Items,
    shardings: Sequence[TensorSharding | None],
    meshes: Mapping[str, Mesh],
    why_not: WhyNot | None,
    first_alike: Sequence[int],
) -> Iterator[Refused]:
    """Yields the answers for the largest drawn values; none without an explainer.

    shardings: by value. first_alike: that of `alike`.
    """
    if why_not is None:
        return
    entries = items.table.entries
    drawn = [number for number in dict.fromkeys(first_alike) if items.maker[number] >= 0]
    sizes = {n: _bytes_on_a_device(entries[n].type, shardings[n], meshes) for n in drawn}
    left = min(MOST_QUESTIONS, max(_FEWEST, _VALUES_SEARCHED // max(1, len(entries))))
    for number in sorted(drawn, key=lambda n: (-sizes[n], n)):
        for dimension, axis in _questions(entries[number].type, shardings[number], meshes):
            if left == 0:
                return
            left -= 1
            answers = why_not.reasons(entries[number], dimension, axis)
            yield Refused(number, dimension, axis, tuple(map(str, answers[:_MOST_REASONS])))


def _bytes_on_a_device(type_: Attribute, sharding: TensorSharding | None, meshes: Mapping[str, Mesh]) -> int:
    tensor = tensor_type(type_)
    if tensor is None or None in tensor.shape:
        return 0
    shape = tuple(size or 0 for size in tensor.shape)
    if sharding is not None:
        shape = local_shape(sharding, mesh_of(sharding, meshes), shape)
    return prod(shape) * element_type(tensor.element).bits // 8


def _questions(
    type_: Attribute, sharding: TensorSharding | None, meshes: Mapping[str, Mesh]
) -> Iterator[tuple[int, str]]:
    """Each dimension with each axis of the mesh, of size above 1, that no dimension has."""
    tensor = tensor_type(type_)
    if tensor is None:
        return
    known = (mesh_of(sharding, meshes),) if sharding else tuple(meshes.values())[:1]
    used = {axis.name for each in sharding.dimensions for axis in each.axes} if sharding else set[str]()
    for dimension, size in enumerate(tensor.shape):
        for axis in known[0].axes if known and size != 1 else ():
            if axis.size > 1 and axis.name not in used:
                yield dimension, axis.name
