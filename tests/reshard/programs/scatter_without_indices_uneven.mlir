// Updates at indices without components all hit: their padding must not.
sdy.mesh @mesh = <["a"=3]>
func.func @main(%arg0: tensor<8x8x8xf32>, %arg1: tensor<0x8x8x8x8xi32>,
    %arg2: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {?}, {"a", ?}]>}) -> tensor<8x8x8xf32> {
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false,
      scatter_dimension_numbers = #stablehlo.scatter<input_batching_dims = [0, 1, 2],
      scatter_indices_batching_dims = [3, 1, 2]>, unique_indices = false}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x8x8xf32>, tensor<0x8x8x8x8xi32>, tensor<8x8x8x8xf32>) -> tensor<8x8x8xf32>
  return %0 : tensor<8x8x8xf32>
}
