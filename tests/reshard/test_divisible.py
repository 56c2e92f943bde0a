"""Divisible shapes and misaligned dimensions against enumerated parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shardy_py.reshard.divisible import divisible_shape, misaligned_dimensions
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding

MESH = Mesh.of(a=2, b=3, c=2)
AXES = st.permutations("abc").flatmap(lambda names: st.integers(0, 3).map(lambda count: names[:count]))


def _sharding(names: list[str]) -> TensorSharding:
    axes = tuple(map(AxisRef, names))
    return TensorSharding("mesh", (DimensionSharding(axes, is_closed=True), DimensionSharding()))


def _parts(size: int, names: list[str]) -> list[set[int]]:
    """The elements of each part: ceil(size / n) of them, fewer at the end."""
    count = 1
    for name in names:
        count *= MESH.sizes[name]
    part = -(-size // count)
    return [set(range(size)[i * part : (i + 1) * part]) for i in range(count)]


@given(st.integers(0, 40), AXES)
def test_every_part_fits_and_no_smaller_shape_does(size: int, names: list[str]) -> None:
    (made, other) = divisible_shape((size, 5), _sharding(names), MESH)
    parts = _parts(size, names)
    assert other == 5
    assert made == len(parts) * max(map(len, parts))
    assert divisible_shape((made, 5), _sharding(names), MESH) == (made, 5)
    assert divisible_shape((None, 5), _sharding(names), MESH) == (None, 5)


@given(st.integers(1, 40), st.integers(0, 3), st.permutations("abc"))
def test_aligned_parts_are_unions_of_smaller_ones(size: int, count: int, names: list[str]) -> None:
    few, many = names[:count], names
    found = misaligned_dimensions((size, 5), _sharding(few), _sharding(many), MESH)
    assert found == misaligned_dimensions((size, 5), _sharding(many), _sharding(few), MESH)
    pieces = _parts(size, many)
    each = len(pieces) // len(_parts(size, few))
    joined = [set[int]().union(*pieces[i : i + each]) for i in range(0, len(pieces), each)]
    if not found:
        assert joined == _parts(size, few)
