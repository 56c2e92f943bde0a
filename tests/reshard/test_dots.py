from __future__ import annotations

import pytest

from shardy_py.reshard.reshard_plan import OpShardings, dot_result_reshard
from tests.propagation.notation import DOT, MESH, rule, shardings, short


@pytest.mark.parametrize(
    ("given", "sizes", "made"),
    [
        ("[{}, {a}]; [{a}, {b}]; [{}, {a}]", (64, 64, 64), "[{}, {b}]"),
        ("[{c}, {a}]; [{a}, {b}]; [{c}, {a}]", (64, 64, 64), "[{c}, {b}]"),
        ("[{}, {a}]; [{a}, {b}]; [{}, {a}]", (64, 64, 65), None),  # the result is larger
        ("[{}, {a}]; [{a}, {}]; [{}, {a}]", (64, 64, 64), None),  # a plain reduce-scatter
        ("[{}, {a}]; [{a}, {b}]; [{}, {c}]", (64, 64, 64), None),  # not what is reduced
        ("[{}, {a}]; [{c}, {b}]; [{}, {a}]", (64, 64, 64), None),  # the operands disagree
        ("[{b}, {a}]; [{a}, {b}]; [{}, {a}]", (64, 64, 64), None),  # b twice
        ("[{c}, {a}]; [{a}, {b}]; [{b}, {a}]", (64, 64, 64), None),  # two conflicts
        ("[{}, {a}]; [{a}, {b}]; [{}, {b}]", (64, 64, 64), None),  # no conflict
        ("[{}, {a}]; [{a}, {b}]; -", (64, 64, 64), None),
    ],
)
def test_dot_result_reshard(given: str, sizes: tuple[int, int, int], made: str | None) -> None:
    lhs, rhs, result = shardings(given)
    op = OpShardings(rule(DOT, reduction="k"), (lhs, rhs), (result,), sizes, "mesh", MESH)
    found = dot_result_reshard(op)
    assert (short(found.made) if found else None) == made
    if found:
        assert found.seen == (result,)
