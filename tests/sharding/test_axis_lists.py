from __future__ import annotations

from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.base.errors import ShardyError
from shardy_py.sharding import AxisRef, Mesh, MeshAxis, SubAxis
from shardy_py.sharding.axis_lists import (
    Axes,
    Prefix,
    append_axes,
    check_axis_lists,
    common_prefix,
    difference,
    overlaps,
    prefix_status,
    sort_and_merge,
    split_like,
    total_size,
    truncate_overlaps,
)

MESH = Mesh((MeshAxis("x", 8), MeshAxis("y", 4), MeshAxis("z", 2)))
X, Y, Z = map(AxisRef, "xyz")
X12, X22, X42, X14, X24 = (AxisRef("x", SubAxis(*s)) for s in ((1, 2), (2, 2), (4, 2), (1, 4), (2, 4)))
Y12 = AxisRef("y", SubAxis(1, 2))

ATOMS: Axes = (X12, X22, X42, Y12, AxisRef("y", SubAxis(2, 2)), Z)
"""Every list below is a list of these, some of them merged."""


def atoms(axes: Axes) -> list[AxisRef]:
    """The list with every axis split into its prime factors."""
    return [atom for axis in axes for atom in ATOMS if axis.contains(atom)]


@st.composite
def axis_lists(draw: st.DrawFn) -> Axes:
    """A list without overlaps, neighbours merged."""
    chosen = draw(st.lists(st.sampled_from(ATOMS), unique=True, max_size=5))
    return append_axes((), chosen, MESH)


@given(axis_lists(), axis_lists())
def test_prefixes_are_prefixes_of_atoms(first: Axes, second: Axes) -> None:
    small, large = atoms(first), atoms(second)
    if small == large:
        expected = Prefix.EQUAL
    else:
        expected = Prefix.STRICT if large[: len(small)] == small else Prefix.NONE
    assert prefix_status(first, second) is expected


@given(axis_lists(), axis_lists())
def test_the_common_prefix_is_that_of_atoms(first: Axes, second: Axes) -> None:
    expected: list[AxisRef] = []
    for one, other in zip(atoms(first), atoms(second), strict=False):
        if one != other:
            break
        expected.append(one)
    assert atoms(common_prefix(first, second)) == expected


@given(axis_lists(), axis_lists())
def test_truncation_stops_at_the_first_overlap(first: Axes, second: Axes) -> None:
    taken = set(atoms(second))
    expected: list[AxisRef] = []
    for atom in atoms(first):
        if atom in taken:
            break
        expected.append(atom)
    assert atoms(truncate_overlaps(first, second)) == expected
    assert overlaps(first, second) == bool(taken & set(atoms(first)))


@given(axis_lists(), axis_lists())
def test_differences_are_differences_of_atoms(first: Axes, second: Axes) -> None:
    taken = set(atoms(second))
    assert atoms(difference(first, second, MESH)) == [a for a in atoms(first) if a not in taken]


@given(axis_lists())
def test_sorting_keeps_the_atoms(axes: Axes) -> None:
    ordered = sort_and_merge(axes, MESH)
    assert atoms(ordered) == [atom for atom in ATOMS if atom in atoms(axes)]
    assert total_size(ordered, MESH) == total_size(axes, MESH)
    assert not any(a.can_merge(b) for a, b in pairwise(ordered))


def test_merging_a_whole_axis() -> None:
    assert append_axes((), (X12, X24), MESH) == (X,)
    assert append_axes((Y,), (X12, X22), MESH) == (Y, X14)
    assert append_axes((), (X22, X12), MESH) == (X22, X12)


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ((), (X, Y, Z)),
        ((X22,), (X12, X22, X42, Y, Z)),
        ((X14, Y12), (X14, X42, Y12, AxisRef("y", SubAxis(2, 2)), Z)),
    ],
)
def test_the_mesh_split_like_a_list(axes: Axes, expected: Axes) -> None:
    assert split_like(axes, MESH) == expected


def test_the_first_of_several_overlaps_is_reported() -> None:
    x, y = AxisRef("x"), AxisRef("y")
    mesh = Mesh((MeshAxis("x", 2), MeshAxis("y", 2)))
    with pytest.raises(ShardyError, match='c: "y" overlaps "y" of a'):
        check_axis_lists((("a", (y,)), ("b", (x,)), ("c", (y, x))), mesh)


def test_a_list_of_many_axes_is_checked_in_linear_time() -> None:
    mesh = Mesh(tuple(MeshAxis(f"a{i}", 1) for i in range(50_000)))
    start = process_time()
    check_axis_lists((("a", tuple(AxisRef(f"a{i}") for i in range(50_000))),), mesh)
    assert process_time() - start < 20  # quadratic: minutes
