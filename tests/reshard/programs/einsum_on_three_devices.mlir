// Replicas of a product by letters, on devices in another order, have equal bits.
sdy.mesh @mesh = <["a"=3], device_ids=[2, 1, 0]>
func.func @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>},
    %arg1: tensor<12x8xf32>) -> tensor<9x3xf32> {
  %0 = stablehlo.einsum %arg1, %arg0, config = "ij,jk->ik" : (tensor<12x8xf32>, tensor<8x3xf32>) -> tensor<12x3xf32>
  %1 = stablehlo.slice %0 [0:9, 0:3] : (tensor<12x3xf32>) -> tensor<9x3xf32>
  return %1 : tensor<9x3xf32>
}
