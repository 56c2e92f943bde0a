// RUN: sdy-opt %s --split-input-file --verify-diagnostics

func.func @main(%arg0: tensor<2xi32>, %arg1: tensor<2xi64>) {
  // expected-error @+1 {{'check.expect_eq' op requires all operands to have the same type}}
  "check.expect_eq"(%arg0, %arg1) : (tensor<2xi32>, tensor<2xi64>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{'check.expect_almost_eq' op operand #0 must be tensor of floating-point or complex-type values, but got 'tensor<2xi32>'}}
  check.expect_almost_eq %arg0, %arg0 : tensor<2xi32>
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf64>) {
  // expected-error @+1 {{'check.expect_almost_eq' op requires all operands to have the same type}}
  "check.expect_almost_eq"(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf64>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>) {
  // expected-error @+1 {{'check.expect_almost_eq' op attribute 'tolerance' failed to satisfy constraint: 64-bit float attribute}}
  "check.expect_almost_eq"(%arg0, %arg0) {tolerance = 0.1 : f32} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{'check.expect_eq_const' op failed to verify that all of {lhs, value} have same type}}
  "check.expect_eq_const"(%arg0) {value = dense<1> : tensor<3xi32>} : (tensor<2xi32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>) {
  // expected-error @+1 {{'check.expect_almost_eq_const' op failed to verify that all of {lhs, value} have same type}}
  "check.expect_almost_eq_const"(%arg0) {value = dense<1.0> : tensor<2xf64>} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf64>) {
  // expected-error @+1 {{'check.expect_close' op failed to verify that all of {actual, expected} have same type}}
  check.expect_close %arg0, %arg1, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf64>
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>) {
  // expected-error @+1 {{'check.expect_close' op attribute 'max_ulp_difference' failed to satisfy constraint: 64-bit unsigned integer attribute}}
  "check.expect_close"(%arg0, %arg0) {max_ulp_difference = 3 : i64} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xf32>) {
  // expected-error @+1 {{'check.expect_serialized_eq' op requires attribute 'probe_id'}}
  "check.expect_serialized_eq"(%arg0) : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{invalid kind of attribute specified}}
  check.expect_eq_const %arg0, 1 : i32
  return
}

// -----

func.func @main(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{custom op 'check.expect_nothing' is unknown}}
  check.expect_nothing %arg0 : tensor<2xi32>
  return
}
