// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Ops that move elements: which shapes follow, which numbers fit.

func.func @main() {
  // expected-error @+2 {{'stablehlo.constant' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.constant' op failed to infer returned types}}
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<8xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'stablehlo.constant' op result #0 must be statically shaped tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values, but got 'tensor<?xf32>'}}
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<4xf32>}> : () -> tensor<?xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'stablehlo.iota' op result #0 must be statically shaped tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<?xf32>'}}
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<?xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'stablehlo.iota' op result #0 must be statically shaped tensor of 2/4/8/16/32/64-bit integer or 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<4xi1>'}}
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi1>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{does not support scalars.}}
  %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<f32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{iota dimension cannot go beyond the output rank.}}
  %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<8xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'stablehlo.iota' op attribute 'iota_dimension' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = "stablehlo.iota"() <{iota_dimension = -1 : i64}> : () -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{number of output elements (6) doesn't match expected number of elements (8)}}
  %0 = "stablehlo.reshape"(%arg0) : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.reshape' op requires compatible element types for all operands and results}}
  %0 = "stablehlo.reshape"(%arg0) : (tensor<8xf32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.reshape' op result #0 must be statically shaped or single bounded dimension tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values, but got 'tensor<2x?xf32>'}}
  %0 = "stablehlo.reshape"(%arg0) : (tensor<8xf32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+2 {{'stablehlo.transpose' op inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.transpose' op failed to infer returned types}}
  %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+2 {{TransposeOp operand rank 2 does not match permutation size 1}}
  // expected-error @+1 {{'stablehlo.transpose' op failed to infer returned types}}
  %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+2 {{attribute permutation must be a permutation of [0, 1] but got 1, 1}}
  // expected-error @+1 {{'stablehlo.transpose' op failed to infer returned types}}
  %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.transpose' op requires compatible element types for all operands and results}}
  %0 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{Broadcast with negative dimension size -2}}
  // expected-error @+1 {{'stablehlo.broadcast' op failed to infer returned types}}
  %0 = "stablehlo.broadcast"(%arg0) <{broadcast_sizes = array<i64: -2>}> : (tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.broadcast' op inferred type(s) 'tensor<3x8xf32>' are incompatible with return type(s) of operation 'tensor<2x8xf32>'}}
  // expected-error @+1 {{'stablehlo.broadcast' op failed to infer returned types}}
  %0 = "stablehlo.broadcast"(%arg0) <{broadcast_sizes = array<i64: 3>}> : (tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{broadcast_dimensions size (2) does not match operand rank (1)}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{broadcast_dimensions contains invalid value 2 for result with rank 2}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{size of operand dimension 0 (8) is not equal to 1 or size of result dimension 0 (2)}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op result #0 must be statically shaped or single bounded dimension tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized or per-axis integer quantized values, but got 'tensor<?xf32>'}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op requires compatible element types for all operands and results}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<2x2xf32>) {
  // expected-error @+1 {{broadcast_dimensions should not have duplicates}}
  %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 0>}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{the number of elements in start_indices (2) does not match the rank of the operand (1)}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 8, 8>, strides = array<i64: 1, 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{negative start index -1 in dimension 0}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: -1>, limit_indices = array<i64: 8>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{limit index 9 is larger than dimension size 8 in dimension 0}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 9>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{start index 5 is larger than limit index 4 in dimension 0}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 5>, limit_indices = array<i64: 4>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{stride must be positive but got 0 in dimension 0}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 8>, strides = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.slice' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 8>, strides = array<i64: 2>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op failed to verify that all of {start_indices, limit_indices, strides} have same size}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 8, 8>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op requires the same element type for all operands and results}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 8>, strides = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<?xf32, #stablehlo.bounds<4>>) {
  // expected-error @+2 {{limit index 8 is larger than dimension bound 4 in dimension 0}}
  // expected-error @+1 {{'stablehlo.slice' op failed to infer returned types}}
  %0 = "stablehlo.slice"(%arg0) <{start_indices = array<i64: 0>, limit_indices = array<i64: 8>, strides = array<i64: 1>}> : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{'stablehlo.dynamic_slice' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: 4>}> : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{has mismatched number of slice sizes (2) and number of start indices (1)}}
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: 4, 4>}> : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{has mismatched number of start indices (1) and the rank of operand (2)}}
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: 4>}> : (tensor<2x3xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<i32>, %arg2: tensor<i64>) {
  // expected-error @+2 {{start indices must have same element type}}
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg2) <{slice_sizes = array<i64: 2, 3>}> : (tensor<2x3xf32>, tensor<i32>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{has negative size index to dynamic slice: -1}}
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: -1>}> : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{has slice size 9 greater than dimension size 8 in dimension 0 of operand}}
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: 9>}> : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.dynamic_slice' op operand #1 must be variadic of 0D tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<1xi32>'}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: 4>}> : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.dynamic_slice' op failed to verify that all of {operand, result} have same element type}}
  %0 = "stablehlo.dynamic_slice"(%arg0, %arg1) <{slice_sizes = array<i64: 4>}> : (tensor<8xf32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>) {
  // expected-error @+2 {{update rank does not match operand rank: 2 vs 1.}}
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2) : (tensor<8xf32>, tensor<2x3xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{expects number of start_indices to match operand rank: 0 vs 1.}}
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<9xf32>, %arg2: tensor<i32>) {
  // expected-error @+2 {{expects size at dimension 0 of update to be in range [0, 8]. Got: 9.}}
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2) : (tensor<8xf32>, tensor<9xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>, %arg3: tensor<i64>) {
  // expected-error @+2 {{start indices must have same element type}}
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>, %arg2: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op failed to verify that all of {operand, update, result} have same element type}}
  %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2) : (tensor<8xf32>, tensor<8xi32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<i32>) {
  // expected-error @+2 {{'stablehlo.dynamic_update_slice' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%arg0, %arg1, %arg2) : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{'stablehlo.concatenate' op expected 1 or more operands, but found 0}}
  %0 = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>) {
  // expected-error @+2 {{rank-0 values cannot be concatenated}}
  // expected-error @+1 {{'stablehlo.concatenate' op failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%arg0) <{dimension = 0 : i64}> : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{dimension 1 is out-of-bounds for input rank 1}}
  // expected-error @+1 {{'stablehlo.concatenate' op failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%arg0) <{dimension = 1 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2x3xf32>) {
  // expected-error @+2 {{operands (0) and (1) do not match rank}}
  // expected-error @+1 {{'stablehlo.concatenate' op failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<2x3xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x4xf32>) {
  // expected-error @+2 {{shapes of operand (0) and (1) are not compatible at non-concat index 1: (2, 3) != (2, 4)}}
  // expected-error @+1 {{'stablehlo.concatenate' op failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.concatenate' op inferred type(s) 'tensor<16xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.concatenate' op failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.concatenate' op requires the same element type for all operands and results}}
  %0 = "stablehlo.concatenate"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) {
  // expected-error @+2 {{edge_padding_low length (2) must match operand rank (1)}}
  // expected-error @+1 {{'stablehlo.pad' op failed to infer returned types}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 1, 1>, edge_padding_high = array<i64: 1, 1>, interior_padding = array<i64: 0, 0>}> : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) {
  // expected-error @+2 {{Interior padding cannot be negative: -1}}
  // expected-error @+1 {{'stablehlo.pad' op failed to infer returned types}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: -1>}> : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) {
  // expected-error @+2 {{Padding result in negative size for dimension 0}}
  // expected-error @+1 {{'stablehlo.pad' op failed to infer returned types}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: -5>, edge_padding_high = array<i64: -5>, interior_padding = array<i64: 0>}> : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) {
  // expected-error @+2 {{'stablehlo.pad' op inferred type(s) 'tensor<10xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.pad' op failed to infer returned types}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1>, interior_padding = array<i64: 0>}> : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.pad' op failed to verify that all of {edge_padding_low, edge_padding_high, interior_padding} have same size}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 1, 1>, interior_padding = array<i64: 0>}> : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.pad' op requires the same element type for all operands and results}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.pad' op operand #1 must be 0D tensor of 4/6/8/16/32/64-bit float or bool or 2/4/8/16/32/64-bit integer or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xf32>'}}
  %0 = "stablehlo.pad"(%arg0, %arg1) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{dimensions should be unique. Got: 0, 0}}
  %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0, 0>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{all dimensions should be non-negative. Got dimension: -1.}}
  %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: -1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{all dimensions should be between [0, 1). Got dimension: 1.}}
  %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.reverse' op inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'stablehlo.reverse' op failed to infer returned types}}
  %0 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{cannot convert between real and complex types, but got: 'tensor<8xf32>' and 'tensor<8xcomplex<f32>>'}}
  %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{rank of smaller element type (1) should be 1 more than rank of larger element type (1), but 1 != 1 + 1.}}
  %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<8xf32>) -> tensor<8xf64>
  return
}

