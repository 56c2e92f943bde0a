sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @main(%x: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}, {?}]>}) -> (tensor<6xf32>) {
  %v1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %v3 = "stablehlo.reduce"(%x, %v1) <{dimensions = array<i64: 1>}> ({
^bb0(%l2_0: tensor<f32>, %l2_1: tensor<f32>):
%q2_0 = "stablehlo.maximum"(%l2_0, %l2_1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
"stablehlo.return"(%q2_0) : (tensor<f32>) -> ()
}) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}], unreduced=max{"a"}>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<6xf32>
  %v4 = sdy.reshard %v3 <@mesh, [{"b"}]> : tensor<6xf32>
return %v4 : tensor<6xf32>
}
