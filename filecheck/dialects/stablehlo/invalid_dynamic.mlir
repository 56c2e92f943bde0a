// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Ops whose shapes are operands, checked where a constant gives them.

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<1xi32>) {
  // expected-error @+1 {{expects operand and result to have compatible element type. Got: 'tensor<8xf32>' and 'tensor<8xi32>'}}
  %0 = "stablehlo.dynamic_reshape"(%arg0, %arg1) : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<1xi32>) {
  // expected-error @+1 {{number of output elements (4) doesn't match expected number of elements (8)}}
  %0 = "stablehlo.dynamic_reshape"(%arg0, %arg1) : (tensor<8xf32>, tensor<1xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{result should have a rank equal to the number of elements in output_shape}}
  %0 = "stablehlo.dynamic_reshape"(%arg0, %arg1) : (tensor<8xf32>, tensor<2xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<?xi32>) {
  // expected-error @+1 {{'stablehlo.dynamic_reshape' op operand #1 must be statically shaped 1-dimensional tensor of index or 2/4/8/16/32/64-bit integer values, but got 'tensor<?xi32>'}}
  %0 = "stablehlo.dynamic_reshape"(%arg0, %arg1) : (tensor<8xf32>, tensor<?xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  %c1 = stablehlo.constant dense<4> : tensor<1xi32>
  // expected-error @+1 {{output shape [4] is incompatible with return type of operation 'tensor<8xf32>'}}
  %0 = "stablehlo.dynamic_reshape"(%arg0, %c1) : (tensor<8xf32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  %c1 = stablehlo.constant dense<4> : tensor<1xi32>
  // expected-error @+1 {{output_shape is incompatible with input type of operation: input has 8 elements, but output_shape has 4}}
  %0 = "stablehlo.dynamic_reshape"(%arg0, %c1) : (tensor<8xf32>, tensor<1xi32>) -> tensor<?xf32>
  return
}

// -----

func.func @main(%arg0: tensor<1xi32>) {
  // expected-error @+1 {{iota dimension cannot go beyond the output rank.}}
  %0 = "stablehlo.dynamic_iota"(%arg0) <{iota_dimension = 1 : i64}> : (tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main() {
  %c0 = stablehlo.constant dense<4> : tensor<1xi32>
  // expected-error @+1 {{output shape [4] is incompatible with return type of operation 'tensor<8xf32>'}}
  %0 = "stablehlo.dynamic_iota"(%c0) <{iota_dimension = 0 : i64}> : (tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{expects operand and result to have compatible element type. Got: 'tensor<8xf32>' and 'tensor<2x8xi32>'}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{broadcast_dimensions size (2) does not match operand rank (1)}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<1xi32>) {
  // expected-error @+1 {{result rank (1) is less than operand rank (2)}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{broadcast_dimensions should not have duplicates}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{broadcast_dimensions contains invalid value 2 for result with rank 2}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 2>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{size of operand dimension 0 (8) is not compatible with size of result dimension 0 (2)}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{duplicate expansion hint for at least one operand dimension}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0, 0>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>) {
  // expected-error @+1 {{hint for expanding dimension 1 does not refer to a valid operand dimension}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %arg1) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 1>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  %c1 = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  // expected-error @+1 {{output shape [2, 4] is incompatible with return type of operation 'tensor<2x8xf32>'}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %c1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  %c1 = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  // expected-error @+1 {{size of operand dimension 0 (8) is not equal to 1 or value of shape at index 1 (4)}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %c1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>, %arg2: tensor<2xi32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>) {
  // expected-error @+1 {{padding operands size (2) must match operand rank (1)}}
  %0 = "stablehlo.dynamic_pad"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<8xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>, %arg2: tensor<1xi32>, %arg3: tensor<1xi32>) {
  %c4 = stablehlo.constant dense<-1> : tensor<1xi32>
  // expected-error @+1 {{interior_padding must be non-negative, but got -1}}
  %0 = "stablehlo.dynamic_pad"(%arg0, %arg1, %arg2, %arg3, %c4) : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) {
  %c2 = stablehlo.constant dense<1> : tensor<1xi32>
  %c3 = stablehlo.constant dense<1> : tensor<1xi32>
  %c4 = stablehlo.constant dense<1> : tensor<1xi32>
  // expected-error @+1 {{expected output dimension at index 0 to equal 17, but got 8}}
  %0 = "stablehlo.dynamic_pad"(%arg0, %arg1, %c2, %c3, %c4) : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>, %arg2: tensor<1xi32>, %arg3: tensor<1xi32>, %arg4: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.dynamic_pad' op failed to verify that all of {operand, padding_value, result} have same element type}}
  %0 = "stablehlo.dynamic_pad"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<8xf32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>, %arg2: tensor<1xi32>, %arg3: tensor<1xi32>, %arg4: tensor<1xi64>) {
  // expected-error @+1 {{'stablehlo.dynamic_pad' op failed to verify that all of {edge_padding_low, edge_padding_high, interior_padding} have same type}}
  %0 = "stablehlo.dynamic_pad"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>, %arg2: tensor<1xi32>, %arg3: tensor<1xi32>, %arg4: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.dynamic_pad' op failed to verify that all of {operand, result} have same rank}}
  %0 = "stablehlo.dynamic_pad"(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<8xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2xi32>, %arg2: tensor<2xi32>, %arg3: tensor<2xi32>) {
  // expected-error @+1 {{has mismatched number of operand rank (1) and start_indices size (2)}}
  %0 = "stablehlo.real_dynamic_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<1xi32>, %arg2: tensor<1xi32>, %arg3: tensor<1xi64>) {
  // expected-error @+1 {{'stablehlo.real_dynamic_slice' op failed to verify that all of {start_indices, limit_indices, strides} have same type}}
  %0 = "stablehlo.real_dynamic_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<1xi32>, %arg2: tensor<1xi32>, %arg3: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.real_dynamic_slice' op failed to verify that all of {operand, result} have same element type}}
  %0 = "stablehlo.real_dynamic_slice"(%arg0, %arg1, %arg2, %arg3) : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<5x1xi32>) {
  %c2 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  // expected-error @+2 {{Expects that for each dim in collapsed_slice_dims, slice_sizes[dim] should be <= 1, but got 2}}
  // expected-error @+1 {{'stablehlo.dynamic_gather' op failed to infer returned types}}
  %0 = "stablehlo.dynamic_gather"(%arg0, %arg1, %c2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<2x3xf32>, tensor<5x1xi32>, tensor<2xi32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>, %arg2: tensor<2x2xi32>) {
  // expected-error @+1 {{expects padding to be of shape [1, 2], but got [2, 2]}}
  %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>, tensor<2x2xi32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4xf32>, %arg2: tensor<1x2xi32>) {
  // expected-error @+1 {{expects convolution arguments to have same number of dimensions. Got: 'tensor<2x4x8xf32>' and 'tensor<6x4xf32>'.}}
  %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4xf32>, tensor<1x2xi32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>, %arg2: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.dynamic_conv' op operand #2 must be statically shaped 2-dimensional integer tensor of 2/4/8/16/32/64-bit integer values, but got 'tensor<1xi32>'}}
  %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>, tensor<1xi32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<i32>, %arg1: tensor<i32>, %arg2: tensor<1xi32>) {
  // expected-error @+2 {{mu and sigma must be floats}}
  // expected-error @+1 {{'stablehlo.rng' op failed to infer returned types}}
  %0 = "stablehlo.rng"(%arg0, %arg1, %arg2) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<i32>, tensor<i32>, tensor<1xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>, %arg1: tensor<i32>, %arg2: tensor<1xi32>) {
  // expected-error @+1 {{'stablehlo.rng' op failed to verify that all of {a, b, result} have same element type}}
  %0 = "stablehlo.rng"(%arg0, %arg1, %arg2) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<i32>, tensor<1xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<1xf32>) {
  // expected-error @+1 {{'stablehlo.rng' op operand #2 must be statically shaped 1-dimensional tensor of index or 2/4/8/16/32/64-bit integer values, but got 'tensor<1xf32>'}}
  %0 = "stablehlo.rng"(%arg0, %arg1, %arg2) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) {
  %c2 = stablehlo.constant dense<4> : tensor<1xi32>
  // expected-error @+2 {{'stablehlo.rng' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.rng' op failed to infer returned types}}
  %0 = "stablehlo.rng"(%arg0, %arg1, %c2) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi32>) -> tensor<8xf32>
  return
}
