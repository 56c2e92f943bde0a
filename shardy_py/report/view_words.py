"""One sharding in words: which axes cut which dimension in which order, where copies are, what a device has.

Not here: pictures (`view_picture.py` as text, `view_svg.py`), the arithmetic (`sharding/local.py`).

>>> from shardy_py.sharding import DimensionSharding, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 2), MeshAxis("y", 4)))
>>> y = DimensionSharding((AxisRef("y"),), is_closed=True)
>>> print(describe(TensorSharding("mesh", (y, DimensionSharding())), mesh, (10, 3)))
sharding <@mesh, [{"y"}, {?}]>
mesh <["x"=2, "y"=4]>: 8 devices
tensor 10x3: 30 elements; every device allocates 3x3: 9 elements (30%)
dimension 0 of 10: "y" cuts it into 4 parts of 3; the last part has 1
dimension 1 of 3: whole; open: propagation may shard it
each element is on 2 devices, which differ along "x"
>>> print(describe_device(TensorSharding("mesh", (y, DimensionSharding())), mesh, (10, 3), 7))
device 7: position 7 of the mesh, "x"=1, "y"=3
dimension 0 of 10: part 3 of 0 to 3 ("y"=3): elements 9:10, then 2 of padding
dimension 1 of 3: whole
holds [9:10, 0:3]: 3 elements of 9 allocated
the same is on devices 3, 7
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.sharding import AxisRef, DeviceSlices, DimensionSharding, Mesh, TensorSharding, device_slices
from shardy_py.sharding.axis_lists import Axes, difference
from shardy_py.sharding.slices import MOST_LISTED, Cut, axis_index, short_text

Shape = Sequence[int | None]


def describe(sharding: TensorSharding, mesh: Mesh, shape: Shape) -> str:
    """A sharding of a tensor of `shape` in words, a line a fact.

    Raises:
        ShardyError: the sharding does not fit mesh or shape, or a size is dynamic.
    """
    slices = device_slices(sharding, mesh, shape)
    local, whole = slices.local_shape, prod(slices.shape)
    share = f" ({prod(local) / whole * 100:.3g}%)" if whole else ""
    dimensions = sharding.dimensions or (DimensionSharding(is_closed=True),) * len(slices.shape)
    lines = [
        f"sharding {_sharding_text(sharding)}",
        f"mesh {short_text(mesh)}: {_devices(mesh.device_count)}",
        f"tensor {shape_text(slices.shape)}: {_elements(whole)}; every device allocates "
        f"{shape_text(local)}: {_elements(prod(local))}{share}",
        *(
            f"dimension {number} of {size}: {_dimension(cuts[0], size, dimension, mesh)}"
            for number, (size, cuts, dimension) in enumerate(
                zip(slices.shape, slices.cuts, dimensions, strict=True)
            )
        ),
        *_copies(sharding, slices),
    ]
    return "\n".join(lines)


def describe_device(sharding: TensorSharding, mesh: Mesh, shape: Shape, device_id: int) -> str:
    """What one device holds of a tensor of `shape`, and how that follows from its place in the mesh.

    Raises:
        ShardyError: as `describe`, or the mesh has no such device.
    """
    slices = device_slices(sharding, mesh, shape)
    held = slices.of(device_id)
    if held is None:
        return f"device {device_id} holds nothing: all is on device {mesh.maximal_device_id}"
    position = mesh.position_of(device_id) or 0
    places = [f"{axis}={axis_index(mesh, axis, position)}" for axis in _all_axes(mesh)]
    lines = [f"device {device_id}: {', '.join([f'position {position} of the mesh', *places])}"]
    part = slices.part_at(position)
    for number, (cuts, size) in enumerate(zip(slices.cuts, slices.shape, strict=True)):
        start, length = held.offset[number], held.size[number]
        lines.append(
            f"dimension {number} of {size}: {_part(cuts[0], part[number], start, length, mesh, position)}"
        )
    allocated = prod(slices.local_shape)
    lines.append(f"holds {held}: {_elements(prod(held.size))} of {allocated:,} allocated")
    if 1 < slices.replication <= MOST_LISTED:
        lines.append(f"the same is on devices {ids_text(slices.holders(part))}")
    if slices.unreduced_axes:
        lines.append(f"along {_listed(slices.unreduced_axes)} they hold terms, still to be reduced")
    return "\n".join(lines)


def shape_text(shape: Sequence[int]) -> str:
    """Sizes with `x` between; a scalar says so.

    >>> shape_text((8, 16)), shape_text(())
    ('8x16', 'scalar')
    """
    return "x".join(map(str, shape)) or "scalar"


def ids_text(ids: Sequence[int] | NDArray[np.int64], most: int = 8) -> str:
    """Device ids, ascending; three and more that follow each other are joined, and long lists cut short.

    >>> ids_text((0, 1, 2, 3, 8, 12, 13)), ids_text(range(0, 100, 2), most=4)
    ('0-3, 8, 12, 13', '0, 2, 4, ... (50)')
    """
    listed = np.asarray(ids, np.int64)
    starts = np.flatnonzero(np.diff(listed, prepend=-2) != 1)[: most + 1]
    texts: list[str] = []
    for start, end in pairwise([*starts.tolist(), len(listed)]):
        first, last = int(listed[start]), int(listed[end - 1])
        texts += [f"{first}-{last}"] if last > first + 1 else map(str, range(first, last + 1))
    if len(texts) > most:
        texts = [*texts[: most - 1], f"... ({len(ids):,})"]
    return ", ".join(texts)


def cut_text(cut: Cut) -> str:
    """By what a dimension is cut, shortly: `by "x", "y":(1)2`, or `whole`."""
    return f"by {_listed(cut.axes)}" if cut.axes else "whole"


def _dimension(cut: Cut, size: int, dimension: DimensionSharding, mesh: Mesh) -> str:
    parts = [", ".join(_cuts(cut, size, mesh)) or "whole", *_unevenness(cut, size)]
    if not dimension.is_closed:
        parts.append("open: propagation may shard it" + (" further" if cut.axes else ""))
    if dimension.priority is not None:
        parts.append(f"priority {dimension.priority}")
    return "; ".join(parts)


def _cuts(cut: Cut, size: int, mesh: Mesh) -> Iterator[str]:
    """One clause an axis, the major one first."""
    for number, axis in enumerate(cut.axes):
        what = "it" if number == 0 else "each of these"
        of = f" of {cut.part_size}" if number == len(cut.axes) - 1 else ""
        then = "then " if number else ""
        yield f"{then}{_axis(axis, mesh)} cuts {what} into {axis.size(mesh)} parts{of}"


def _axis(axis: AxisRef, mesh: Mesh) -> str:
    """The axis; a part of one with the split that it comes from."""
    part = axis.sub_axis
    if part is None:
        return str(axis)
    rest = mesh.sizes[axis.name] // part.next_pre_size
    sizes = [part.pre_size, part.size, rest]
    shown = [size for place, size in enumerate(sizes) if size > 1 or place == 1]
    place = ("major", "middle", "minor")[0 if part.pre_size == 1 else 1 if rest > 1 else 2]
    return f'{axis} (the {place} part of "{axis.name}" = {" x ".join(map(str, shown))})'


def _unevenness(cut: Cut, size: int) -> Iterator[str]:
    if cut.parts * cut.part_size == size or not size:
        return
    full, rest = divmod(size, cut.part_size)
    empty = cut.parts - full - (rest > 0)
    if rest:
        name = "the last part" if not empty else f"part {full}"
        yield f"{name} has {rest}"
    if empty:
        yield f"the last {empty} are empty" if empty > 1 else "the last part is empty"


def _copies(sharding: TensorSharding, slices: DeviceSlices) -> Iterator[str]:
    mesh = slices.mesh
    if mesh.is_maximal:
        yield f"all is on device {mesh.maximal_device_id}, nothing on any other"
        return
    if not mesh.axes:
        yield "every device holds all of it"
        return
    cutting = [axis for cuts in slices.cuts for cut in cuts for axis in cut.axes]
    free = difference(_all_axes(mesh), (*cutting, *sharding.unreduced_axes), mesh)
    copies = prod(axis.size(mesh) for axis in free)
    if copies > 1:
        wide = tuple(axis for axis in free if axis.size(mesh) > 1)
        kind = "terms" if sharding.unreduced_axes else "element"
        yield f"each {kind.rstrip('s')} is on {copies:,} devices, which differ along {_listed(wide)}"
    elif not sharding.unreduced_axes:
        yield "each element is on one device"
    if sharding.replicated_axes:
        yield f"replicated along {_listed(sharding.replicated_axes)}: propagation must not shard along them"
    if sharding.unreduced_axes:
        terms = prod(axis.size(mesh) for axis in sharding.unreduced_axes)
        yield (
            f"unreduced along {_listed(sharding.unreduced_axes)}: each element is the "
            f"{sharding.reduction} of {terms} terms on as many devices"
        )


def _part(cut: Cut, part: int, start: int, length: int, mesh: Mesh, position: int) -> str:
    if not cut.axes:
        return "whole"
    digits = ", ".join(f"{axis}={axis_index(mesh, axis, position)}" for axis in cut.axes)
    text = f"part {part} of 0 to {cut.parts - 1} ({digits}): "
    padding = cut.part_size - length
    if not length:
        return text + f"no elements, {padding} of padding"
    return text + f"elements {start}:{start + length}" + (f", then {padding} of padding" if padding else "")


def _sharding_text(sharding: TensorSharding) -> str:
    """As MLIR spells it; a mesh with many device ids is cut short."""
    text = str(sharding)
    if isinstance(sharding.mesh, Mesh):
        text = text.replace(str(sharding.mesh), short_text(sharding.mesh))
    return text


def _all_axes(mesh: Mesh) -> Axes:
    return tuple(AxisRef(axis.name) for axis in mesh.axes)


def _listed(axes: Sequence[AxisRef]) -> str:
    return ", ".join(map(str, axes))


def _devices(count: int) -> str:
    return f"{count:,} device{'s' if count != 1 else ''}"


def _elements(count: int) -> str:
    return f"{count:,} element{'s' if count != 1 else ''}"
