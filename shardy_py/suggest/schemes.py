"""Named schemes: where the axes of a mesh go, by the roles of dimensions; and single changes of a choice.

Not here: what a choice costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from shardy_py.sharding import Mesh
from shardy_py.suggest.roles import Roles

Axes = tuple[str, ...]
Choice = tuple[tuple[Axes, ...], ...]
"""By tensor, the axes of each dimension, major to minor."""


def schemes(roles: Roles, mesh: Mesh) -> dict[str, Choice]:
    """Returns the named schemes that apply to a program, by name.

    The last axis of the mesh is that of the model, the others are of data. A dimension takes the axes whose
    product divides it.
    """
    axes = tuple(axis.name for axis in mesh.axes if axis.size > 1)
    data, model = axes[:-1], axes[-1:]
    make = _Schemes(roles, {axis.name: axis.size for axis in mesh.axes})
    inner, batch = roles.inner, roles.batch
    found: dict[str, Choice] = {"replicated": make.placed({})}
    if batch is not None:
        found["data parallel"] = make.placed({batch: axes})
        found["FSDP"] = make.with_split_weights(found["data parallel"], axes)
        if len(axes) > 1:
            found["FSDP along data"] = make.with_split_weights(make.placed({batch: data}), data)
    if inner:
        rows = {} if batch is None else {batch: data}
        columns = dict.fromkeys(sorted(inner), model)
        found["Megatron 1D"] = make.placed(rows | columns)
        if len(axes) > 1:
            found["Megatron 2D"] = make.with_split_weights(found["Megatron 1D"], data)
        if roles.sequence is not None:
            found["Megatron 1D, sequence parallel"] = make.placed(rows | columns | {roles.sequence: model})
    if roles.sequence is not None and batch is not None:
        found["sequence parallel"] = make.placed({batch: data, roles.sequence: model})
    if roles.experts:
        placed = dict.fromkeys(sorted(roles.experts), model)
        found["expert parallel"] = make.placed(({} if batch is None else {batch: axes}) | placed)
        found["expert parallel along all axes"] = make.placed(
            ({} if batch is None else {batch: axes}) | dict.fromkeys(sorted(roles.experts), axes)
        )
    return {
        name: choice
        for name, choice in found.items()
        if name == "replicated" or choice != found["replicated"]
    }


class _Schemes:
    def __init__(self, roles: Roles, sizes: Mapping[str, int]) -> None:
        self._roles, self._sizes = roles, sizes

    def placed(self, by_class: Mapping[int, Axes]) -> Choice:
        """Shards the dimensions of some classes; an axis shards one dimension of a tensor."""
        return tuple(
            self._tensor(tensor.shape, classes, by_class)
            for tensor, classes in zip(self._roles.tensors, self._roles.classes, strict=True)
        )

    def _tensor(
        self, shape: Sequence[int], classes: Sequence[int], by_class: Mapping[int, Axes]
    ) -> tuple[Axes, ...]:
        used: set[str] = set()
        found: list[Axes] = []
        for size, own in zip(shape, classes, strict=True):
            wanted = tuple(axis for axis in by_class.get(own, ()) if axis not in used)
            found.append(self._dividing(size, (), wanted))
            used.update(found[-1])
        return tuple(found)

    def _dividing(self, size: int, has: Axes, more: Axes) -> Axes:
        """Adds the axes that divide what is left of a dimension."""
        for axis in more:
            if size % prod(self._sizes[each] for each in (*has, axis)) == 0:
                has = (*has, axis)
        return has

    def with_split_weights(self, choice: Choice, axes: Axes) -> Choice:
        """Shards all that is not data along these axes too: its largest dimension that they divide."""
        return tuple(
            own if self._roles.is_data(i) else self._split(self._roles.tensors[i].shape, own, axes)
            for i, own in enumerate(choice)
        )

    def _split(self, shape: Sequence[int], own: tuple[Axes, ...], axes: Axes) -> tuple[Axes, ...]:
        left = tuple(axis for axis in axes if not any(axis in each for each in own))
        order = sorted(range(len(shape)), key=lambda d: (bool(own[d]), -shape[d], d))
        for dimension in order:
            taken = self._dividing(shape[dimension], own[dimension], left)
            if len(taken) == len(own[dimension]) + len(left):
                return (*own[:dimension], taken, *own[dimension + 1 :])
        return own


def moves_of(
    roles: Roles, mesh: Mesh, fixed: frozenset[int]
) -> tuple[tuple[tuple[int, ...], str, int | None], ...]:
    """Returns single changes: a group of tensors, an axis, and the dimension to shard (None: none).

    Groups of more bytes come first. fixed: tensors that keep their sharding.
    """
    sizes = {axis.name: axis.size for axis in mesh.axes if axis.size > 1}
    groups = [tuple(i for i in group if i not in fixed) for group in roles.groups()]
    groups = [group for group in groups if group and roles.tensors[group[0]].shape]
    groups.sort(key=lambda group: (-sum(roles.tensors[i].bytes for i in group), group))
    return tuple(_moves(roles, groups, sizes))


def _moves(
    roles: Roles, groups: Sequence[tuple[int, ...]], sizes: Mapping[str, int]
) -> Iterator[tuple[tuple[int, ...], str, int | None]]:
    for group in groups:
        shape = roles.tensors[group[0]].shape
        for axis, size in sizes.items():
            yield group, axis, None
            for dimension, extent in enumerate(shape):
                if extent % size == 0:
                    yield group, axis, dimension


def moved(choice: Choice, group: Sequence[int], axis: str, dimension: int | None) -> Choice:
    """Returns a choice in which an axis shards another dimension of some tensors, as its last axis."""
    found = list(choice)
    for index in group:
        without = [tuple(each for each in axes if each != axis) for axes in choice[index]]
        if dimension is not None:
            without[dimension] = (*without[dimension], axis)
        found[index] = tuple(without)
    return tuple(found)
