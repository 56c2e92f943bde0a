from __future__ import annotations

from shardy_py.propagation.provenance import Move, Origins, edges_of, moves_of
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Factor,
    Mesh,
    MeshAxis,
    Projection,
    ShardingRule,
    SubAxis,
    TensorSharding,
)

A, B = AxisRef("a"), AxisRef("b")
PART = AxisRef("a", SubAxis(1, 2))
MESH = Mesh((MeshAxis("a", 2), MeshAxis("b", 2), MeshAxis("c", 8)))
ADD = ShardingRule.identity((8, 8), 2)


def sharding(*dimensions: tuple[AxisRef, ...]) -> TensorSharding:
    return TensorSharding("mesh", tuple(DimensionSharding(axes) for axes in dimensions))


def moves(
    rule: ShardingRule, before: list[TensorSharding | None], after: list[TensorSharding | None]
) -> set[Move]:
    then, now = (Projection.build(rule, tuple(side), MESH) for side in (before, after))
    return set(moves_of(rule, then, now, MESH))


def test_the_first_tensor_with_all_the_axes_is_the_source() -> None:
    after = sharding((A, B), ())
    found = moves(ADD, [sharding((A,), ()), after, None], [after] * 3)
    assert found == {Move(B, 1, 0), Move(A, 1, 2), Move(B, 1, 2)}


def test_nothing_new_moved_nowhere() -> None:
    assert moves(ADD, [sharding((A,), ())] * 3, [sharding((A,), ())] * 3) == set()


def test_an_axis_that_no_tensor_had_has_no_source() -> None:
    assert moves(ADD, [None] * 3, [None, None, sharding((A,), ())]) == set()


def test_a_part_that_grows_counts_as_new() -> None:
    half, more = AxisRef("c", SubAxis(1, 2)), AxisRef("c", SubAxis(1, 4))
    before = [sharding((more,), ()), sharding((more,), ()), sharding((half,), ())]
    assert moves(ADD, list(before), [before[0]] * 3) == {Move(more, 0, 2)}


def test_parts_that_join_across_factors_count_as_one() -> None:
    flatten = ShardingRule((Factor(4), Factor(4)), (((0,), (1,)),), (((0, 1),),))
    major, minor = AxisRef("c", SubAxis(1, 4)), AxisRef("c", SubAxis(4, 2))
    split = sharding((major,), (minor,))
    assert moves(flatten, [split, None], [split, sharding((AxisRef("c"),))]) == {Move(AxisRef("c"), 0, 1)}
    assert moves(flatten, [None, sharding((AxisRef("c"),))], [split, sharding((AxisRef("c"),))]) == {
        Move(major, 1, 0),
        Move(minor, 1, 0),
    }


def test_edges_are_sorted_and_count_once() -> None:
    found = edges_of([(4, Move(B, 2, 1)), (4, Move(A, 0, 2)), (4, Move(A, 0, 1)), (7, Move(A, 0, 1))], 2)
    assert [str(step) for step in found] == [
        '{step-4 = [{"a" = operand-0 -> [operand-1, result-0]}, {"b" = result-0 -> [operand-1]}]}'
    ]
    assert edges_of([], 2) == ()


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
