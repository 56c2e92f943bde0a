// RUN: sdy-opt %s --sdy-explicit-gather-scatter-batching | filecheck %s

// Indices that come from an iota, but need not count rows, are left alone: rows folded in two, cut off, chosen.

func.func private @folded_rows(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>) -> tensor<8x1xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %1 = stablehlo.reshape %0 : (tensor<4x2xi32>) -> tensor<8x1xi32>
  %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
  return %3 : tensor<8x1xf32>
}
func.func private @clamped(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>) -> tensor<8x1xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %1 = stablehlo.clamp %c0, %0, %c3 : (tensor<i32>, tensor<8x1xi32>, tensor<i32>) -> tensor<8x1xi32>
  %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
  return %3 : tensor<8x1xf32>
}
func.func private @chosen(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>, %arg2: tensor<8x1xi1>) -> tensor<8x1xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %1 = stablehlo.select %arg2, %arg1, %0 : tensor<8x1xi1>, tensor<8x1xi32>
  %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
  %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
  return %3 : tensor<8x1xf32>
}

// CHECK:      module {
// CHECK-NEXT:   func.func private @folded_rows(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>) -> tensor<8x1xf32> {
// CHECK-NEXT:     %0 = stablehlo.iota dim = 0 : tensor<4x2xi32>
// CHECK-NEXT:     %1 = stablehlo.reshape %0 : (tensor<4x2xi32>) -> tensor<8x1xi32>
// CHECK-NEXT:     %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
// CHECK-NEXT:     %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
// CHECK-NEXT:     return %3 : tensor<8x1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @clamped(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>) -> tensor<8x1xf32> {
// CHECK-NEXT:     %c = stablehlo.constant dense<0> : tensor<i32>
// CHECK-NEXT:     %c_0 = stablehlo.constant dense<3> : tensor<i32>
// CHECK-NEXT:     %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
// CHECK-NEXT:     %1 = stablehlo.clamp %c, %0, %c_0 : (tensor<i32>, tensor<8x1xi32>, tensor<i32>) -> tensor<8x1xi32>
// CHECK-NEXT:     %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
// CHECK-NEXT:     %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
// CHECK-NEXT:     return %3 : tensor<8x1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @chosen(%arg0: tensor<8x16xf32>, %arg1: tensor<8x1xi32>, %arg2: tensor<8x1xi1>) -> tensor<8x1xf32> {
// CHECK-NEXT:     %0 = stablehlo.iota dim = 0 : tensor<8x1xi32>
// CHECK-NEXT:     %1 = stablehlo.select %arg2, %arg1, %0 : tensor<8x1xi1>, tensor<8x1xi32>
// CHECK-NEXT:     %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>
// CHECK-NEXT:     %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x16xf32>, tensor<8x2xi32>) -> tensor<8x1xf32>
// CHECK-NEXT:     return %3 : tensor<8x1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
