"""Axes of one mesh said in another: devices are counted out one by one."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py import Mesh, ShardyError
from shardy_py.sharding import AxisRef
from shardy_py.xla.prepare.merge_meshes import translation
from tests.xla.prepare.running import after


def coordinates(mesh: Mesh, axis: AxisRef) -> np.ndarray:
    """The position of each device along an axis or a part of one."""
    shape = tuple(a.size for a in mesh.axes)
    whole = np.indices(shape).reshape(len(shape), -1)[mesh.order[axis.name]]
    size = mesh.sizes[axis.name]
    if axis.sub_axis is None:
        return whole
    return whole // (size // axis.sub_axis.next_pre_size) % axis.sub_axis.size


def position(mesh: Mesh, axes: tuple[AxisRef, ...]) -> np.ndarray:
    """The position of each device along axes, major to minor."""
    found = np.zeros(mesh.device_count, dtype=int)
    for axis in axes:
        found = found * axis.size(mesh) + coordinates(mesh, axis)
    return found


def mesh_of(sizes: list[int], letter: str) -> Mesh:
    return Mesh.of({f"{letter}{number}": size for number, size in enumerate(sizes)})


@given(
    st.permutations([2, 2, 3, 1, 4]), st.permutations([2, 2, 3, 1, 4]), st.integers(0, 4), st.integers(0, 4)
)
def test_the_same_devices(first: list[int], second: list[int], joined: int, other: int) -> None:
    mesh, main = mesh_of(_join(first, joined), "a"), mesh_of(_join(second, other), "b")
    found = translation(mesh, main)
    if found is None:
        assert not _cuts_agree(mesh, main)
        return
    for axis in mesh.axes:
        np.testing.assert_array_equal(position(mesh, (AxisRef(axis.name),)), position(main, found[axis.name]))


def _join(sizes: list[int], at: int) -> list[int]:
    return [*sizes[:at], prod(sizes[at : at + 2]), *sizes[at + 2 :]]


def _cuts_agree(mesh: Mesh, main: Mesh) -> bool:
    """Whether of any two places where axes end one divides the other."""
    minor = [
        {prod(axis.size for axis in m.axes[number:]) for number in range(len(m.axes) + 1)}
        for m in (mesh, main)
    ]
    cuts = sorted(minor[0] | minor[1])
    return all(b % a == 0 for a, b in pairwise(cuts))


def test_a_manual_part_of_an_axis() -> None:
    text = """
sdy.mesh @a = <["x"=2, "y"=4]>
sdy.mesh @b = <["v"=4, "w"=2]>
func.func @main(%arg0: tensor<8xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@b, [{"v"}]>] out_shardings=[<@b, [{"v"}]>]
      manual_axes={"v"} (%arg1: tensor<2xf32>) {
    sdy.return %arg1 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}
"""
    with pytest.raises(ShardyError) as caught:
        after("xla-merge-meshes", text)
    assert caught.value.diagnostics[0].message == (
        'manual sub-axis "y":(1)2 of the mesh <["x"=2, "y"=4]>, for the manual axes v, is unsupported; '
        "use meshes of the same axes"
    )
