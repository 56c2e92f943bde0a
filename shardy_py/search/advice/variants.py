"""Shardings that a tensor could have instead: an axis removed, moved or added; the batch sharded.

Not here: of which tensors (`proposals.py`), whether they help (`adviser.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import total_size

Shape = tuple[int | None, ...]
AxesOfDimensions = tuple[tuple[AxisRef, ...], ...]


def variants(
    sharding: TensorSharding, shape: Shape, mesh: Mesh, axes: Sequence[str]
) -> Iterator[TensorSharding]:
    """Returns the shardings that differ in one of `axes`: moved, swapped, added, then removed.

    >>> mesh, x = Mesh.of(x=2), AxisRef("x")
    >>> rows = TensorSharding("mesh", (DimensionSharding((x,), True), DimensionSharding((), True)))
    >>> [str(each) for each in variants(rows, (8, 8), mesh, ["x"])]
    ['<@mesh, [{}, {"x"}]>', '<@mesh, [{}, {}]>']
    """
    given = tuple(dimension.axes for dimension in sharding.dimensions)
    found = dict.fromkeys(
        changed for name in axes for changed in _changed(given, AxisRef(name)) if changed != given
    )
    yield from (_closed(sharding, each) for each in found if fits(each, shape, mesh))


def batch_variants(
    sharding: TensorSharding | None,
    mesh_name: str | Mesh,
    shape: Shape,
    mesh: Mesh,
    batch: tuple[AxisRef, ...],
) -> Iterator[TensorSharding]:
    """Returns the shardings whose first dimension is sharded along the axes of the batch.

    The other dimensions keep their other axes, or are not sharded.
    """
    names = {axis.name for axis in batch}
    given = ((),) * len(shape) if sharding is None else tuple(d.axes for d in sharding.dimensions)
    kept = tuple(() if any(axis.name in names for axis in axes) else axes for axes in given[1:])
    base = TensorSharding(mesh_name, (DimensionSharding(is_closed=True),) * len(shape))
    for rest in dict.fromkeys((kept, ((),) * (len(shape) - 1))):
        if fits((batch, *rest), shape, mesh):
            yield _closed(base, (batch, *rest))


def fits(axes: AxesOfDimensions, shape: Shape, mesh: Mesh) -> bool:
    """Returns whether the axes divide the sizes, and none is used twice."""
    used = [axis.name for each in axes for axis in each]
    if len(set(used)) < len(used) or any(name not in mesh.sizes for name in used):
        return False
    pairs = zip(axes, shape, strict=True)
    return all(size is not None and not size % total_size(each, mesh) for each, size in pairs if each)


def _changed(given: AxesOfDimensions, axis: AxisRef) -> Iterator[AxesOfDimensions]:
    held = next((i for i, axes in enumerate(given) if axis in axes), None)
    without = tuple(tuple(each for each in axes if each != axis) for axes in given)
    for i in range(len(given)):
        if i != held:
            yield _with(without, i, (*without[i], axis))
            if held is not None and given[i]:
                yield _with(_with(given, i, given[held]), held, given[i])
    yield without


def _with(axes: AxesOfDimensions, dimension: int, new: tuple[AxisRef, ...]) -> AxesOfDimensions:
    return (*axes[:dimension], new, *axes[dimension + 1 :])


def _closed(sharding: TensorSharding, axes: AxesOfDimensions) -> TensorSharding:
    return replace(sharding, dimensions=tuple(DimensionSharding(each, is_closed=True) for each in axes))
