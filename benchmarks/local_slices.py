"""How long it takes to say what every device holds, on meshes of 65,536 and of a million devices.

    python benchmarks/local_slices.py

prints one line a measurement. "told" values have formulas: local shape, and the slice of one device each.
"arrays a dimension" are read-only views of offsets and sizes over the grid of the mesh (`along`), from which
any device's are read. "arrays a device" are offsets and sizes as [devices, rank] integers (`by_device_id`).
Shardings and shapes are fixed by a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from time import perf_counter

from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding, device_slices
from shardy_py.sharding.slices import DeviceSlices

Value = tuple[TensorSharding, tuple[int, ...]]

COUNT = 10_000
LIMIT_SECONDS = 2


def mesh_of(sizes: Sequence[int], *, reverse: bool = False) -> Mesh:
    ids = tuple(reversed(range(prod(sizes)))) if reverse else ()
    return Mesh(tuple(MeshAxis(name, size) for name, size in zip("xyz", sizes, strict=False)), ids)


def values(mesh: Mesh, count: int, distinct: int) -> list[Value]:
    """So many values of rank 3 over the mesh, of which so many differ; every axis cuts a dimension."""
    random = Random(0)
    found: dict[Value, None] = {}
    while len(found) < distinct:
        axes: list[list[AxisRef]] = [[], [], []]
        for axis in random.sample(mesh.axes, len(mesh.axes)):
            axes[random.randrange(3)].append(AxisRef(axis.name))
        sharding = TensorSharding("mesh", tuple(DimensionSharding(tuple(a)) for a in axes))
        found[sharding, tuple(random.randint(1, 1 << 20) for _ in range(3))] = None
    listed = list(found)
    return listed + random.choices(listed, k=count - distinct)


def told(listed: Sequence[Value], mesh: Mesh) -> list[DeviceSlices]:
    """Equal (sharding, shape) once; each with its local shape and the slice of a device."""
    known: dict[Value, DeviceSlices] = {}
    result: list[DeviceSlices] = []
    last = mesh.device_count - 1
    for value in listed:
        slices = known.get(value)
        if slices is None:
            slices = known[value] = device_slices(value[0], mesh, value[1])
            assert slices.local_shape
            assert slices.of(last)
        result.append(slices)
    return result


def along(listed: Sequence[Value], mesh: Mesh) -> int:
    """What `told` does, and arrays a dimension for each that differs."""
    different = {id(slices): slices for slices in told(listed, mesh)}
    return sum(slices.along(d)[0].size for slices in different.values() for d in range(len(slices.shape)))


def arrays(listed: Sequence[Value], mesh: Mesh) -> int:
    """What `told` does, and arrays a device for each that differs; none is kept."""
    different = {id(slices): slices for slices in told(listed, mesh)}
    return sum(slices.by_device_id().offsets.size for slices in different.values())


def timed(name: str, run: Callable[[], object]) -> float:
    start = perf_counter()
    run()
    seconds = perf_counter() - start
    print(f"{name:72} {seconds:8.3f} s")
    return seconds


def main() -> None:
    pod = mesh_of((16, 64, 64))
    print(f"{COUNT:,} values of rank 3 on {pod.device_count:,} devices, {pod}")
    some, all_differ = values(pod, COUNT, 300), values(pod, COUNT, COUNT)
    inside = [
        timed("300 differ: told", lambda: told(some, pod)),
        timed("300 differ: arrays a dimension", lambda: along(some, pod)),
        timed("300 differ: arrays a device", lambda: arrays(some, pod)),
        timed("all differ: told", lambda: told(all_differ, pod)),
        timed("all differ: arrays a dimension", lambda: along(all_differ, pod)),
    ]
    print(f"slowest of these: {max(inside) / LIMIT_SECONDS:.2f} of the limit of {LIMIT_SECONDS} s")
    hundredth = all_differ[: COUNT // 100]
    timed(f"{len(hundredth)} that differ: arrays a device", lambda: arrays(hundredth, pod))
    shuffled = mesh_of((16, 64, 64), reverse=True)
    timed("all differ, devices in another order: told", lambda: told(all_differ, shuffled))
    huge = mesh_of((16, 256, 256))
    print(f"{huge.device_count:,} devices")
    timed("all differ: told", lambda: told(values(huge, COUNT, COUNT), huge))
    timed("one: arrays a device", lambda: arrays(values(huge, 1, 1), huge))


if __name__ == "__main__":
    main()
