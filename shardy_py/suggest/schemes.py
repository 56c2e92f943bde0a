"""Named schemes: where the axes of a mesh go, by the roles of dimensions.

Not here: changes of a choice (`moves.py`), what a choice costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from shardy_py.sharding import Mesh
from shardy_py.suggest.roles import Roles

Axes = tuple[str, ...]
Spec = tuple[Axes, ...]
"""The axes of each dimension of a tensor, major to minor."""
Choice = tuple[Spec | None, ...]
"""By tensor, its sharding; None: values inside without a constraint."""


def schemes(roles: Roles, mesh: Mesh) -> dict[str, Choice]:
    """Returns the named schemes that apply to a program, by name.

    The last axis of the mesh is that of the model, the others are of data. A dimension takes the axes whose
    product divides it. Schemes that split weights along axes of data constrain values inside, so that these
    stay sharded as the data.
    """
    axes = tuple(axis.name for axis in mesh.axes if axis.size > 1)
    data, model = axes[:-1], axes[-1:]
    make = _Schemes(roles, mesh.sizes)
    inner, batch, sequence = roles.inner, roles.batch, roles.sequence
    everywhere: dict[int, Axes] = {} if batch is None else {batch: axes}
    rows: dict[int, Axes] = {} if batch is None else {batch: data}
    columns = dict.fromkeys(sorted(inner), model)
    found: dict[str, Choice] = {"replicated": make.placed({})}
    if batch is not None:
        found["data parallel"] = make.placed(everywhere)
        found["FSDP"] = make.with_split_weights(everywhere, axes)
        if data:
            found["FSDP along data"] = make.with_split_weights(rows, data)
    if inner:
        found["Megatron 1D"] = make.placed(rows | columns)
        if data:
            found["Megatron 2D"] = make.with_split_weights(rows | columns, data)
        if sequence is not None:
            found["Megatron 1D, sequence parallel"] = make.placed(rows | columns | {sequence: model})
    if sequence is not None and batch is not None:
        found["sequence parallel"] = make.placed(rows | {sequence: model})
    if roles.experts:
        for name, along in (("expert parallel", model), ("expert parallel along all axes", axes)):
            found[name] = make.placed(everywhere | dict.fromkeys(sorted(roles.experts), along))
    return {n: c for n, c in found.items() if n == "replicated" or c != found["replicated"]}


class _Schemes:
    def __init__(self, roles: Roles, sizes: Mapping[str, int]) -> None:
        self._roles, self._sizes = roles, sizes

    def placed(self, by_class: Mapping[int, Axes]) -> Choice:
        """Shards the dimensions of some classes; an axis shards one dimension of a tensor."""
        return tuple(
            None if tensor.values else self._tensor(tensor.shape, classes, by_class)
            for tensor, classes in zip(self._roles.tensors, self._roles.classes, strict=True)
        )

    def _tensor(self, shape: Sequence[int], classes: Sequence[int], by_class: Mapping[int, Axes]) -> Spec:
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

    def with_split_weights(self, by_class: Mapping[int, Axes], axes: Axes) -> Choice:
        """Shards dimensions of classes, and what is not data along these axes: its largest dimension."""
        roles, found = self._roles, list[Spec | None]()
        for index, tensor in enumerate(roles.tensors):
            own = self._tensor(tensor.shape, roles.classes[index], by_class)
            is_weight = not (tensor.values or roles.is_data(index))
            found.append(self._split(tensor.shape, own, axes) if is_weight else own)
        return tuple(found)

    def _split(self, shape: Sequence[int], own: Spec, axes: Axes) -> Spec:
        left = tuple(axis for axis in axes if not any(axis in each for each in own))
        order = sorted(range(len(shape)), key=lambda d: (bool(own[d]), -shape[d], d))
        for dimension in order:
            taken = self._dividing(shape[dimension], own[dimension], left)
            if len(taken) == len(own[dimension]) + len(left):
                return (*own[:dimension], taken, *own[dimension + 1 :])
        return own
