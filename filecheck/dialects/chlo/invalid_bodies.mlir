// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Ragged products, and scans with their bodies.

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{inferred shape '[24, 8]' is incompatible with return type of operation 'tensor<24x7xf32>'}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x7xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{rhs_contracting_dimensions value: 3 is out of range: [0, 3)}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x5xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{contracting dimension sizes must match for lhs/rhs}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x5xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{There must be exactly one ragged dimension in the lhs.}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0, 1], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{There must be exactly one ragged dimension in the lhs.}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{Expects lhs_ragged_dim to be in range [0, lhs_rank) i.e. [0, 2). got: 2.}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<3x2xi32>) {
  // expected-error @+1 {{expected group_sizes to have rank 1, got 2}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<3x2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x24x4xf32>, %arg1: tensor<2x3x4x8xf32>, %arg2: tensor<5x2xi32>) {
  // expected-error @+1 {{group_sizes is expected to have shape [3, 2], got [5, 2]}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<3x24x4xf32>, tensor<2x3x4x8xf32>, tensor<5x2xi32>) -> tensor<3x24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x24x4xf32>, %arg1: tensor<2x3x4x8xf32>, %arg2: tensor<3x3xi32>) {
  // expected-error @+1 {{rhs group dimension is expected to have size=3, got 2}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<3x24x4xf32>, tensor<2x3x4x8xf32>, tensor<3x3xi32>) -> tensor<3x24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x24x4xf32>, %arg1: tensor<2x3x4x8xf32>, %arg2: tensor<3x5x2xi32>) {
  // expected-error @+1 {{expected group_sizes to have rank 2, got 3}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<3x24x4xf32>, tensor<2x3x4x8xf32>, tensor<3x5x2xi32>) -> tensor<3x24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{Expects rhs_group_dim to be in range [0, rhs_rank) i.e. [0, 3). got: 3.}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [3]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{has duplicated dimension from rhs_group_dimensions and rhs_contracting_dimensions: 1}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [1]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{There must be exactly one group dimension in the rhs when the lhs ragged dimension is non-contracting.}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{There must be zero group dimensions in the rhs when the ragged dimension is batch or contracting.}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<24x4xf32>, tensor<2x4x8xf32>, tensor<2xi32>) -> tensor<2x24x2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<24x4xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<2xi32>) {
  // expected-error @+1 {{inferred shape '[2, 24, 8]' is incompatible with return type of operation 'tensor<24x8xf32>'}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}> : (tensor<24x4xf32>, tensor<4x8xf32>, tensor<2xi32>) -> tensor<24x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x5x4xf32>, %arg1: tensor<3x4x8xf32>, %arg2: tensor<3x2xi32>) {
  // expected-error @+1 {{expected group_sizes to have rank 1, got 2}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<3x5x4xf32>, tensor<3x4x8xf32>, tensor<3x2xi32>) -> tensor<3x5x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x5x4xf32>, %arg1: tensor<3x4x8xf32>, %arg2: tensor<4x2xi32>) {
  // expected-error @+1 {{group_sizes is expected to have shape [3, 2], got [4, 2]}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2]>}> : (tensor<3x5x4xf32>, tensor<3x4x8xf32>, tensor<4x2xi32>) -> tensor<2x3x5x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op at least one of inputs or outputs must be present}}
  %0:1 = "chlo.scan"(%arg0) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%b0: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0 : tensor<4xf32>
  }) : (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op scan dimension of operand 0 is out of bounds}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 2 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<7x4xf32>, %arg2: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op invalid scan dimension size of operand 1}}
  %0:2 = "chlo.scan"(%arg0, %arg1, %arg2) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 2, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>, %b2: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<7x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+2 {{'chlo.scan' op inferred type(s) 'tensor<8x4xf32>', 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<7x4xf32>', 'tensor<4xf32>'}}
  // expected-error @+1 {{'chlo.scan' op failed to infer returned types}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<7x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op invalid scan dimension size of operand 0}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, scan_dim_size = 7 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op expects 2 arguments in the body, but got 1}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op operand and body argument 0 are incompatible}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<5xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op operand and body argument 1 are incompatible}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<5xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) {
  // expected-error @+2 {{ScanOp body must return at least 2 values (carries)}}
  // expected-error @+1 {{'chlo.scan' op failed to infer returned types}}
  %0:2 = "chlo.scan"(%arg0, %arg1, %arg2) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 2>, resultSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>, %b2: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0 : tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+2 {{'chlo.scan' op inferred type(s) 'tensor<8x4xf32>', 'tensor<5xf32>' are incompatible with return type(s) of operation 'tensor<8x4xf32>', 'tensor<4xf32>'}}
  // expected-error @+1 {{'chlo.scan' op failed to infer returned types}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<5xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<5xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<*xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{'chlo.scan' op operand 0 is not ranked}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %v1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<*xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+2 {{'chlo.scan' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8x4xf32>', 'tensor<4xf32>'}}
  // expected-error @+1 {{'chlo.scan' op failed to infer returned types}}
  %0:2 = "chlo.scan"(%arg0, %arg1) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%b0: tensor<4xf32>, %b1: tensor<4xf32>):
    %v0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %v0 : tensor<4xf32>
  }) : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}
