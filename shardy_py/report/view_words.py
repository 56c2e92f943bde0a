"""Describes one sharding in words: axes of each dimension, sizes of shards, copies, the shard of a device.

Not here: pictures (`view_picture.py` as text, `view_svg.py`), the arithmetic (`sharding/slices.py`).

>>> from shardy_py.sharding import DimensionSharding, MeshAxis
>>> mesh = Mesh((MeshAxis("x", 2), MeshAxis("y", 4)))
>>> y = DimensionSharding((AxisRef("y"),), is_closed=True)
>>> print(describe(TensorSharding("mesh", (y, DimensionSharding())), mesh, (10, 3)))
sharding <@mesh, [{"y"}, {?}]>
mesh <["x"=2, "y"=4]>: 8 devices
tensor 10x3: 30 elements; every device allocates 3x3: 9 elements (30%)
dimension 0 of 10: sharded along "y" into 4 shards of 3; the last shard has 1
dimension 1 of 3: not sharded; open: propagation may shard it
each element is on 2 devices, which differ along "x"
>>> print(describe_device(TensorSharding("mesh", (y, DimensionSharding())), mesh, (10, 3), 7))
device 7: position 7 of the mesh, "x"=1, "y"=3
dimension 0 of 10: shard 3 of 0 to 3 ("y"=3): elements 9:10, then 2 of padding
dimension 1 of 3: not sharded
holds [9:10, 0:3]: 3 elements of 9 allocated
devices 3, 7 hold the same elements
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardy_py.base.counting import counted
from shardy_py.sharding import AxisRef, DeviceSlices, DimensionSharding, Mesh, TensorSharding, device_slices
from shardy_py.sharding.axis_lists import Axes, difference
from shardy_py.sharding.slices import MOST_LISTED, Split, axis_index, short_text
from shardy_py.sharding.spelling import string_literal

Shape = Sequence[int | None]


def describe(sharding: TensorSharding, mesh: Mesh, shape: Shape) -> str:
    """Returns a description of the sharding of a tensor of `shape`, a line a fact.

    Raises:
        ShardyError: the sharding does not fit mesh or shape, or a size is dynamic.
    """
    slices = device_slices(sharding, mesh, shape)
    local, count = slices.local_shape, prod(slices.shape)
    share = f" ({prod(local) / count * 100:.3g}%)" if count else ""
    text = str(sharding)
    if isinstance(sharding.mesh, Mesh):
        text = text.replace(str(sharding.mesh), short_text(sharding.mesh))
    whole = f"{shape_text(slices.shape)}: {counted(count, 'element')}"
    part = f"{shape_text(local)}: {counted(prod(local), 'element')}{share}"
    lines = [f"sharding {text}", f"mesh {short_text(mesh)}: {counted(mesh.device_count, 'device')}"]
    lines.append(f"tensor {whole}; every device allocates {part}")
    dimensions = sharding.dimensions or (DimensionSharding(is_closed=True),) * len(slices.shape)
    for number, (size, (cut, *_)) in enumerate(zip(slices.shape, slices.splits, strict=True)):
        clauses = "; ".join(_dimension(cut, size, dimensions[number], mesh))
        lines.append(f"dimension {number} of {size}: {clauses}")
    return "\n".join([*lines, *_copies(sharding, slices)])


def describe_device(sharding: TensorSharding, mesh: Mesh, shape: Shape, device_id: int) -> str:
    """Returns a description of the shard of one device, and of how it follows from its position in the mesh.

    Raises:
        ShardyError: as `describe`, or the mesh has no such device.
    """
    slices = device_slices(sharding, mesh, shape)
    held = slices.of(device_id)
    if held is None:
        return f"device {device_id} holds nothing: the tensor is on device {mesh.maximal_device_id}"
    position = mesh.position_of(device_id) or 0
    places = [f"position {position} of the mesh", *_coordinates(mesh, _all_axes(mesh), position)]
    lines = [f"device {device_id}: {', '.join(places)}"]
    part = slices.part_at(position)
    for number, ((cut, *_), size) in enumerate(zip(slices.splits, slices.shape, strict=True)):
        text = "not sharded"
        if cut.axes:
            start, length = held.offset[number], held.size[number]
            padding = f"{cut.part_size - length} of padding" if length < cut.part_size else ""
            elements = f"elements {start}:{start + length}" if length else "no elements"
            then = (", then " if length else ", ") + padding if padding else ""
            digits = ", ".join(_coordinates(mesh, cut.axes, position))
            text = f"shard {part[number]} of 0 to {cut.parts - 1} ({digits}): {elements}{then}"
        lines.append(f"dimension {number} of {size}: {text}")
    count, allocated = prod(held.size), prod(slices.local_shape)
    lines.append(f"holds {held}: {counted(count, 'element')} of {allocated:,} allocated")
    if 1 < slices.replication <= MOST_LISTED:
        lines.append(f"devices {ids_text(slices.holders(part))} hold the same elements")
    if slices.unreduced_axes:
        lines.append(f"its values are partial, to be reduced along {_listed(slices.unreduced_axes)}")
    return "\n".join(lines)


def shape_text(shape: Sequence[int]) -> str:
    """Returns sizes with `x` between them.

    >>> shape_text((8, 16)), shape_text(())
    ('8x16', 'scalar')
    """
    return "x".join(map(str, shape)) or "scalar"


def ids_text(ids: Sequence[int] | NDArray[np.int64], most: int = 8) -> str:
    """Returns ascending device ids; three and more consecutive ones as a range, long lists shortened.

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


