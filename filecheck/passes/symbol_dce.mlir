// RUN: sdy-opt %s --symbol-dce | filecheck %s

// Private functions go unless something that stays refers to them; meshes and public functions stay.

sdy.mesh @unused_mesh = <["x"=2]>

func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @used(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @target(%0) {called_computations = [@named_by_attribute]} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @used(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @used_by_used(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @used_by_used(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

func.func private @named_by_attribute(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

func.func private @only_calls_itself(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @only_calls_itself(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @used_by_unused(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}

func.func private @unused(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @used_by_unused(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func @public_and_unused() {
  return
}

// CHECK:      module {
// CHECK-NEXT:   sdy.mesh @unused_mesh = <["x"=2]>
// CHECK-NEXT:   func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @used(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     %1 = stablehlo.custom_call @target(%0) {called_computations = [@named_by_attribute]} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %1 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @used(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     %0 = call @used_by_used(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT:     return %0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @used_by_used(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @named_by_attribute(%arg0: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:     return %arg0 : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @public_and_unused() {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }
