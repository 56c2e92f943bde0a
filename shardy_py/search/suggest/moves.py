"""Single changes of a choice: an axis shards another dimension of all tensors of a class, or of one group.

Not here: which change is kept (`search.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.search.suggest.roles import Roles
from shardy_py.search.suggest.schemes import Choice, Spec
from shardy_py.sharding import Mesh

_NEGLIGIBLE = 1e-4
"""The part of the bytes of all arguments below which a group keeps the sharding of the start."""


@dataclass(frozen=True, slots=True)
class AnnotationMove:
    """An axis, and by tensor the dimension that it shards (None: none). An empty axis sets annotations.

    rank: of tensors that may have no annotation yet. spec: what an empty axis sets; None: no annotation.
    """

    axis: str
    dimensions: tuple[tuple[int, int | None], ...]
    rank: int = 0
    spec: Spec | None = None

    def applied(self, choice: Choice) -> Choice:
        """Returns the choice after the change; the axis becomes the minor one of its dimension.

        >>> AnnotationMove("x", ((0, 1),)).applied(((("x",), ()),))
        (((), ('x',)),)
        """
        found = list(choice)
        for index, dimension in self.dimensions:
            own = choice[index]
            if not self.axis:
                found[index] = self.spec
            else:
                found[index] = self._moved(own or ((),) * self.rank, dimension)
        return tuple(found)

    def _moved(self, own: Spec, dimension: int | None) -> Spec:
        without = [tuple(each for each in axes if each != self.axis) for axes in own]
        if dimension is not None:
            without[dimension] = (*without[dimension], self.axis)
        return tuple(without)


def moves_of(roles: Roles, mesh: Mesh, fixed: frozenset[int] = frozenset()) -> tuple[AnnotationMove, ...]:
    """Returns the changes to try: those of whole classes first, then of groups, of most bytes first.

    fixed: tensors that keep their sharding.
    """
    sizes = {axis.name: axis.size for axis in mesh.axes if axis.size > 1}
    free = [i for i, tensor in enumerate(roles.tensors) if i not in fixed and tensor.shape]
    return (*_class_moves(roles, free, sizes), *_group_moves(roles, free, sizes))


def _class_moves(roles: Roles, free: Sequence[int], sizes: Mapping[str, int]) -> Iterator[AnnotationMove]:
    """Changes of all arguments that have dimensions of one kind and size, in several groups."""
    held: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for index in free:
        if not roles.tensors[index].values:
            for dimension, own in enumerate(roles.classes[index]):
                size = roles.tensors[index].shape[dimension]
                held[roles.kind(own), size].setdefault(index, dimension)
    order = sorted(held.items(), key=lambda item: -sum(roles.tensors[i].bytes for i in item[1]))
    for (_, size), by_tensor in order:
        if len({roles.tensors[i].shape for i in by_tensor}) < 2:
            continue
        for axis, count in sizes.items():
            if size % count == 0:
                yield AnnotationMove(axis, tuple(by_tensor.items()))


def _group_moves(roles: Roles, free: Sequence[int], sizes: Mapping[str, int]) -> Iterator[AnnotationMove]:
    allowed = {*free}
    groups = [tuple(i for i in group if i in allowed) for group in roles.groups()]
    groups += [(i,) for i in free if roles.tensors[i].values]
    least = _NEGLIGIBLE * sum(tensor.bytes for tensor in roles.tensors[: roles.arguments])
    groups = [group for group in groups if sum(roles.tensors[i].bytes for i in group) >= least and group]
    groups.sort(key=lambda group: (-sum(roles.tensors[i].bytes for i in group), group))
    for group in groups:
        tensor = roles.tensors[group[0]]
        for axis, size in sizes.items():
            yield AnnotationMove(axis, tuple((i, None) for i in group), len(tensor.shape))
            for dimension, extent in enumerate(tensor.shape):
                if extent % size == 0:
                    yield AnnotationMove(axis, tuple((i, dimension) for i in group), len(tensor.shape))
        for spec in (None, tensor.own) if tensor.own else (None,) if tensor.values else ():
            yield AnnotationMove("", tuple((i, None) for i in group), spec=spec)


def divides(choice: Choice, roles: Roles, sizes: Mapping[str, int]) -> bool:
    """Returns whether the axes of each dimension divide it, and none shards two of a tensor."""
    shapes = (tensor.shape for tensor in roles.tensors)
    pairs = {*zip(choice, shapes, strict=True)}  # layers repeat few
    return all(own is None or _fits(own, shape, sizes) for own, shape in pairs)


def _fits(own: Spec, shape: Sequence[int], sizes: Mapping[str, int]) -> bool:
    axes = [axis for each in own for axis in each]
    used = {*axes}
    return len(used) == len(axes) and sizes.keys() >= used and divides_all(own, shape, sizes)


def divides_all(own: Spec, shape: Sequence[int], sizes: Mapping[str, int]) -> bool:
    """Returns whether the axes of each dimension divide its size."""
    return not any(n % prod(sizes[a] for a in each) for n, each in zip(shape, own, strict=False))
