from __future__ import annotations

from shardy_py.reshard.reshard_plan import OpShardings, has_overflow, overflow_plan
from tests.propagation.notation import MESH, MESHES, rule, shardings, short

RESHAPE = rule("(ij) -> ij, i=6, j=4")


def op(given: str) -> OpShardings:
    operand, result = shardings(given)
    return OpShardings(RESHAPE, (operand,), (result,), (24, 24), "mesh", MESH)


def test_has_overflow() -> None:
    assert has_overflow(op("[{b}]; [{}, {}]").project())  # 4 into 6: 2 fit, 2 are left over
    assert not has_overflow(op("[{a}]; [{a}, {}]").project())


def test_axes_are_handed_out_to_where_they_fit() -> None:
    given = op("[{b}]; [{}, {}]")
    plan = overflow_plan(given, given.operands[0], MESHES)
    assert [short(chain[0]) for _, chain in plan.operands] == ["[{b:(1)2}]"]
    assert [short(r.made) for _, r in plan.results] == ["[{b:(1)2}, {}]"]
    assert [short(r.seen[0]) for _, r in plan.results] == ["[{}, {}]"]


def test_the_side_with_more_parts_decides() -> None:
    given = op("[{b}]; [{a, t}, {b}]")
    plan = overflow_plan(given, given.operands[0], MESHES)
    assert [short(chain[0]) for _, chain in plan.operands] == ["[{a, t, b}]"]
    assert plan.results == ()


def test_factors_behind_an_overflow_get_axes() -> None:
    reshape = rule("(ijk) -> ijk, i=2, j=2, k=4")
    operand, result = shardings("[{t, a}]; [{}, {a, c}, {t}]")
    given = OpShardings(reshape, (operand,), (result,), (16, 16), "mesh", MESH)
    assert has_overflow(given.project())
    assert overflow_plan(given, given.operands[0], MESHES)
