// RUN: sdy-opt %s --sdy-constant-or-scalar-merger | filecheck %s

// Constants of one region with equal attributes become one, and so do broadcasts of one scalar.

sdy.mesh @mesh = <["x"=2]>

func.func @main(%arg0: tensor<f32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
  %1 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.000000e+00> : tensor<8xf32>
  %2 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
  %3 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.000000e+00> : tensor<8xf32>
  %4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %6 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %7 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %8 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %9 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %10 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %11 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %12 = stablehlo.add %0, %2 : tensor<8xf32>
  %13 = stablehlo.add %1, %3 : tensor<8xf32>
  %14 = stablehlo.add %6, %7 : tensor<8xf32>
  %15 = stablehlo.add %12, %13 : tensor<8xf32>
  %16 = stablehlo.add %10, %11 : tensor<8x8xf32>
  %17 = stablehlo.add %8, %16 : tensor<8x8xf32>
  %18 = sdy.named_computation<"f">(%9) (%arg2: tensor<8xf32>) {
    %20 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
    %21 = stablehlo.add %20, %arg2 : tensor<8xf32>
    sdy.return %21 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %19 = stablehlo.add %14, %15 : tensor<8xf32>
  return %19, %17, %18 : tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<f32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
// CHECK-NEXT:     %0 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %1 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:     %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:     %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT:     %3 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %4 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<8xf32>
// CHECK-NEXT:     %5 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %6 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:     %7 = stablehlo.add %0, %0 : tensor<8xf32>
// CHECK-NEXT:     %8 = stablehlo.add %1, %1 : tensor<8xf32>
// CHECK-NEXT:     %9 = stablehlo.add %2, %2 : tensor<8xf32>
// CHECK-NEXT:     %10 = stablehlo.add %7, %8 : tensor<8xf32>
// CHECK-NEXT:     %11 = stablehlo.add %5, %6 : tensor<8x8xf32>
// CHECK-NEXT:     %12 = stablehlo.add %3, %11 : tensor<8x8xf32>
// CHECK-NEXT:     %13 = sdy.named_computation<"f">(%4) (%arg2: tensor<8xf32>) {
// CHECK-NEXT:       %15 = sdy.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT:       %16 = stablehlo.add %15, %arg2 : tensor<8xf32>
// CHECK-NEXT:       sdy.return %16 : tensor<8xf32>
// CHECK-NEXT:     } : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %14 = stablehlo.add %9, %10 : tensor<8xf32>
// CHECK-NEXT:     return %14, %12, %13 : tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
