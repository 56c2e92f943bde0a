"""Borders of manual computations against the elements that devices hold outside and inside."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from shardy_py.localize.manual_borders import aligned_border
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding


def _parts(elements: range, count: int) -> list[range]:
    size = -(-len(elements) // count)
    return [elements[i * size : (i + 1) * size] for i in range(count)]


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_free_axes_stay_where_the_parts_are_those_of_the_body(
    multiple: int, manual: int, free: int, has_manual: bool
) -> None:
    size = multiple * manual if has_manual else multiple * 3
    mesh = Mesh.of(m=manual, f=free)
    axes = (AxisRef("m"), AxisRef("f")) if has_manual else (AxisRef("f"),)
    given_sharding = TensorSharding("mesh", (DimensionSharding(axes, is_closed=True),))
    (made,) = aligned_border(given_sharding, (size,), frozenset("m"), mesh).dimensions
    outside = _parts(range(size), prod(axis.size(mesh) for axis in axes))
    outer = _parts(range(size), manual if has_manual else 1)
    inside = [part for elements in outer for part in _parts(elements, free)]
    same = [list(part) for part in outside] == [list(part) for part in inside]
    assert made.axes == (axes if same else axes[:1])
