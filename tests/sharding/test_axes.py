"""The arithmetic of axes against devices enumerated one by one.

A sub-axis gives each device a coordinate. What the arithmetic says of two sub-axes is compared with what the
coordinates of all devices show.
"""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.sharding import AxisRef, Mesh, MeshAxis, SubAxis

Digits = tuple[int, ...]


def mesh_of(digits: Digits) -> Mesh:
    return Mesh((MeshAxis("y", 5), MeshAxis("x", prod(digits))))


def sub_axes(digits: Digits) -> list[AxisRef]:
    """The axis and all sub-axes of consecutive digits."""
    cuts = [prod(digits[:i]) for i in range(len(digits) + 1)]
    parts = {
        AxisRef("x", SubAxis(low, high // low))
        for i, low in enumerate(cuts)
        for high in cuts[i + 1 :]
        if (low, high) != (1, cuts[-1]) and high > low
    }
    return [AxisRef("x"), *sorted(parts, key=lambda axis: axis.order)]


def coordinates(axis: AxisRef, mesh: Mesh) -> tuple[int, ...]:
    """The coordinate of each device along `axis`."""
    total = mesh.sizes[axis.name]
    below = total // axis.next_pre_size(mesh)
    return tuple(device // below % axis.size(mesh) for device in range(total))


def determines(first: AxisRef, second: AxisRef, mesh: Mesh) -> bool:
    """Whether the coordinate along `first` determines that along `second`."""
    pairs = set(zip(coordinates(first, mesh), coordinates(second, mesh), strict=True))
    return len(pairs) == len({a for a, _ in pairs})


def is_independent(first: AxisRef, second: AxisRef, mesh: Mesh) -> bool:
    """Whether all pairs of coordinates occur."""
    pairs = set(zip(coordinates(first, mesh), coordinates(second, mesh), strict=True))
    return len(pairs) == first.size(mesh) * second.size(mesh)


def is_major_part(part: AxisRef, axis: AxisRef, mesh: Mesh) -> bool:
    """Whether `part` counts the coordinates along `axis` in equal runs."""
    run = axis.size(mesh) // part.size(mesh)
    pairs = zip(coordinates(part, mesh), coordinates(axis, mesh), strict=True)
    return all(p == a // run for p, a in pairs)


def largest(candidates: list[AxisRef], mesh: Mesh) -> AxisRef | None:
    return max(candidates, key=lambda axis: axis.size(mesh), default=None)


digit_lists = st.lists(st.sampled_from((2, 3)), min_size=1, max_size=4).map(tuple)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Mesh, list[AxisRef], AxisRef, AxisRef]:
    digits = draw(digit_lists)
    axes = sub_axes(digits)
    return mesh_of(digits), axes, draw(st.sampled_from(axes)), draw(st.sampled_from(axes))


@given(pairs())
def test_relations_of_two_axes(case: tuple[Mesh, list[AxisRef], AxisRef, AxisRef]) -> None:
    mesh, _, first, second = case
    assert first.contains(second) == determines(first, second, mesh)
    assert first.overlaps(second) != is_independent(first, second, mesh)
    assert second.is_prefix_of(first) == (
        determines(first, second, mesh) and is_major_part(second, first, mesh)
    )
    assert first.can_coexist(second)


@given(pairs())
def test_prefix_and_suffix_without_another(case: tuple[Mesh, list[AxisRef], AxisRef, AxisRef]) -> None:
    mesh, axes, first, second = case
    free = [a for a in axes if is_independent(a, second, mesh)]
    assert first.prefix_without(second) == largest([a for a in free if a.is_prefix_of(first)], mesh)
    assert first.suffix_without(second, mesh) == largest(
        [a for a in free if a.is_suffix_of(first, mesh)], mesh
    )


@given(pairs())
def test_common_parts(case: tuple[Mesh, list[AxisRef], AxisRef, AxisRef]) -> None:
    mesh, axes, first, second = case
    inside = [a for a in axes if determines(first, a, mesh) and determines(second, a, mesh)]
    assert first.overlap(second) == largest(inside, mesh)
    either = [a for a in (first, second) if first.is_prefix_of(second) or second.is_prefix_of(first)]
    expected = min(either, key=lambda axis: axis.size(mesh), default=None)
    assert first.common_prefix(second) == expected


@given(digit_lists.filter(lambda digits: len(digits) > 1), st.data())
def test_merging_restores_a_split_axis(digits: Digits, data: st.DataObject) -> None:
    mesh = mesh_of(digits)
    axis = data.draw(st.sampled_from([a for a in sub_axes(digits) if a.size(mesh) > 3]))
    halves = [a for a in sub_axes(digits) if a != axis and a.is_prefix_of(axis)]
    for major in halves:
        minor = axis.suffix_without(major, mesh)
        assert minor is not None
        assert major.can_merge(minor)
        assert not minor.can_merge(major)
        assert major.merge(minor, mesh) == axis


@pytest.mark.parametrize(
    ("first", "second", "coexist"),
    [
        (SubAxis(1, 2), SubAxis(2, 3), True),
        (SubAxis(1, 2), SubAxis(3, 2), False),
        (SubAxis(1, 4), SubAxis(1, 6), False),
        (SubAxis(2, 6), SubAxis(4, 3), True),
        (SubAxis(2, 3), SubAxis(3, 4), False),
    ],
)
def test_sub_axes_that_cannot_coexist(first: SubAxis, second: SubAxis, coexist: bool) -> None:
    one, other = AxisRef("x", first), AxisRef("x", second)
    assert one.can_coexist(other) == other.can_coexist(one) == coexist
    if not coexist:
        assert one.prefix_without(other) is None
        assert one.overlap(other) is None


def test_other_names_never_meet() -> None:
    x, y = AxisRef("x"), AxisRef("y")
    assert not x.overlaps(y)
    assert x.prefix_without(y) == x
    assert x.overlap(y) is None
    assert x.can_coexist(y)


def test_order_puts_parts_before_the_whole() -> None:
    whole, first, second = AxisRef("x"), AxisRef("x", SubAxis(1, 2)), AxisRef("x", SubAxis(2, 2))
    mesh = Mesh((MeshAxis("x", 4), MeshAxis("a", 2)))
    axes = [second, AxisRef("a"), whole, first]
    assert sorted(axes, key=lambda axis: axis.order) == [AxisRef("a"), first, whole, second]
    assert sorted(axes, key=lambda axis: axis.order_in(mesh)) == [first, whole, second, AxisRef("a")]
