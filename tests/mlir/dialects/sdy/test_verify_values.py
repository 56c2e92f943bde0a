"""Rules on meshes and lists of axes, on plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.sdy.verify_values import (
    AxisUses,
    check_axis_list,
    check_factor_lists,
    check_mesh,
    check_mesh_axis,
    check_sorted_axis_list,
    check_steps,
    check_sub_axes,
)
from shardy_py.sharding import AxisEdge, AxisRef, EdgeValueRef, Mesh, MeshAxis, PropagationStep, SubAxis

MESH = Mesh((MeshAxis("x", 8), MeshAxis("y", 2)))
X, Y = AxisRef("x"), AxisRef("y")


def part(pre_size: int, size: int) -> AxisRef:
    """A part of axis x."""
    return AxisRef("x", SubAxis(pre_size, size))


def fault_of(check: Callable[..., None], *arguments: Any) -> str:
    with pytest.raises(Fault) as fault:
        check(*arguments)
    return fault.value.message


@pytest.mark.parametrize("mesh", [MESH, Mesh(), Mesh((), (3,)), Mesh((MeshAxis("x", 2),), (1, 0))], ids=str)
def test_a_sound_mesh(mesh: Mesh) -> None:
    check_mesh(mesh)


def test_an_axis_has_devices() -> None:
    assert fault_of(check_mesh_axis, MeshAxis("x", 0)) == "axis size must be at least 1, got: 0"


def test_lists_share_what_they_have_named() -> None:
    uses = AxisUses(MESH)
    check_axis_list((X,), uses)
    assert fault_of(check_axis_list, (Y, X), uses) == 'duplicate axis ref: "x"'


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((AxisRef("z"),), 'unknown axis name: "z"'),
        ((part(1, 2), part(2, 2)), 'two consecutive sub-axes can be merged: "x":(1)2, "x":(2)2'),
    ],
)
def test_faults_of_lists(axes: tuple[AxisRef, ...], message: str) -> None:
    assert fault_of(check_axis_list, axes, AxisUses(MESH)) == message


def test_order_is_that_of_the_mesh() -> None:
    message = "some axes are not ordered w.r.t. mesh"
    assert fault_of(check_sorted_axis_list, (Y, X), AxisUses(MESH), "some") == message
    check_sorted_axis_list((part(1, 2), part(4, 2), Y), AxisUses(MESH), "some")


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
        check_axis_list((axis,), uses)
    assert fault_of(check_sub_axes, uses) == message


def test_lists_of_factors() -> None:
    lists: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("reduction", "need_replication", "permutation", "blocked_propagation"), ()
    )
    check_factor_lists({**lists, "reduction": (0, 2), "blocked_propagation": (0,)}, 3)
    too_large = {**lists, "blocked_propagation": (3,)}
    assert fault_of(check_factor_lists, too_large, 3) == "index must be less than 3, got: 3"


def test_a_step_leads_elsewhere() -> None:
    value = EdgeValueRef("operand", 0)
    steps = (PropagationStep(1, (AxisEdge(X, value, (value,)),)),)
    assert fault_of(check_steps, steps) == "propagation edges have a source that is the same as a target"
