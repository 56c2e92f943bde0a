from __future__ import annotations

from shardy_py.propagation.provenance import Origins
from shardy_py.sharding import AxisRef, SubAxis

A, B = AxisRef("a"), AxisRef("b")
PART = AxisRef("a", SubAxis(1, 2))


def test_existing_origins_are_kept() -> None:
    origins = Origins()
    origins.add(1, [A], "input: 0")
    origins.add(1, [A, B], "constraint_0")
    assert origins.of(1) == {A: "input: 0", B: "constraint_0"}


def test_axes_keep_their_origin_on_the_way() -> None:
    origins = Origins()
    origins.add(1, [A], "input: 0")
    origins.move(1, 2, A)
    origins.move(2, 3, A)
    assert origins.of(3) == {A: "input: 0"}
    assert list(origins) == [1, 2, 3]


def test_parts_have_the_origin_of_the_whole_and_the_whole_that_of_a_part() -> None:
    origins = Origins()
    origins.add(1, [A], "input: 0")
    origins.move(1, 2, PART)
    origins.move(2, 3, A)
    assert origins.of(2) == {PART: "input: 0"}
    assert origins.of(3) == {A: "input: 0"}


def test_an_axis_without_origin_stays_without() -> None:
    origins = Origins()
    origins.add(1, [B], "input: 0")
    origins.move(1, 2, A)
    assert origins.of(2) == {}


def test_members_of_a_group_share_origins() -> None:
    origins = Origins()
    origins.add(1, [A, B], "input: 0")
    origins.add(2, [A], "output: 0")
    origins.copy(1, 2)
    assert origins.of(2) == {A: "output: 0", B: "input: 0"}
