"""Layouts against the devices of every element, enumerated."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shardy_py.partition.strides import is_same_layout
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from tests.propagation.notation import MESH, sharding

CASES = ["[{a}, {b}]", "[{a, b}, {}]", "[{}, {a, b}]", "[{b:(1)2}, {b:(2)2}]", "[{b}, {}]", "[{}, {}]"]
FLAT = ["[{a, b}]", "[{b, a}]", "[{a}]", "[{b}]", "[{}]", "[{b:(2)2}]"]


def coordinate(axis: AxisRef, device: dict[str, int], mesh: Mesh) -> int:
    """Where `device` stands along `axis`."""
    minor = mesh.sizes[axis.name] // axis.next_pre_size(mesh)
    return device[axis.name] // minor % axis.size(mesh)


def held(value: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> list[frozenset[int]]:
    """What each device holds, as positions in row-major order."""
    positions = np.arange(np.prod(shape)).reshape(shape)
    result: list[frozenset[int]] = []
    for point in product(*(range(axis.size) for axis in mesh.axes)):
        device = {axis.name: at for axis, at in zip(mesh.axes, point, strict=True)}
        part = positions
        for dimension, axes in enumerate(d.axes for d in value.dimensions):
            for axis in axes:
                pieces = np.split(part, axis.size(mesh), axis=dimension)
                part = pieces[coordinate(axis, device, mesh)]
        result.append(frozenset(part.flatten().tolist()))
    return result


@pytest.mark.parametrize(("first", "second"), list(product(CASES, FLAT)))
def test_same_layout_says_what_the_devices_hold(first: str, second: str) -> None:
    left, right = sharding(first), sharding(second)
    same = held(left, (8, 8), MESH) == held(right, (64,), MESH)
    assert is_same_layout(left, (8, 8), right, (64,), MESH) is same


def test_explicitly_replicated_axes_are_part_of_it() -> None:
    left, right = sharding("[{a}] replicated={c}"), sharding("[{a}]")
    assert not is_same_layout(left, (8,), right, (8,), MESH)


def test_distance_between_sub_axes_matters() -> None:
    left, right = sharding("[{b:(1)2}, {b:(2)2}]"), sharding("[{}, {b:(1)2}, {b:(2)2}]")
    assert held(left, (8, 8), MESH) != held(right, (2, 4, 8), MESH)
    assert not is_same_layout(left, (8, 8), right, (2, 4, 8), MESH)
