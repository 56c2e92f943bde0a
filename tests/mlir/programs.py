"""Small programs for the tests of this folder."""

WHILE = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(
    %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}, %arg1: tensor<i32>)
    -> (tensor<8x8xf32> {jax.result_info = ""}) {
  %0:2 = stablehlo.while(%x = %arg0, %i = %arg1) : tensor<8x8xf32>, tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.tanh %x : tensor<8x8xf32>
      stablehlo.return %1, %i : tensor<8x8xf32>, tensor<i32>
    }
  %2 = sdy.data_flow_edge %0#0 : tensor<8x8xf32>
  %3 = stablehlo.negate %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
"""

MANUAL = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}]>}) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a", ?}]>] out_shardings=[<@mesh, [{"a", ?}]>]
      manual_axes={"a"} (%arg1: tensor<4xf32>) {
    %2 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{?}]> : tensor<4xf32>
    %3 = stablehlo.add %2, %2 : tensor<4xf32>
    sdy.return %3 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"a", ?}]> : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""

DEAD = """
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %arg1: tensor<8xf32>)
    -> tensor<8xf32> {
  %cst = stablehlo.constant dense<1.0> : tensor<8xf32>
  %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  %2 = stablehlo.tanh %arg1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
"""
