"""Specs: what they say, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from shardy_py.api import UNCONSTRAINED, P, ShardyError, dim
from shardy_py.sharding import AxisRef, DimensionSharding, SubAxis


def test_parts_become_dimensions() -> None:
    spec = P("x", None, ("y", "z:(2)4"), UNCONSTRAINED, dim("w", open=True, priority=2))
    assert [str(d) for d in spec.dimensions] == ['{"x"}', "{}", '{"y", "z":(2)4}', "{?}", '{"w", ?}p2']


def test_replicated_and_unreduced() -> None:
    spec = P("x", replicated={"y"}, unreduced="z")
    assert spec.replicated == (AxisRef("y"),)
    assert spec.unreduced == (AxisRef("z"),)


def test_representation_builds_it_again() -> None:
    spec = P(
        None,
        "x",
        ("y", "z:(1)2"),
        UNCONSTRAINED,
        dim("w", open=True),
        dim(open=True, priority=1),
        dim("a", priority=0),
        unreduced=("b",),
        replicated={"d", "c"},
        reduction="max",
    )
    assert eval(repr(spec)) == spec


@pytest.mark.parametrize("spec", [("x", None), ["x", None], P("x", None)])
def test_of(spec: object) -> None:
    assert P.of(spec) == P("x", None)


@pytest.mark.parametrize("spec", [3, "x", None])
def test_no_spec(spec: object) -> None:
    with pytest.raises(ShardyError, match=r'expected a sharding such as P\("data", None\), got'):
        P.of(spec)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (3, "expected names of mesh axes, got 3"),
        (("x", 3), "expected the name of a mesh axis, got 3"),
        ({"x"}, "expected a tuple, because the axes of a dimension are ordered, got {'x'}"),
    ],
)
def test_no_axis(part: Any, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        P(part)


@pytest.mark.parametrize("priority", [-1, "1"])
def test_no_priority(priority: Any) -> None:
    with pytest.raises(ShardyError, match="expected a priority of at least 0, got "):
        dim("x", priority=priority)


def test_no_reduction() -> None:
    with pytest.raises(ShardyError, match="unknown reduction 'mean': expected one of 'sum', 'max', 'min'"):
        P(unreduced="x", reduction="mean")


def test_sub_axis_spelled_and_given() -> None:
    part = AxisRef("x", SubAxis(1, 2))
    assert P("x:(1)2") == P(part) == P(DimensionSharding((part,), is_closed=True))


def test_specs_of_jax_with_unreduced_axes() -> None:
    jax = pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    spec = jax.sharding.PartitionSpec("x", None, unreduced={"y"})
    assert P.of(spec) == P("x", None, unreduced={"y"})
