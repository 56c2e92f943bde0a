from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardy_py.sharding import (
    Axes,
    AxisRef,
    DimensionSharding,
    Factor,
    FactorSharding,
    Mesh,
    MeshAxis,
    Projection,
    ShardingRule,
    SubAxis,
    TensorSharding,
    distribute_axes,
    project,
)
from shardy_py.sharding.axis_lists import append_axes, total_size

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2), MeshAxis("z", 3), MeshAxis("w", 8)))
X, Y, Z, W = map(AxisRef, "xyzw")


def sub(name: str, pre_size: int, size: int) -> AxisRef:
    return AxisRef(name, SubAxis(pre_size, size))


def sharding(*dimensions: Axes, closed: bool = False) -> TensorSharding:
    return TensorSharding("mesh", tuple(DimensionSharding(axes, closed) for axes in dimensions))


def test_a_split_dimension() -> None:
    """The worked example of the module."""
    rule = ShardingRule((Factor(2), Factor(4)), (((0, 1),),), (((0,), (1,)),))
    before = Projection.build(rule, (sharding((X, Y)), None), MESH)
    (operand,), (result,) = before.operands, before.results
    assert [f.axes for f in operand.factors if f] == [(sub("x", 1, 2),), (sub("x", 2, 2), Y)]
    assert [f.axes for f in result.factors if f] == [(), ()]
    after = before.expanded(0, (sub("x", 1, 2),)).expanded(1, (sub("x", 2, 2), Y))
    assert after.changed_since(before) == (1,)
    assert after.tensors[0].to_sharding(rule.operands[0], (2, 4), "mesh", MESH) == sharding((X, Y))
    made = after.tensors[1].to_sharding(rule.results[0], (2, 4), "mesh", MESH)
    assert made == sharding((sub("x", 1, 2),), (sub("x", 2, 2), Y))


def test_axes_that_do_not_fit_overflow() -> None:
    """Of "z", of size 3, nothing fits into a factor of 4; it stays behind and closes what follows."""
    tensor = project(sharding((Y, Z)), ((0, 1, 2),), (4, 6, 5), MESH)
    assert tensor.factors[0] == FactorSharding((Y,), False, False, (Z,))
    assert tensor.factors[1] == FactorSharding((), True, False)
    assert tensor.factors[2] is None
    assert tensor.has_overflow
    assert tensor.to_sharding(((0, 1, 2),), (4, 6, 5), "mesh", MESH) == sharding((Y, Z))


def test_the_last_factor_takes_axes_that_do_not_divide_it() -> None:
    tensor = project(sharding((X, Z)), ((0, 1),), (2, 5), MESH)
    assert [f.axes for f in tensor.factors if f] == [(sub("x", 1, 2),), (sub("x", 2, 2), Z)]
    assert not tensor.has_overflow


def test_factors_behind_one_that_is_not_full_are_dropped() -> None:
    tensor = project(None, ((0, 1),), (4, 4), MESH).expanded(0, (Y,)).expanded(1, (Z,))
    assert tensor.to_sharding(((0, 1),), (4, 4), "mesh", MESH) == sharding((Y,))
    full = tensor.expanded(0, (Y, sub("w", 1, 2)))
    assert full.to_sharding(((0, 1),), (4, 4), "mesh", MESH) == sharding((Y, sub("w", 1, 2), Z))


def test_missing_shardings_are_open_by_default() -> None:
    rule = ShardingRule.identity((8,))
    opened = Projection.build(rule, (None, None), MESH)
    closed = Projection.build(rule, (None, None), MESH, closed_if_missing=True)
    assert [t.factors[0] for t in opened.tensors] == [FactorSharding((), False, True)] * 2
    assert [t.factors[0] for t in closed.tensors] == [FactorSharding((), True, True)] * 2


def test_other_axes_are_carried_along() -> None:
    given_ = TensorSharding("mesh", (DimensionSharding((Y,)),), (Z,), (X,), "max")
    tensor = project(given_, ((0,),), (8,), MESH)
    assert (tensor.replicated, tensor.unreduced, tensor.reduction) == ((Z,), (X,), "max")
    assert tensor.to_sharding(((0,),), (8,), "mesh", MESH) == given_


def test_expanding_needs_a_longer_list() -> None:
    tensor = project(sharding((Y,)), ((0,),), (16,), MESH)
    assert tensor.expanded(0, (X,)) is tensor
    assert tensor.expanded(0, (Y,)) is tensor
    longer = tensor.expanded(0, (Y, X)).factors[0]
    assert longer is not None
    assert longer.axes == (Y, X)


def test_common_prefixes_and_updates() -> None:
    rule = ShardingRule.identity((16, 8), 2)
    shardings = (sharding((X, Y), ()), sharding((X,), (Z,)), sharding((X, Z), (Z,)))
    projection = Projection.build(rule, shardings, MESH)
    assert projection.common_prefix_axes(2) == ((X,), ())
    updated = projection.along({0: (Y,)})
    assert {t.factors[0].axes for t in updated.tensors if t.factors[0]} == {(Y,)}


ATOMS = (Y, Z, sub("x", 1, 2), sub("x", 2, 2), sub("w", 1, 2), sub("w", 2, 4))


@st.composite
def dimensions(draw: st.DrawFn) -> tuple[tuple[int, ...], Axes]:
    """The factor sizes of a dimension, and axes of which one lists no two that could be merged."""
    sizes = draw(st.lists(st.sampled_from((1, 2, 3, 4, 6, 8)), min_size=1, max_size=4))
    chosen = draw(st.lists(st.sampled_from(ATOMS), unique=True, max_size=5))
    return tuple(sizes), append_axes((), chosen, MESH)


@given(dimensions(), st.booleans())
def test_projecting_and_going_back_changes_nothing(case: tuple[tuple[int, ...], Axes], closed: bool) -> None:
    sizes, axes = case
    mapping = (tuple(range(len(sizes))),)
    there = project(sharding(axes, closed=closed), mapping, sizes, MESH)
    assert there.to_sharding(mapping, sizes, "mesh", MESH) == sharding(axes, closed=closed)


@given(dimensions())
def test_only_the_last_factor_is_sharded_unevenly(case: tuple[tuple[int, ...], Axes]) -> None:
    sizes, axes = case
    tensor = project(sharding(axes), (tuple(range(len(sizes))),), sizes, MESH)
    for size, factor in zip(sizes[:-1], tensor.factors[:-1], strict=True):
        assert factor is None or size % total_size(factor.axes, MESH) == 0


@given(dimensions())
def test_distributed_axes_are_all_there(case: tuple[tuple[int, ...], Axes]) -> None:
    sizes, axes = case
    empty = [FactorSharding()] * len(sizes)
    made = distribute_axes(empty, sizes, axes, MESH)
    for size, factor in zip(sizes, made, strict=True):
        assert size % total_size(factor.axes, MESH) == 0
    assert prod(total_size(f.axes + f.overflow, MESH) for f in made) == total_size(axes, MESH)


@pytest.mark.parametrize(
    ("sizes", "axes", "expected"),
    [
        ((2, 4), (X,), [(sub("x", 1, 2),), (sub("x", 2, 2),)]),
        ((3, 4), (X, Z), [(Z,), (X,)]),
        ((2, 2), (Y, X), [(Y,), (sub("x", 1, 2),)]),
    ],
)
def test_distribution_skips_factors_that_do_not_fit(
    sizes: tuple[int, ...], axes: Axes, expected: list[Axes]
) -> None:
    made = distribute_axes([FactorSharding()] * len(sizes), sizes, axes, MESH)
    assert [factor.axes for factor in made] == expected
