"""Reshapes that join and split dimensions in uneven parts: elements move between neighbours, rightly."""

from __future__ import annotations

from math import prod

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shardy_py import Options, Program, propagate
from shardy_py.run.proof import prove
from tests.conftest import examples

Sizes = tuple[int, ...]


def program(source: Sizes, target: Sizes, parts: int) -> str:
    """A reshape whose first dimensions are sharded."""
    types = ["tensor<" + "x".join(map(str, sizes)) + "xf32>" for sizes in (source, target)]
    before, after = (
        '#sdy.sharding<@mesh, [{"x"}' + ", {}" * (len(sizes) - 1) + "]>" for sizes in (source, target)
    )
    return f"""sdy.mesh @mesh = <["x"={parts}, "y"=2]>
func.func @main(%arg0: {types[0]} {{sdy.sharding = {before}}}) -> ({types[1]} {{sdy.sharding = {after}}}) {{
  %0 = stablehlo.reshape %arg0 : ({types[0]}) -> {types[1]}
  return %0 : {types[1]}
}}
"""


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[Sizes, Sizes, int]:
    """Two ways to join dimensions."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=2, max_size=4))
    cut, other = draw(st.integers(1, len(sizes))), draw(st.integers(1, len(sizes)))
    source = (prod(sizes[:cut]), *sizes[cut:])
    target = (prod(sizes[:other]), *sizes[other:])
    assume(source != target)
    return source, target, draw(st.integers(2, 5))


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(reshapes())
def test_joined_and_split_dimensions(case: tuple[Sizes, Sizes, int]) -> None:
    """The parts are right; gathers have warnings."""
    options = Options(update_non_divisible_input_output_shardings=False)
    local = propagate(Program.parse(program(*case)), options).partition()
    answer = prove(local.partitioned)
    assert answer.is_equal, answer.fault


def test_nothing_is_gathered() -> None:
    """Parts of 16 and of 14 elements differ by 2, parts of 8 and of 6 as well."""
    for source, target in (((7, 4), (4, 7)), ((3, 4), (12,)), ((12,), (3, 4)), ((5, 2, 3), (10, 3))):
        options = Options(update_non_divisible_input_output_shardings=False)
        local = propagate(Program.parse(program(source, target, 2)), options).partition()
        assert "all_gather" not in local.text()
        assert not local.warnings
        assert prove(local.partitioned).is_equal
