"""Equivalent shardings from a table, equal layouts against the enumerated elements of every device."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shardy_py.reshard.compare import is_equivalent, is_same_layout
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from tests.propagation.notation import MESH, sharding

CASES = ["[{a}, {b}]", "[{a, b}, {}]", "[{}, {a, b}]", "[{b:(1)2}, {b:(2)2}]", "[{b}, {}]", "[{}, {}]"]
FLAT = ["[{a, b}]", "[{b, a}]", "[{a}]", "[{b}]", "[{}]", "[{b:(2)2}]"]


def coordinate(axis: AxisRef, device: dict[str, int], mesh: Mesh) -> int:
    """The coordinate of `device` along `axis`."""
    minor = mesh.sizes[axis.name] // axis.next_pre_size(mesh)
    return device[axis.name] // minor % axis.size(mesh)


def held(value: TensorSharding, shape: tuple[int, ...], mesh: Mesh) -> list[frozenset[int]]:
    """The elements of each device, as positions in row-major order."""
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
def test_same_layout_puts_the_same_elements_on_the_devices(first: str, second: str) -> None:
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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("[{a}]", "[{a, ?}p1]", True),
        ("[{a}] replicated={b}", "[{a}]", True),
        ("[{a}]", "[{b}]", False),
        ("[{a}]", "[{a, b}]", False),
        ("[{a}] unreduced={b}", "[{a}]", False),
        ("[{}]", "[{}] unreduced={b}", False),
        ("[{}]", None, True),
        ("[{a}]", None, False),
        (None, "[{?}]", True),
        (None, "[{a}]", False),
        (None, None, True),
    ],
)
def test_is_equivalent(first: str | None, second: str | None, expected: bool) -> None:
    left = sharding(first) if first is not None else None
    right = sharding(second) if second is not None else None
    assert is_equivalent(left, right) is expected


def test_meshes_matter_only_to_sharded_tensors() -> None:
    assert is_equivalent(sharding("[{}]", "other"), sharding("[{}]"))
    assert not is_equivalent(sharding("[{a}]", "other"), sharding("[{a}]"))


@pytest.mark.parametrize(
    ("first", "shape", "second", "other", "expected"),
    [
        ("[{}, {b}]", (6, 5), "[{}, {b}]", (5, 6), False),
        ("[{}, {b}]", (6, 5), "[{}, {b}]", (6, 5), True),
        ("[{b}]", (7,), "[{}, {b}]", (1, 7), True),
        ("[{b}, {}]", (7, 2), "[{b}]", (14,), True),
        ("[{b}, {}]", (5, 4), "[{b}]", (20,), False),
    ],
)
def test_uneven_layouts(
    first: str, shape: tuple[int, ...], second: str, other: tuple[int, ...], expected: bool
) -> None:
    assert is_same_layout(sharding(first), shape, sharding(second), other, MESH) is expected
