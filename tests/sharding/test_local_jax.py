"""Slices beside those of JAX on eight host devices, in a process of its own that sets the flags."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding, device_slices
from tests.eight_devices import run_on_eight_devices

JAX_SIDE = """
import json, sys
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

devices = np.array(jax.devices())
answers = []
for number, case in enumerate(json.load(sys.stdin)):
    grid = devices[np.array(case["ids"])].reshape([size for _, size in case["axes"]])
    mesh = Mesh(grid, [name for name, _ in case["axes"]])
    sharding = NamedSharding(mesh, PartitionSpec(*[tuple(axes) for axes in case["dimensions"]]))
    shape = tuple(case["shape"])
    found = {d.id: i for d, i in sharding.devices_indices_map(shape).items()}
    answer = {"shard_shape": sharding.shard_shape(shape), "map": {}}
    for device, index in found.items():
        answer["map"][device] = [list(part.indices(size))[:2] for part, size in zip(index, shape)]
    if number % 2 == 0:
        array = jax.device_put(np.arange(np.prod(shape), dtype=np.int32).reshape(shape), sharding)
        answer["data"] = {s.device.id: np.asarray(s.data).ravel().tolist() for s in array.addressable_shards}
    answers.append(answer)
json.dump(answers, sys.stdout)
"""


def random_case(random: Random) -> dict[str, Any]:
    """Up to three axes over eight devices in some order; sizes that divide, as JAX demands."""
    sizes = random.choice([(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 4)])
    axes = [(name, size) for name, size in zip("xyz", sizes, strict=False)]
    ids = list(range(8)) if random.random() < 0.3 else random.sample(range(8), 8)
    dimensions: list[list[str]] = [[] for _ in range(random.randint(1, 4))]
    for name, _ in random.sample(axes, len(axes)):
        if random.random() < 0.8:
            random.choice(dimensions).append(name)
    parts = [prod(dict(axes)[name] for name in names) for names in dimensions]
    shape = [n * random.randint(1, 3) for n in parts]
    return {"axes": axes, "ids": ids, "dimensions": dimensions, "shape": shape}


def test_slices_are_those_of_jax() -> None:
    import numpy as np

    random = Random(7)
    cases = [random_case(random) for _ in range(200)]
    answers = run_on_eight_devices(JAX_SIDE, cases)
    assert sum("data" in answer for answer in answers) == 100
    for case, answer in zip(cases, answers, strict=True):
        mesh = Mesh(tuple(MeshAxis(*axis) for axis in case["axes"]), tuple(case["ids"]))
        dimensions = tuple(DimensionSharding(tuple(map(AxisRef, names))) for names in case["dimensions"])
        slices = device_slices(TensorSharding("mesh", dimensions), mesh, case["shape"])
        assert list(slices.local_shape) == answer["shard_shape"]
        arrays = slices.by_device_id()
        for device in range(8):
            starts, sizes = arrays.offsets[device].tolist(), arrays.sizes[device].tolist()
            ours = [[start, start + size] for start, size in zip(starts, sizes, strict=True)]
            assert ours == answer["map"][str(device)], case
        whole = np.arange(prod(case["shape"])).reshape(case["shape"])
        for device, held in answer.get("data", {}).items():
            part = slices.of(int(device))
            assert part is not None
            assert whole[part.index].ravel().tolist() == held
