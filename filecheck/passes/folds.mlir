// RUN: sdy-opt %s --canonicalize | filecheck %s
// RUN: sdy-opt %s --sdy-constant-or-scalar-splitter | filecheck %s --check-prefix=SPLIT

// Constants go last in ops of chlo that commute, StableHLO's stay as they are; chlo.constant_like is a constant.

// CHECK-LABEL: func.func @commute
// SPLIT-LABEL: func.func @commute
func.func @commute(%arg0: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %c = stablehlo.constant dense<2> : tensor<4xi32>
  // CHECK:      chlo.mulhi %arg0, %c
  // CHECK-NEXT: chlo.broadcast_subtract %c, %arg0
  // CHECK-NEXT: stablehlo.add %c, %arg0
  // SPLIT:      chlo.mulhi %arg0, %{{[0-9]+}}
  // SPLIT:      chlo.broadcast_subtract %{{[0-9]+}}, %arg0
  // SPLIT:      stablehlo.add %{{[0-9]+}}, %arg0
  %0 = chlo.mulhi %c, %arg0 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %1 = chlo.broadcast_subtract %c, %arg0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %2 = stablehlo.add %c, %arg0 : tensor<4xi32>
  return %0, %1, %2 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @constant_like
func.func @constant_like(%arg0: tensor<4xf32>, %arg1: tensor<2xi1>, %arg2: tensor<?xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xi1>, tensor<?xf32>) {
  // CHECK-NEXT: %0 = chlo.constant dense<true> : tensor<2xi1>
  // CHECK-NEXT: %1 = chlo.constant dense<1.500000e+00> : tensor<4xf32>
  // CHECK-NEXT: %2 = stablehlo.negate %arg0
  // CHECK-NEXT: %3 = stablehlo.add %2, %1
  // CHECK-NEXT: %4 = "chlo.constant_like"(%arg2)
  // CHECK-NEXT: return %3, %1, %0, %4
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  %1 = "chlo.constant_like"(%arg0) <{value = 1.5 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  %3 = "chlo.constant_like"(%2) <{value = 1.5 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "chlo.constant_like"(%arg1) <{value = true}> : (tensor<2xi1>) -> tensor<2xi1>
  %5 = "chlo.constant_like"(%arg2) <{value = 1.5 : f32}> : (tensor<?xf32>) -> tensor<?xf32>
  return %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<2xi1>, tensor<?xf32>
}

// CHECK-LABEL: func.func @complex_constant_like
func.func @complex_constant_like(%arg0: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // CHECK-NEXT: %0 = chlo.constant dense<(1.500000e+00,-1.000000e-01)> : tensor<4xcomplex<f32>>
  // CHECK-NEXT: return %0
  %0 = "chlo.constant_like"(%arg0) <{value = #complex.number<:f32 1.5, -0.1> : complex<f32>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @dead_sum
func.func @dead_sum(%arg0: tensor<4xf32>) {
  // CHECK-NEXT: return
  %0 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// What only a folded op used is gone before constants rise, so they keep their order.
// CHECK-LABEL: func.func @dead_operand
func.func @dead_operand(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %cst = stablehlo.constant
  // CHECK-NEXT: %0 = chlo.constant
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  %1 = "chlo.constant_like"(%0) <{value = 1.5 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<1.0> : tensor<8xf32>
  return %1, %2 : tensor<4xf32>, tensor<8xf32>
}
