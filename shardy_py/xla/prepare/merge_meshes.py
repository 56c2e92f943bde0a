"""`xla-merge-meshes`: merges meshes over the same devices: HLO keeps axes without names.

    @a = <["x"=2, "y"=4]>, @b = <["z"=8]>:    <@b, [{"z"}]> becomes <@a, [{"x", "y"}]>

The mesh with the most axes stays. As XLA's sdy_round_trip/dedup_meshes.cc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import gcd, prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects.sdy import ManualAxesAttr, ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.mlir.ir import find_ops
from shardy_py.mlir.sharding_walk import transform_shardings
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import of_kind
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import append_axes

Axes = tuple[AxisRef, ...]
Translation = Mapping[str, Axes]
"""From each axis of a mesh to the axes and sub-axes of another mesh that it consists of, major to minor."""


def merge_meshes(module: ModuleOp) -> None:
    """Merges meshes over the same devices."""
    meshes = Symbols(module).meshes()
    translations = _translations(meshes)
    if not translations:
        return
    for computation in find_ops(module, ManualComputationOp.name):
        _translate_manual_axes(computation.properties, translations, meshes)
    transform_shardings(module, partial(_translated, translations=translations, meshes=meshes))


def translation(mesh: Mesh, main: Mesh) -> Translation | None:
    """The axes of `mesh` in terms of those of `main`, a mesh of as many devices; None if there are none."""
    axes: dict[str, Axes] = {axis.name: () for axis in mesh.axes}
    rest = [(axis, axis.size) for axis in reversed(main.axes) if axis.size > 1]
    for axis in mesh.axes:
        left = axis.size
        while left > 1:
            target, size = rest.pop()
            taken = gcd(left, size)
            if taken != min(left, size):
                return None
            part = None if taken == target.size else SubAxis(target.size // size, taken)
            axes[axis.name] += (AxisRef(target.name, part),)
            left //= taken
            if size > taken:
                rest.append((target, size // taken))
    return axes


def _translations(meshes: Mapping[str, Mesh]) -> dict[str, tuple[str, Translation]]:
    """The name of each mesh that is merged, with the mesh that stays and the translation to it."""
    groups: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for name, mesh in meshes.items():
        count = prod(axis.size for axis in mesh.axes) if mesh.axes else -1
        groups.setdefault((count, mesh.device_ids), []).append(name)
    translations: dict[str, tuple[str, Translation]] = {}
    for names in groups.values():
        main = max(names, key=lambda name: _rank(meshes[name]))
        for name in names:
            if name != main and (how := translation(meshes[name], meshes[main])) is not None:
                translations[name] = (main, how)
    return translations


def _rank(mesh: Mesh) -> tuple[bool, int]:
    """Meshes whose axes have generated names (`_...`) come last; then the number of axes counts."""
    is_real = not (mesh.axes and mesh.axes[0].name.startswith("_"))
    return is_real, sum(axis.size > 1 for axis in mesh.axes)


def _translated(
    sharding: TensorSharding, translations: Mapping[str, tuple[str, Translation]], meshes: Mapping[str, Mesh]
) -> TensorSharding:
    if not isinstance(sharding.mesh, str) or sharding.mesh not in translations:
        return sharding
    main, how = translations[sharding.mesh]
    old, new = meshes[sharding.mesh], meshes[main]

    def axes_of(axes: Axes) -> Axes:
        return append_axes((), (part for axis in axes for part in _parts(axis, old, new, how)), new)

    def dimension_of(dimension: DimensionSharding) -> DimensionSharding:
        return replace(dimension, axes=axes_of(dimension.axes))

    return TensorSharding(
        main,
        tuple(map(dimension_of, sharding.dimensions)),
        axes_of(sharding.replicated_axes),
        axes_of(sharding.unreduced_axes),
    )


def _parts(axis: AxisRef, old: Mesh, new: Mesh, how: Translation) -> Axes:
    """The axes of the new mesh that an axis or sub-axis of the old one consists of."""
    if axis.sub_axis is None:
        return how[axis.name]
    inner = Mesh.of({str(number): part.size(new) for number, part in enumerate(how[axis.name])})
    pieces = Mesh.of(
        {
            "before": axis.sub_axis.pre_size,
            "it": axis.sub_axis.size,
            "after": old.sizes[axis.name] // axis.sub_axis.next_pre_size,
        }
    )
    split = translation(pieces, inner)
    if split is None:
        raise ShardyError(f"{axis} of the mesh {old} has no counterpart in the mesh {new}")
    return tuple(_inside(how[axis.name][int(part.name)], part) for part in split["it"])


def _inside(outer: AxisRef, part: AxisRef) -> AxisRef:
    """The sub-axis of `outer` that is `part` of an axis of its size."""
    if part.sub_axis is None:
        return outer
    return AxisRef(outer.name, SubAxis(outer.pre_size * part.sub_axis.pre_size, part.sub_axis.size))


def _translate_manual_axes(
    properties: dict[str, Attribute],
    translations: Mapping[str, tuple[str, Translation]],
    meshes: Mapping[str, Mesh],
) -> None:
    shardings = [
        sharding
        for name in ("in_shardings", "out_shardings")
        for sharding in of_kind(properties[name], TensorShardingPerValueAttr).data
    ]
    named = {sharding.mesh for sharding in shardings if isinstance(sharding.mesh, str)}
    going = [name for name in named if name in translations]
    if not going:
        return
    main, how = translations[going[0]]
    manual = of_kind(properties["manual_axes"], ManualAxesAttr)
    new = append_axes((), (part for name in manual.data for part in how[name]), meshes[main])
    for axis in new:
        if axis.sub_axis is not None:
            axes = ", ".join(manual.data)
            raise ShardyError.unsupported(
                f"manual sub-axis {axis} of the mesh {meshes[main]}, for the manual axes {axes},",
                remedy="use meshes of the same axes",
            )
    properties["manual_axes"] = ManualAxesAttr(tuple(axis.name for axis in new))
