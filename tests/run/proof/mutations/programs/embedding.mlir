// A look-up in a table whose rows are sharded: each device has the rows of its part.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%table: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %ids: tensor<6x1xi32>) -> tensor<6x4xf32> {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<32x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
