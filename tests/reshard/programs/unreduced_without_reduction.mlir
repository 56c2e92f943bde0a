sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}], unreduced={"a"}>]>} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}], unreduced={"a"}>]>} : tensor<8x4xf32>
  %2 = sdy.reshard %1 <@mesh, [{"a"}, {}]> : tensor<8x4xf32>
  %3 = stablehlo.dot %2, %arg1 : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %4 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}], unreduced=max{"a"}>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = sdy.reshard %4 <@mesh, [{"b"}]> : tensor<8xf32>
  %6 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<8x8xf32>
  return %6, %3, %5 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}
