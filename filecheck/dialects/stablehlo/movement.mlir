// Ops that move, select and make data. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @static(%arg0: tensor<3x8xf32>, %arg1: tensor<f32>, %arg2: tensor<5x8xf32>) {
    %0 = stablehlo.broadcast %arg1, sizes = [2, 3] : (tensor<f32>) -> tensor<2x3xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<3x8xf32>) -> tensor<3x4x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<7xf32>
    %3 = stablehlo.concatenate %arg0, %arg2, dim = 0 : (tensor<3x8xf32>, tensor<5x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.iota dim = 1 : tensor<3x8xi32>
    %5 = stablehlo.iota dim = 0 {note} : tensor<4xcomplex<f32>>
    %6 = stablehlo.pad %arg0, %arg1, low = [0, -1], high = [1, 2], interior = [0, 1] : (tensor<3x8xf32>, tensor<f32>) -> tensor<4x16xf32>
    %7 = stablehlo.reshape %arg0 : (tensor<3x8xf32>) -> tensor<24xf32>
    %8 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<3x8xf32>
    %9 = stablehlo.slice %arg0 [1:3, 0:8:2] : (tensor<3x8xf32>) -> tensor<2x4xf32>
    %10 = stablehlo.slice %arg1 [] : (tensor<f32>) -> tensor<f32>
    %11 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf32>
    return
  }
  func.func @at_run_time(%arg0: tensor<3x8xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<2xi32>, %arg4: tensor<2x2xf32>) {
    %0 = stablehlo.dynamic_slice %arg0, %arg2, %arg2, sizes = [2, 4] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    %1 = stablehlo.dynamic_update_slice %arg0, %arg4, %arg2, %arg2 : (tensor<3x8xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %2 = stablehlo.dynamic_iota %arg3, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi64>
    %3 = stablehlo.dynamic_reshape %arg0, %arg3 : (tensor<3x8xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %4 = stablehlo.dynamic_broadcast_in_dim %arg1, %arg3, dims = [] {known_expanding_dimensions = array<i64>, known_nonexpanding_dimensions = array<i64>} : (tensor<f32>, tensor<2xi32>) -> tensor<?x?xf32>
    %5 = stablehlo.dynamic_pad %arg0, %arg1, %arg3, %arg3, %arg3 : (tensor<3x8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %6 = stablehlo.real_dynamic_slice %arg0, %arg3, %arg3, %arg3 : (tensor<3x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %7 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<3x8xf32>) -> tensor<i32>
    %8 = stablehlo.set_dimension_size %arg0, %arg2, dim = 1 : (tensor<3x8xf32>, tensor<i32>) -> tensor<3x?xf32, #stablehlo.bounds<?, 8>>
    return
  }
  func.func @by_index(%arg0: tensor<10x16xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x16xf32>, %arg3: tensor<2xi32>, %arg4: tensor<5xi32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 16>}> : (tensor<10x16xf32>, tensor<5x1xi32>) -> tensor<5x16xf32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<10x16xf32>, tensor<5x1xi32>, tensor<2xi32>) -> tensor<5x?xf32>
    %2 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %4 = stablehlo.add %arg5, %arg6 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<10x16xf32>, tensor<5x1xi32>, tensor<5x16xf32>) -> tensor<10x16xf32>
    %3 = "stablehlo.torch_index_select"(%arg0, %arg4) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<10x16xf32>, tensor<5xi32>) -> tensor<5x16xf32>
    return
  }
}
