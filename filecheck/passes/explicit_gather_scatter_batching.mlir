// RUN: sdy-opt %s --sdy-explicit-gather-scatter-batching | filecheck %s

// Indices that count rows are a batch dimension: through what indexing from the end adds, in the middle of
// others, and where all components count.

func.func private @rows(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>) -> tensor<8x1xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
  %1 = stablehlo.iota dim = 0 : tensor<8xi32>
  %2 = stablehlo.compare LT, %1, %0 : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %3 = stablehlo.add %1, %1 : tensor<8xi32>
  %4 = stablehlo.select %2, %3, %1 : tensor<8xi1>, tensor<8xi32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
  %6 = stablehlo.concatenate %5, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> {sdy.note} : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
  return %7 : tensor<8x1xf32>
}
func.func private @one_of_three(%arg0: tensor<8x8x4xf32>, %arg1: tensor<8x2xi32>, %arg2: tensor<8xf32>) -> tensor<8x8x4xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %1 = stablehlo.slice %arg1 [0:8, 0:1] : (tensor<8x2xi32>) -> tensor<8x1xi32>
  %2 = stablehlo.slice %arg1 [0:8, 1:2] : (tensor<8x2xi32>) -> tensor<8x1xi32>
  %3 = stablehlo.concatenate %1, %0, %2, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x3xi32>
  %4 = "stablehlo.scatter"(%arg0, %3, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [1, 0, 2], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<8x8x4xf32>, tensor<8x3xi32>, tensor<8xf32>) -> tensor<8x8x4xf32>
  return %4 : tensor<8x8x4xf32>
}
func.func private @all_components(%arg0: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x2xi32>
  %1 = "stablehlo.gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x8xf32>, tensor<8x2xi32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func private @rows(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>) -> tensor<8x1xf32> {
// CHECK-NEXT:     %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> {sdy.note} : (tensor<8x16xf32>, tensor<8x1xi32>) -> tensor<8x1xf32>
// CHECK-NEXT:     return %0 : tensor<8x1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @one_of_three(%arg0: tensor<8x8x4xf32>, %arg1: tensor<8x2xi32>, %arg2: tensor<8xf32>) -> tensor<8x8x4xf32> {
// CHECK-NEXT:     %0 = stablehlo.slice %arg1 [0:8, 0:1] : (tensor<8x2xi32>) -> tensor<8x1xi32>
// CHECK-NEXT:     %1 = stablehlo.slice %arg1 [0:8, 1:2] : (tensor<8x2xi32>) -> tensor<8x1xi32>
// CHECK-NEXT:     %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
// CHECK-NEXT:     %3 = "stablehlo.scatter"(%arg0, %2, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>}> ({
// CHECK-NEXT:     ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
// CHECK-NEXT:       %4 = stablehlo.add %arg3, %arg4 : tensor<f32>
// CHECK-NEXT:       stablehlo.return %4 : tensor<f32>
// CHECK-NEXT:     }) : (tensor<8x8x4xf32>, tensor<8x2xi32>, tensor<8xf32>) -> tensor<8x8x4xf32>
// CHECK-NEXT:     return %3 : tensor<8x8x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @all_components(%arg0: tensor<8x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = stablehlo.iota dim = 0 : tensor<8x2xi32>
// CHECK-NEXT:     %1 = stablehlo.slice %0 [0:8, 1:2] : (tensor<8x2xi32>) -> tensor<8x1xi32>
// CHECK-NEXT:     %2 = "stablehlo.gather"(%arg0, %1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x8xf32>, tensor<8x1xi32>) -> tensor<8xf32>
// CHECK-NEXT:     return %2 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
