"""Rules on meshes and lists of axes, on plain values."""

from __future__ import annotations

import pytest

from shardy_py.dialects.sdy.verify_axes import (
    AxisUses,
    axis_list_faults,
    factor_list_faults,
    mesh_axis_faults,
    mesh_faults,
    sorted_axis_list_faults,
    sub_axis_faults,
)
from shardy_py.sharding import AxisRef, Mesh, MeshAxis, SubAxis

MESH = Mesh((MeshAxis("x", 8), MeshAxis("y", 2)))
X, Y = AxisRef("x"), AxisRef("y")


def part(pre_size: int, size: int) -> AxisRef:
    """A part of axis x."""
    return AxisRef("x", SubAxis(pre_size, size))


def test_a_sound_mesh() -> None:
    assert not [*mesh_faults(MESH), *mesh_faults(Mesh()), *mesh_faults(Mesh((), (3,)))]
    assert not [*mesh_faults(Mesh((MeshAxis("x", 2),), (1, 0)))]


def test_an_axis_has_devices() -> None:
    assert [*mesh_axis_faults(MeshAxis("x", 0))] == ["axis size must be at least 1, got: 0"]


def test_lists_share_what_they_have_named() -> None:
    uses = AxisUses(MESH)
    assert not [*axis_list_faults((X,), uses)]
    assert [*axis_list_faults((Y, X), uses)] == ['duplicate axis ref: "x"']


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((AxisRef("z"),), 'unknown axis name: "z"'),
        ((part(1, 2), part(2, 2)), 'two consecutive sub-axes can be merged: "x":(1)2, "x":(2)2'),
    ],
)
def test_faults_of_lists(axes: tuple[AxisRef, ...], message: str) -> None:
    assert [*axis_list_faults(axes, AxisUses(MESH))] == [message]


def test_order_is_that_of_the_mesh() -> None:
    assert [*sorted_axis_list_faults((Y, X), AxisUses(MESH), "some")] == [
        "some axes are not ordered w.r.t. mesh"
    ]
    assert not [*sorted_axis_list_faults((part(1, 2), part(4, 2), Y), AxisUses(MESH), "some")]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((part(0, 2),), 'sub-axis pre-size must be at least 1: "x":(0)2'),
        ((part(2, 1),), 'sub-axis sizes must be greater than 1: "x":(2)1'),
        ((part(4, 4),), 'sub-axis next pre-size 16 doesn\'t divide the size of the full axis 8: "x":(4)4'),
        ((part(1, 8),), 'sub-axis size is equal to the full axis size: "x":(1)8'),
        ((part(2, 4), part(1, 4)), 'overlapping sub-axes: "x":(1)4, "x":(2)4'),
        ((part(1, 2), X), 'both sub-axis and full-axis are used for axis name: "x"'),
    ],
)
def test_faults_of_sub_axes(axes: tuple[AxisRef, ...], message: str) -> None:
    uses = AxisUses(MESH)
    for axis in axes:
        assert not [*axis_list_faults((axis,), uses)]
    assert [*sub_axis_faults(uses)] == [message]


def test_lists_of_factors() -> None:
    lists: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("reduction", "need_replication", "permutation", "blocked_propagation"), ()
    )
    assert not [*factor_list_faults({**lists, "reduction": (0, 2), "blocked_propagation": (0,)}, 3)]
    assert [*factor_list_faults({**lists, "blocked_propagation": (3,)}, 3)] == [
        "index must be less than 3, got: 3"
    ]
