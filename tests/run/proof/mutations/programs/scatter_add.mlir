// Gradients of an embedding: rows are added to a sharded table.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%table: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %ids: tensor<6x1xi32>, %rows: tensor<6x4xf32>)
    -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.scatter"(%table, %ids, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<6x1xi32>, tensor<6x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
