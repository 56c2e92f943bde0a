// Operand and result are sharded on two meshes, whose devices are in other orders.
sdy.mesh @mesh = <["a"=2], device_ids=[1, 0]>
sdy.mesh @turned = <["a"=2]>
func.func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> tensor<16x3x1xf32> {
  %2 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@turned, [{}, {}, {}]>]>} : (tensor<6x8xf32>) -> tensor<16x3x1xf32>
  return %2 : tensor<16x3x1xf32>
}