def axes_text(cut: Split) -> str:
    """Returns the axes of a dimension in short: `along "x", "y":(1)2`, or `not sharded`."""
    return f"along {_listed(cut.axes)}" if cut.axes else "not sharded"


def _dimension(cut: Split, size: int, dimension: DimensionSharding, mesh: Mesh) -> Iterator[str]:
    """Returns a clause for the axes, major ones first, for uneven shards, for openness, and for priority."""
    if not cut.axes:
        yield "not sharded"
    else:
        axes = [f"{_axis(axis, mesh)} into {axis.size(mesh)}" for axis in cut.axes]
        shards = f": {cut.parts} shards of" if len(axes) > 1 else " shards of"
        yield f"sharded along {', then '.join(axes)}{shards} {cut.part_size}"
    if size and cut.parts * cut.part_size != size:
        full, rest = divmod(size, cut.part_size)
        empty = cut.parts - full - (rest > 0)
        if rest:
            yield f"{f'shard {full}' if empty else 'the last shard'} has {rest}"
        if empty:
            yield f"the last {empty} are empty" if empty > 1 else "the last shard is empty"
    if not dimension.is_closed:
        yield "open: propagation may shard it" + (" further" if cut.axes else "")
    if dimension.priority is not None:
        yield f"priority {dimension.priority}"


def _axis(axis: AxisRef, mesh: Mesh) -> str:
    """Returns the axis; a sub-axis with the sizes that the full axis splits into."""
    part = axis.sub_axis
    if part is None:
        return str(axis)
    rest = mesh.sizes[axis.name] // part.next_pre_size
    sizes = [part.pre_size, part.size, rest]
    shown = [size for place, size in enumerate(sizes) if size > 1 or place == 1]
    place = ("major", "middle", "minor")[0 if part.pre_size == 1 else 1 if rest > 1 else 2]
    return f"{axis} (the {place} sub-axis of {string_literal(axis.name)} = {' x '.join(map(str, shown))})"


def _copies(sharding: TensorSharding, slices: DeviceSlices) -> Iterator[str]:
    mesh = slices.mesh
    if mesh.is_maximal:
        yield f"device {mesh.maximal_device_id} holds the whole tensor, other devices hold nothing"
        return
    if not mesh.axes:
        yield "every device holds the whole tensor"
        return
    used = [axis for cuts in slices.splits for cut in cuts for axis in cut.axes]
    free = difference(_all_axes(mesh), (*used, *sharding.unreduced_axes), mesh)
    copies = prod(axis.size(mesh) for axis in free)
    what = "partial value" if sharding.unreduced_axes else "element"
    if copies > 1:
        wide = tuple(axis for axis in free if axis.size(mesh) > 1)
        yield f"each {what} is on {copies:,} devices, which differ along {_listed(wide)}"
    elif not sharding.unreduced_axes:
        yield "each element is on one device"
    if sharding.replicated_axes:
        yield f"explicitly replicated along {_listed(sharding.replicated_axes)}"
    if sharding.unreduced_axes:
        terms = prod(axis.size(mesh) for axis in sharding.unreduced_axes)
        along, reduction = _listed(sharding.unreduced_axes), sharding.reduction
        yield f"unreduced along {along}: each element is the {reduction} of {terms} partial values"


def _coordinates(mesh: Mesh, axes: Axes, position: int) -> list[str]:
    return [f"{axis}={axis_index(mesh, axis, position)}" for axis in axes]


def _all_axes(mesh: Mesh) -> Axes:
    return tuple(AxisRef(axis.name) for axis in mesh.axes)


def _listed(axes: Sequence[AxisRef]) -> str:
    return ", ".join(map(str, axes))
