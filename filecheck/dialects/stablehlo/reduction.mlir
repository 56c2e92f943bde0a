// Reductions, windows, maps and sorts. The text below is what it prints as.
//
// RUN: grep -v '^//' %s > %t.expected
// RUN: sdy-opt %s | diff %t.expected -
// RUN: sdy-opt %s --mlir-print-op-generic | sdy-opt - | diff %t.expected -
module {
  func.func @reduce(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.maximum across dimensions = [0, 1] {note = 1 : i32} : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.reduce(%arg0 init: %arg2) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
     reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {
      %5 = stablehlo.add %arg5, %arg4 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }
    %3:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %5 = stablehlo.compare GT, %arg4, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.select %5, %arg4, %arg6 : tensor<i1>, tensor<f32>
      %7 = stablehlo.select %5, %arg5, %arg7 : tensor<i1>, tensor<i32>
      stablehlo.return %6, %7 : tensor<f32>, tensor<i32>
    }
    %4 = stablehlo.reduce(%arg0 init: %arg2) across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
     reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {
      %5 = stablehlo.subtract %arg4, %arg5 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }
    return
  }
  func.func @windows(%arg0: tensor<1x8x8x2xf32>, %arg1: tensor<1x4x4x2xf32>, %arg2: tensor<f32>) {
    %0 = "stablehlo.reduce_window"(%arg0, %arg2) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %2 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<1x8x8x2xf32>, tensor<f32>) -> tensor<1x4x4x2xf32>
    %1 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %2 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %2 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<1x8x8x2xf32>, tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x8x8x2xf32>
    return
  }
  func.func @others(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>) {
    %0 = "stablehlo.map"(%arg0, %arg0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.multiply %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %2 = stablehlo.compare LT, %arg2, %arg3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
    return
  }
}
