from __future__ import annotations

from shardy_py.reshard.collectives import ScatterFusion, scatter_fusion
from tests.propagation.notation import MESH, axes, sharding


def fuse(reduced: str, source: str, sliced: tuple[str, ...], target: str) -> ScatterFusion | None:
    return scatter_fusion(axes(reduced), sharding(source), tuple(map(axes, sliced)), sharding(target), MESH)


def test_all_axes_scattered() -> None:
    assert fuse("a", "[{c}, {}]", ("a", ""), "[{c, a}, {}]") == ScatterFusion(
        (axes("a"), ()), sharding("[{c, a}, {}]"), None
    )


def test_remaining_axes_are_sliced_after() -> None:
    assert fuse("a", "[{}, {}]", ("a, b", "c"), "[{a, b}, {c}]") == ScatterFusion(
        (axes("a"), ()), sharding("[{a}, {}]"), (axes("b"), axes("c"))
    )


def test_sub_axes_that_meet_are_merged() -> None:
    found = fuse("b:(2)2", "[{b:(1)2}]", ("b:(2)2",), "[{b}]")
    assert found is not None
    assert found.sharding == sharding("[{b}]")


def test_reduced_axes_must_all_be_sliced_first() -> None:
    assert fuse("a", "[{}]", ("b",), "[{b}]") is None
    assert fuse("a", "[{}]", ("b, a",), "[{b, a}]") is None
    assert fuse("a, c", "[{}]", ("a",), "[{a}]") is None
