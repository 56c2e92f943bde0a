// No value of i8 is out of bounds: the padding of the indices must not become updates.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<130x4xf32>, %arg1: tensor<3x1xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<130x4xf32> {
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<130x4xf32>, tensor<3x1xi8>, tensor<3x4xf32>) -> tensor<130x4xf32>
  return %0 : tensor<130x4xf32>
}
