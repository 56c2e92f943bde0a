"""Named schemes: where the axes of a mesh go, by the roles of dimensions.

Not here: changes of a choice (`moves.py`), what a choice costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.search.suggest.roles import Roles
from shardy_py.sharding import Mesh

Axes = tuple[str, ...]
Spec = tuple[Axes, ...]
"""The axes of each dimension of a tensor, major to minor."""
Choice = tuple[Spec | None, ...]
"""By tensor, its sharding; None: values inside without a constraint."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of schemes: axes of the mesh, and the classes that they shard."""

    make: _Schemes
    roles: Roles
    axes: Axes

    @property
    def data(self) -> Axes:
        return self.axes[:-1]

    @property
    def model(self) -> Axes:
        return self.axes[-1:]

    def batch(self, axes: Axes) -> dict[int, Axes]:
        return {} if self.roles.batch is None else {self.roles.batch: axes}

    def positions(self) -> dict[int, Axes]:
        return {} if self.roles.sequence is None else {self.roles.sequence: self.model}

    def inner(self) -> dict[int, Axes]:
        return dict.fromkeys(sorted(self.roles.inner), self.model)

    def experts(self, axes: Axes) -> dict[int, Axes]:
        return dict.fromkeys(sorted(self.roles.experts), axes)


_NEEDS: dict[str, tuple[Callable[[_Parts], bool], str]] = {
    "batch": (lambda p: p.roles.batch is not None, "no batch dimension"),
    "data axis": (lambda p: bool(p.data), "the mesh has no second axis"),
    "inner": (lambda p: bool(p.roles.inner), "no inner dimension of weights"),
    "positions": (lambda p: p.roles.sequence is not None, "no dimension of positions beside the samples"),
    "experts": (lambda p: bool(p.roles.experts), "no weights that are batched in products with data"),
}
"""Conditions of schemes, and what is missing where they do not hold."""

_SCHEMES: dict[str, tuple[tuple[str, ...], Callable[[_Parts], Choice]]] = {
    "replicated": ((), lambda p: p.make.placed({})),
    "data parallel": (("batch",), lambda p: p.make.placed(p.batch(p.axes))),
    "FSDP": (("batch",), lambda p: p.make.with_split_weights(p.batch(p.axes), p.axes)),
    "FSDP along data": (
        ("batch", "data axis"),
        lambda p: p.make.with_split_weights(p.batch(p.data), p.data),
    ),
    "Megatron 1D": (("inner",), lambda p: p.make.placed(p.batch(p.data) | p.inner())),
    "Megatron 2D": (
        ("inner", "data axis"),
        lambda p: p.make.with_split_weights(p.batch(p.data) | p.inner(), p.data),
    ),
    "Megatron 1D, sequence parallel": (
        ("inner", "positions"),
        lambda p: p.make.placed(p.batch(p.data) | p.inner() | p.positions()),
    ),
    "sequence parallel": (
        ("positions", "batch"),
        lambda p: p.make.placed(p.batch(p.data) | p.positions()),
    ),
    "expert parallel": (("experts",), lambda p: p.make.placed(p.batch(p.axes) | p.experts(p.model))),
    "expert parallel along all axes": (
        ("experts",),
        lambda p: p.make.placed(p.batch(p.axes) | p.experts(p.axes)),
    ),
}
"""By name, the conditions of a scheme and how it is made."""


def schemes(roles: Roles, mesh: Mesh) -> dict[str, Choice]:
    """Returns the named schemes that apply to a program, by name.

    The last axis of the mesh is that of the model, the others are of data. A dimension takes the axes whose
    product divides it. Schemes that split weights along axes of data constrain values inside, so that these
    stay sharded as the data.
    """
    return {name: found for name, found in _tried(roles, mesh) if not isinstance(found, str)}


def absent_schemes(roles: Roles, mesh: Mesh) -> dict[str, str]:
    """Returns why the other named schemes do not apply, by name."""
    return {name: found for name, found in _tried(roles, mesh) if isinstance(found, str)}


def _tried(roles: Roles, mesh: Mesh) -> Iterator[tuple[str, Choice | str]]:
    axes = tuple(axis.name for axis in mesh.axes if axis.size > 1)
    parts = _Parts(_Schemes(roles, mesh.sizes), roles, axes)
    replicated = parts.make.placed({})
    for name, (needs, make) in _SCHEMES.items():
        missing = next((why for holds, why in map(_NEEDS.__getitem__, needs) if not holds(parts)), None)
        found = make(parts) if missing is None else missing
        is_same = found == replicated and name != "replicated"
        yield name, "the axes divide none of its dimensions" if is_same else found


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
