// RUN: sdy-opt %s --split-input-file | filecheck %s

// CHECK-LABEL: func.func @shared_ops
func.func @shared_ops(%arg0: tensor<5x10xf32>, %arg1: tensor<f32>) -> (tensor<5x5xf32>, tensor<5xf32>, tensor<5x10xi1>) {
  // CHECK-NEXT: %0 = stablehlo.add %arg0, %arg0 : tensor<5x10xf32>
  %0 = mhlo.add %arg0, %arg0 : tensor<5x10xf32>
  // CHECK-NEXT: %1 = stablehlo.compare GT, %0, %arg0
  %1 = "mhlo.compare"(%0, %arg0) <{comparison_direction = #mhlo<comparison_direction GT>}> : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xi1>
  // CHECK-NEXT: %2 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT]
  %2 = "mhlo.dot_general"(%0, %arg0) <{dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#mhlo<precision DEFAULT>, #mhlo<precision DEFAULT>]}> : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x5xf32>
  // CHECK-NEXT: %3 = stablehlo.reduce(%0 init: %arg1) applies stablehlo.add across dimensions = [1]
  %3 = mhlo.reduce(%0 init: %arg1) applies mhlo.add across dimensions = [1] : (tensor<5x10xf32>, tensor<f32>) -> tensor<5xf32>
  return %2, %3, %1 : tensor<5x5xf32>, tensor<5xf32>, tensor<5x10xi1>
}

// -----

// CHECK-LABEL: func.func @chlo_ops
func.func @chlo_ops(%arg0: tensor<16x8xf32>) -> tensor<16x8xf32> {
  // CHECK-NEXT: %0 = chlo.erf %arg0 {mhlo.sharding = "{replicated}"} : tensor<16x8xf32> -> tensor<16x8xf32>
  %0 = mhlo.erf %arg0 {mhlo.sharding = "{replicated}"} : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// -----

// CHECK-LABEL: func.func @copies
func.func @copies(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %0 = stablehlo.convert %arg0 {mhlo.sharding = "{replicated}"} : tensor<8xf32>
  %0 = mhlo.copy %arg0 {mhlo.sharding = "{replicated}"} : tensor<8xf32>
  // CHECK-NEXT: %1 = stablehlo.convert %0 : tensor<8xf32>
  %1 = mhlo.copy %0 {cross_program_prefetch_index = 0 : i32} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @top_k
func.func @top_k(%arg0: tensor<5x16xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>) {
  // CHECK-NEXT: %0:2 = stablehlo.custom_call @mhlo.topk(%arg0) {mhlo.attributes = {k = 4 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<5x16xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>)
  %0:2 = mhlo.topk(%arg0, k=4, largest=true) : tensor<5x16xf32> -> (tensor<5x4xf32>, tensor<5x4xi32>)
  // CHECK-NEXT: %1:2 = stablehlo.custom_call @mhlo.topk(%arg0) {mhlo.attributes = {k = 4 : i64}, mhlo.sharding = "{replicated}", mhlo.version = 1 : i64}
  %1:2 = mhlo.topk(%arg0, k = 4) {mhlo.sharding = "{replicated}"} : tensor<5x16xf32> -> (tensor<5x4xf32>, tensor<5x4xi32>)
  return %0#0, %1#1 : tensor<5x4xf32>, tensor<5x4xi32>
}
