from __future__ import annotations

from shardy_py.dialects import parse_module
from shardy_py.report import collect_values, module_meshes
from shardy_py.sharding import Mesh, MeshAxis

PROGRAM = """
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(
        %arg0: tensor<8x?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: !stablehlo.token)
      -> (tensor<8x?xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.negate %arg0
        {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<8x?xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x?xf32>
    %2 = stablehlo.abs %1 : tensor<8x?xf32>
    return %2 : tensor<8x?xf32>
  }
  func.func private @helper(%arg0: tensor<i1>) -> tensor<i1> {
    return %arg0 : tensor<i1>
  }
}
"""


def test_values_of_a_module() -> None:
    module = parse_module(PROGRAM)
    assert module_meshes(module) == {"mesh": Mesh((MeshAxis("x", 4),))}
    found = [
        (value.role, value.type.shape, value.type.element, str(value.sharding) if value.sharding else None)
        for value in collect_values(module)
    ]
    first, second = '<@mesh, [{"x"}, {}]>', '<@mesh, [{}, {"x"}]>'
    assert found == [
        ("arguments", (8, None), "f32", first),
        ("results", (8, None), "f32", second),
        ("intermediates", (8, None), "f32", second),
        ("intermediates", (8, None), "f32", first),
        ("intermediates", (8, None), "f32", None),
        ("intermediates", (), "i1", None),
    ]
