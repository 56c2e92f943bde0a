// RUN: sdy-opt %s --sdy-propagation-pipeline | filecheck %s

// Computations of one name are one function if they do the same, and functions of their own if not.

sdy.mesh @mesh = <["x"=2]>

// CHECK:      func.func @main
// CHECK-NEXT:   %0 = call @f(%arg0)
// CHECK-NEXT:   %1 = call @f(%0)
// CHECK-NEXT:   %2 = call @[[NEGATE:f_[0-9_]+]](%1)
// CHECK-NEXT:   %3 = call @[[SHORT:f_[0-9_]+]](%arg1)
// CHECK-NEXT:   %4 = call @f(%2)
// CHECK-NEXT:   return %4, %3
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = sdy.named_computation<"f">(%arg0) (%arg2: tensor<8xf32>) {
    %5 = stablehlo.abs %arg2 : tensor<8xf32>
    sdy.return %5 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.named_computation<"f">(%0) (%arg2: tensor<8xf32>) {
    %5 = stablehlo.abs %arg2 : tensor<8xf32>
    sdy.return %5 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.named_computation<"f">(%1) (%arg2: tensor<8xf32>) {
    %5 = stablehlo.negate %arg2 : tensor<8xf32>
    sdy.return %5 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %3 = sdy.named_computation<"f">(%arg1) (%arg2: tensor<4xf32>) {
    %5 = stablehlo.abs %arg2 : tensor<4xf32>
    sdy.return %5 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %4 = func.call @f(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %4, %3 : tensor<8xf32>, tensor<4xf32>
}

func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.abs %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-DAG:  func.func private @f(%arg0: tensor<8xf32>)
// CHECK-DAG:  func.func private @[[NEGATE]](%arg0: tensor<8xf32>)
// CHECK-DAG:  func.func private @[[SHORT]](%arg0: tensor<4xf32>)