// -----

func.func @main(%arg0: tensor<2x4xf32>) {
  // expected-error @+1 {{requires compatible bit widths. Got: 'tensor<2x4xf32>' and 'tensor<2xf64>', but 32 * 4 != 64.}}
  %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<2x4xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @main(%arg0: tensor<3x2xf32>) {
  // expected-error @+1 {{operand and result shapes must match except for the innermost dimension of the shape with the smaller element type. Got: 'tensor<3x2xf32>' and 'tensor<2xf64>'.}}
  %0 = "stablehlo.bitcast_convert"(%arg0) : (tensor<3x2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{requires dimension attribute in range [0, 1); found (1)}}
  // expected-error @+1 {{'stablehlo.get_dimension_size' op failed to infer returned types}}
  %0 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 1 : i64}> : (tensor<8xf32>) -> tensor<i32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'stablehlo.get_dimension_size' op result #0 must be ranked tensor of 32-bit signless integer values, but got 'tensor<i64>'}}
  %0 = "stablehlo.get_dimension_size"(%arg0) <{dimension = 0 : i64}> : (tensor<8xf32>) -> tensor<i64>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<1xi32>) {
  // expected-error @+2 {{size operand should be of rank-0}}
  // expected-error @+1 {{'stablehlo.set_dimension_size' op failed to infer returned types}}
  %0 = "stablehlo.set_dimension_size"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{requires dimension attribute in range [0, 1); found (1)}}
  // expected-error @+1 {{'stablehlo.set_dimension_size' op failed to infer returned types}}
  %0 = "stablehlo.set_dimension_size"(%arg0, %arg1) <{dimension = 1 : i64}> : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) {
  // expected-error @+2 {{'stablehlo.set_dimension_size' op inferred type(s) 'tensor<?xf32, #stablehlo.bounds<8>>' are incompatible with return type(s) of operation 'tensor<?xi32, #stablehlo.bounds<8>>'}}
  // expected-error @+1 {{'stablehlo.set_dimension_size' op failed to infer returned types}}
  %0 = "stablehlo.set_dimension_size"(%arg0, %arg1) <{dimension = 0 : i64}> : (tensor<8xf32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<8>>
  return
}
