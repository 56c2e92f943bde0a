"""The planner of products beside XLA; all pairs of shardings: `python -m tests.xla.spmd.dots`."""

from __future__ import annotations

import random

from tests.xla.spmd.dots import Matmul, all_cases, compared


def test_products_send_what_xla_sends() -> None:
    """Each ninth product, and some with all shardings of the result."""
    few = all_cases()[::9]
    more = random.Random(0).sample(all_cases(both=True, results=True), 100)
    found = compared([*few, *more])
    differing = [each for each in found if each[1].bytes_by_kind != each[2].bytes_by_kind]
    assert len(differing) <= 1, differing


def test_a_small_operand_is_gathered_rather_than_a_large_result_summed() -> None:
    """Both operands are sharded along the axis of the mesh: columns of lhs, columns of rhs."""
    case = Matmul((1, 8), (2048, 64, 64), '[{}, {"y"}]', '[{}, {"y"}]')
    ((_, ours, theirs),) = compared([case])
    assert ours.bytes_by_kind == theirs.bytes_by_kind != {}


def test_a_result_along_two_axes_is_summed_along_one_after_the_other() -> None:
    """Both operands are sharded along both axes, at the contracted dimension."""
    shape, lhs, rhs = (2048, 4096, 512), '[{}, {"x", "y"}]', '[{"x", "y"}, {}]'
    wanted = ('[{"x"}, {"y"}]', '[{"y"}, {"x"}]', '[{"x", "y"}, {}]', '[{"x"}, {}]', "[{}, {}]")
    found = compared([Matmul((4, 2), shape, lhs, rhs, result) for result in wanted])
    found += compared([Matmul((4, 2), shape, '[{}, {"y", "x"}]', rhs, '[{"y"}, {"x"}]')])
    for case, ours, theirs in found:
        assert ours.bytes_by_kind == theirs.bytes_by_kind != {}, case
