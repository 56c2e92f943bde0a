// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Element types of ops that broadcast, and the shapes of their results.

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_multiply' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_multiply"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<*xf32>, %arg1: tensor<*xi32>) {
  // expected-error @+1 {{'chlo.broadcast_add' op requires compatible element types for all operands and results}}
  %0 = "chlo.broadcast_add"(%arg0, %arg1) : (tensor<*xf32>, tensor<*xi32>) -> tensor<*xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.broadcast_xor' op operand #0 must be tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = "chlo.broadcast_xor"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2x1x3xf32>) {
  // expected-error @+2 {{'chlo.broadcast_add' op inferred type(s) 'tensor<2x4x3xf32>' are incompatible with return type(s) of operation 'tensor<2x1x3xf32>'}}
  // expected-error @+1 {{'chlo.broadcast_add' op failed to infer returned types}}
  %0 = "chlo.broadcast_add"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<4x2xf32>, tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+2 {{mismatched operand types}}
  // expected-error @+1 {{'chlo.broadcast_compare' op failed to infer returned types}}
  %0 = "chlo.broadcast_compare"(%arg0, %arg1) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @main(%arg0: tensor<2x1x1xi1>, %arg1: tensor<4xf32>, %arg2: tensor<4x1xf32>) {
  // expected-error @+2 {{'chlo.broadcast_select' op inferred type(s) 'tensor<2x4x4xf32>' are incompatible with return type(s) of operation 'tensor<4x4xf32>'}}
  // expected-error @+1 {{'chlo.broadcast_select' op failed to infer returned types}}
  %0 = "chlo.broadcast_select"(%arg0, %arg1, %arg2) : (tensor<2x1x1xi1>, tensor<4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>) {
  // expected-error @+2 {{'chlo.broadcast_complex' op inferred type(s) 'tensor<4xcomplex<f32>>' are incompatible with return type(s) of operation 'tensor<3xcomplex<f32>>'}}
  // expected-error @+1 {{'chlo.broadcast_complex' op failed to infer returned types}}
  %0 = "chlo.broadcast_complex"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<3xcomplex<f32>>
  return
}

// -----

// Shapes that do not fit count as unknown, sizes that are unknown fit all.
func.func @fits(%arg0: tensor<3xf32>, %arg1: tensor<4xf32>, %arg2: tensor<?xf32>) {
  %0 = "chlo.broadcast_add"(%arg0, %arg1) : (tensor<3xf32>, tensor<4xf32>) -> tensor<5xf32>
  %1 = "chlo.broadcast_add"(%arg1, %arg2) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %2 = "chlo.broadcast_add"(%arg2, %arg2) : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.constant_like' op value's type doesn't match element return type}}
  %0 = "chlo.constant_like"(%arg0) <{value = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{'chlo.constant_like' op value's type doesn't match element return type}}
  %0 = "chlo.constant_like"(%arg0) <{value = #complex.number<:f64 1.0, 2.0> : complex<f64>}> : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_maximum' op requires compatible element types for all operands and results}}
  %0 = "chlo.broadcast_maximum"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_minimum' op requires compatible element types for all operands and results}}
  %0 = "chlo.broadcast_minimum"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xi32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.broadcast_and' op operand #1 must be tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = "chlo.broadcast_and"(%arg0, %arg1) : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<4xi32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.broadcast_or' op operand #1 must be tensor of bool or 2/4/8/16/32/64-bit integer values, but got 'tensor<4xf32>'}}
  %0 = "chlo.broadcast_or"(%arg0, %arg1) : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_atan2' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_atan2"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_divide' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_divide"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_next_after' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_next_after"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_polygamma' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_polygamma"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_power' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_power"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_remainder' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_remainder"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) {
  // expected-error @+1 {{'chlo.broadcast_subtract' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_subtract"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi8>) {
  // expected-error @+1 {{'chlo.broadcast_shift_left' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_shift_left"(%arg0, %arg1) : (tensor<4xi32>, tensor<4xi8>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi8>) {
  // expected-error @+1 {{'chlo.broadcast_shift_right_arithmetic' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_shift_right_arithmetic"(%arg0, %arg1) : (tensor<4xi32>, tensor<4xi8>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi8>) {
  // expected-error @+1 {{'chlo.broadcast_shift_right_logical' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_shift_right_logical"(%arg0, %arg1) : (tensor<4xi32>, tensor<4xi8>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.broadcast_zeta' op requires the same element type for all operands and results}}
  %0 = "chlo.broadcast_zeta"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf64>
  return
}
