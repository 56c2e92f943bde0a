"""Shardings at the boundary of a program."""

from __future__ import annotations

import pytest

from shardy_py.reshard.boundary import closed_like, evenly_divided, without_sub_axes
from shardy_py.sharding import Mesh
from shardy_py.sharding.axis_lists import total_size
from tests.propagation.notation import MESH, sharding, short


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[{a, ?}, {?}]", "[{a}, {}]"),
        ("[{a}p1, {?}p0]", "[{a}p1, {}p0]"),
        ("[{a, ?}] replicated={b}", "[{a}]"),
    ],
)
def test_closed_like(before: str, after: str) -> None:
    assert closed_like(sharding(before)) == sharding(after)


def test_closed_like_keeps_unreduced_axes() -> None:
    assert closed_like(sharding("[{a, ?}] unreduced={b}")) == sharding("[{a}] unreduced={b}")


@pytest.mark.parametrize(
    ("before", "size", "after"),
    [
        ("[{a, b}]", 8, "[{a, b}]"),  # divides
        ("[{a, b}]", 4, "[{a, b:(1)2}]"),  # the last axis in part
        ("[{b}]", 6, "[{b:(1)2}]"),
        ("[{b:(2)2, a}]", 2, "[{b:(2)2}]"),  # no more room
        ("[{a, b}]", 3, "[{}]"),
        ("[{t, a}]", 6, "[{t, a}]"),
        ("[{a, t, b}]", 4, "[{a}]"),  # t has no part in 2, and stops what follows
        ("[{a, ?}p1]", 3, "[{?}]"),  # the priority goes with the cut
        ("[{a}]", 0, "[{a}]"),
    ],
)
def test_evenly_divided(before: str, size: int, after: str) -> None:
    assert short(evenly_divided(sharding(before), (size,), MESH)) == short(sharding(after))


def test_a_sharding_on_one_device_is_unchanged() -> None:
    assert evenly_divided(sharding("[]"), (8, 8), Mesh((), (3,))) == sharding("[]")


@pytest.mark.parametrize("size", range(1, 49))
@pytest.mark.parametrize("axes", ["a, b", "b, a", "t, b", "b:(1)2, t, a", "a, t, b, c"])
def test_evenly_divided_divides_and_is_a_prefix(axes: str, size: int) -> None:
    before = sharding(f"[{{{axes}}}]")
    after = evenly_divided(before, (size,), MESH).dimensions[0].axes
    assert size % total_size(after, MESH) == 0
    assert after[:-1] == before.dimensions[0].axes[: max(len(after) - 1, 0)]
    assert not after or after[-1].is_prefix_of(before.dimensions[0].axes[len(after) - 1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[{a, b:(1)2, c, ?}]", "[{a, ?}]"),
        ("[{b:(1)2, ?}, {a, ?}]", "[{?}, {a, ?}]"),
        ("[{a, b:(1)2}]", "[{a, b:(1)2}]"),  # closed: the user's
        ("[{a, ?}]", "[{a, ?}]"),
    ],
)
def test_without_sub_axes(before: str, after: str) -> None:
    assert without_sub_axes(sharding(before)) == sharding(after)
