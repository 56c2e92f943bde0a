// The same with sharded updates: each device adds its own, and the sums are added up.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%table: tensor<6x4xf32>, %ids: tensor<12x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %rows: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6x4xf32> {
  %0 = "stablehlo.scatter"(%table, %ids, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x4xf32>, tensor<12x1xi32>, tensor<12x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
