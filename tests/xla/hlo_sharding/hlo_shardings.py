"""Random meshes and shardings over their axes, for tests of shardings by tiles."""

from __future__ import annotations

from math import prod
from random import Random

from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, SubAxis, TensorSharding
from shardy_py.sharding.axis_lists import sort_and_merge


def random_mesh(random: Random, *, with_device_ids: bool = False) -> Mesh:
    """A mesh of 2 to 200 devices."""
    while True:
        sizes = [random.choice([1, 2, 3, 4, 6, 8]) for _ in range(random.randint(1, 4))]
        if 2 <= prod(sizes) <= 200:
            break
    ids: tuple[int, ...] = ()
    if with_device_ids:
        ids = tuple(random.sample(range(prod(sizes)), prod(sizes)))
    axes = tuple(MeshAxis("abcd"[index], size) for index, size in enumerate(sizes))
    return Mesh(axes, () if ids == tuple(range(len(ids))) else ids)


def random_sharding(random: Random, mesh: Mesh, *, unreduced: bool = True) -> TensorSharding:
    """A valid sharding on `mesh`, called "mesh": with parts of axes, replicated and unreduced ones."""
    pool: list[AxisRef] = []
    for axis in mesh.axes:
        if axis.size in (4, 6, 8) and random.random() < 0.3:
            rest = axis.size // 2
            pool += [AxisRef(axis.name, SubAxis(1, 2)), AxisRef(axis.name, SubAxis(2, rest))]
        else:
            pool.append(AxisRef(axis.name))
    random.shuffle(pool)
    dimensions: list[list[AxisRef]] = [[] for _ in range(random.randint(1, 4))]
    replicated: list[AxisRef] = []
    partial: list[AxisRef] = []
    for axis in pool:
        choice = random.random()
        target = random.choice(dimensions)
        if choice < 0.55 and not (target and target[-1].can_merge(axis)):
            target.append(axis)
        elif choice < 0.7:
            replicated.append(axis)
        elif choice < 0.8 and unreduced:
            partial.append(axis)
    return TensorSharding(
        "mesh",
        tuple(DimensionSharding(tuple(axes), random.random() < 0.5) for axes in dimensions),
        sort_and_merge(replicated, mesh),
        sort_and_merge(partial, mesh),
    )
