"""Collectives between uneven parts that do not line up: elements move between neighbours, rightly."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py import Options, Program, propagate
from shardy_py.reshard.divisible import misaligned_dimensions
from shardy_py.run.proof import prove
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding
from tests.conftest import examples

RESHARDS = (
    ("{x}, {}", "{x y}, {}"),  # all_slice
    ("{x y}, {}", "{x}, {}"),  # all_gather
    ("{x}, {z y}", "{x y}, {z}"),  # all_to_all
    ("{x y}, {z}", "{x}, {z y}"),
    ("{x y z}, {}", "{x}, {y z}"),
)


def text(dimensions: str) -> str:
    """`{x y}, {}` in the syntax of sdy."""
    for axis in "xyz":
        dimensions = dimensions.replace(axis, f'"{axis}"')
    listed = dimensions.replace(' "', ', "')
    return f"#sdy.sharding<@mesh, [{listed}]>"


def program(sizes: tuple[int, int], mesh: tuple[int, int, int], source: str, target: str) -> str:
    type_, out = f"tensor<{sizes[0]}x{sizes[1]}xf32>", text(target)
    return f"""sdy.mesh @mesh = <["x"={mesh[0]}, "y"={mesh[1]}, "z"={mesh[2]}]>
func.func @main(%arg0: {type_} {{sdy.sharding = {text(source)}}}) -> ({type_} {{sdy.sharding = {out}}}) {{
  %0 = stablehlo.negate %arg0 {{sdy.sharding = #sdy.sharding_per_value<[{text(source)}]>}} : {type_}
  %1 = sdy.reshard %0 {out.removeprefix("#sdy.sharding")} : {type_}
  return %1 : {type_}
}}
"""


def sharding(dimensions: str) -> TensorSharding:
    lists = (part.strip(" {}").split() for part in dimensions.split(","))
    return TensorSharding("mesh", tuple(DimensionSharding(tuple(map(AxisRef, axes))) for axes in lists))


@st.composite
def reshards(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int, int], str, str]:
    mesh = (draw(st.integers(2, 5)), draw(st.integers(2, 3)), draw(st.integers(1, 2)))
    sizes = (draw(st.integers(1, 40)), draw(st.integers(1, 20)))
    return sizes, mesh, *draw(st.sampled_from(RESHARDS))


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(reshards())
def test_reshards_between_uneven_parts(case: tuple[tuple[int, int], tuple[int, int, int], str, str]) -> None:
    """Parts are equal to slices of the whole tensor; nothing is gathered, unless parts are far away."""
    sizes, (x, y, z), source, target = case
    options = Options(update_non_divisible_input_output_shardings=False)
    local = propagate(Program.parse(program(*case)), options).partition()
    assert prove(local.partitioned).is_equal
    mesh = Mesh.of(x=x, y=y, z=z)
    is_misaligned = misaligned_dimensions(sizes, sharding(source), sharding(target), mesh)
    assert is_misaligned or not local.warnings
    if is_misaligned and not local.warnings and source == "{x}, {}":
        assert "all_gather" not in local.text()


def test_a_reduction_scattered_over_uneven_parts() -> None:
    """Terms of a sum move before they are added."""
    source = f"""sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<10x6xf32> {{sdy.sharding = {text("{x}, {y}")}}},
                %arg1: tensor<6x3xf32> {{sdy.sharding = {text("{y}, {}")}}})
    -> (tensor<10x3xf32> {{sdy.sharding = {text("{x y}, {}")}}}) {{
  %0 = stablehlo.dot %arg0, %arg1 {{sdy.sharding = #sdy.sharding_per_value<[{text("{x}, {}")}]>}}
    : (tensor<10x6xf32>, tensor<6x3xf32>) -> tensor<10x3xf32>
  %1 = sdy.reshard %0 {text("{x y}, {}").removeprefix("#sdy.sharding")} : tensor<10x3xf32>
  return %1 : tensor<10x3xf32>
}}
"""
    options = Options(update_non_divisible_input_output_shardings=False)
    local = propagate(Program.parse(source), options).partition()
    assert "reduce_scatter" in local.text()
    assert "all_gather" not in local.text()
    assert not local.warnings
    assert prove(local.partitioned).is_equal
