sdy.mesh @mesh = <["a"=8, "b"=2]>
func.func @main(%arg0: tensor<34x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a"}]>}) -> (tensor<34x2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {"a":(1)2}, {"a":(2)4}]>}) {
  %1 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"b"}, {"a":(1)2}, {"a":(2)4}]>]>} : (tensor<34x12xf32>) -> tensor<34x2x6xf32>
  return %1 : tensor<34x2x6xf32>
}
