"""Random meshes, shardings and shapes; and what devices hold, by enumeration."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from random import Random

import numpy as np

from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, SubAxis, TensorSharding
from shardy_py.sharding.slices import Slice

Case = tuple[TensorSharding, Mesh, tuple[int, ...]]


def random_case(seed: int) -> Case:
    """Up to 96 devices, rank up to 3; sizes need not divide and may be 0; half of the meshes are permuted."""
    random = Random(seed)
    axes = tuple(MeshAxis(name, random.choice((1, 2, 3, 4, 6, 8))) for name in "xyz"[: random.randint(0, 3)])
    count = prod(axis.size for axis in axes)
    while count > 96:
        axes, count = axes[:-1], count // axes[-1].size
    ids = random.sample(range(count), count) if axes and random.random() < 0.5 else ()
    mesh = Mesh(axes, tuple(ids))
    rank = random.randint(0, 3)
    return random_sharding(random, mesh, rank), mesh, tuple(random.randint(0, 13) for _ in range(rank))


def random_sharding(random: Random, mesh: Mesh, rank: int) -> TensorSharding:
    """Each axis, or each part of a splitting of it, in a dimension, replicated, unreduced or free."""
    pieces = [piece for axis in mesh.axes for piece in _pieces(random, axis)]
    random.shuffle(pieces)
    places: list[list[AxisRef]] = [[] for _ in range(rank + 3)]
    for piece in pieces:
        places[random.randrange(rank + 3)].append(piece)
    dimensions = tuple(DimensionSharding(tuple(axes)) for axes in places[:rank])
    replicated, unreduced = sorted(places[rank], key=str), sorted(places[rank + 1], key=str)
    return TensorSharding("mesh", dimensions, tuple(replicated), tuple(unreduced))


def _pieces(random: Random, axis: MeshAxis) -> list[AxisRef]:
    """The axis, or a splitting of it into sub-axes."""
    sizes, left = list[int](), axis.size
    while left > 1:
        sizes.append(random.choice([d for d in range(2, left + 1) if left % d == 0]))
        left //= sizes[-1]
    if len(sizes) < 2:
        return [AxisRef(axis.name)]
    return [AxisRef(axis.name, SubAxis(prod(sizes[:i]), size)) for i, size in enumerate(sizes)]


def enumerated(sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...]) -> dict[int, Slice]:
    """The slice of each device id: axes are split for good, then devices are counted out to the parts."""
    names: list[tuple[str, int]] = []
    sizes: list[int] = []
    refs = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    for axis in mesh.axes:
        cuts = {1, axis.size}
        for ref in refs:
            if ref.name == axis.name and ref.sub_axis:
                cuts |= {ref.sub_axis.pre_size, ref.sub_axis.pre_size * ref.sub_axis.size}
        points = sorted(cuts) if axis.size > 1 else [1, 1]
        for start, end in pairwise(points):
            names.append((axis.name, start))
            sizes.append(end // start)
    ids = np.array(mesh.device_ids or range(prod(sizes))).reshape(sizes)
    found: dict[int, Slice] = {}
    for place in np.ndindex(*sizes):
        starts, lengths = list[int](), list[int]()
        for size, dimension in zip(shape, sharding.dimensions, strict=True):
            part, parts = 0, 1
            for ref in dimension.axes:
                start = ref.sub_axis.pre_size if ref.sub_axis else 1
                end = start * ref.sub_axis.size if ref.sub_axis else mesh.sizes[ref.name]
                for (name, at), digit, base in zip(names, place, sizes, strict=True):
                    if name == ref.name and start <= at < max(end, 2):
                        part, parts = part * base + digit, parts * base
            chunk = (size + parts - 1) // parts
            elements = [i for i in range(size) if chunk and i // chunk == part]
            starts.append(elements[0] if elements else size)
            lengths.append(len(elements))
        found[int(ids[place])] = Slice(tuple(starts), tuple(lengths))
    return found
