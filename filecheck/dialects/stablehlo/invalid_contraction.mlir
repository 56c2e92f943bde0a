// RUN: sdy-opt %s --split-input-file --verify-diagnostics

// Products, convolutions and linear algebra: which dimensions meet, which shape follows.

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) {
  // expected-error @+1 {{expected both lhs/rhs ranks to be either 1 or 2}}
  %0 = "stablehlo.dot"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) {
  // expected-error @+1 {{inferred shape '[2, 4]' is incompatible with return type of operation 'tensor<2x3xf32>'}}
  %0 = "stablehlo.dot"(%arg0, %arg1) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{lhs and rhs should have the same number of batching dimensions}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{lhs and rhs should have the same number of contracting dimensions}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{has duplicated dimension from lhs_batching_dimensions and lhs_contracting_dimensions: 0}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{has duplicated dimension from rhs_batching_dimensions and rhs_contracting_dimensions: 1}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{lhs_batching_dimensions value: 3 is out of range: [0, 3)}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [3], rhs_batching_dimensions = [0]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{rhs_contracting_dimensions value: 3 is out of range: [0, 3)}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{batching dimension sizes must match for lhs/rhs}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [0]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{contracting dimension sizes must match for lhs/rhs}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{inferred shape '[2, 3, 5]' is incompatible with return type of operation 'tensor<2x3x4xf32>'}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{expects precision config to be empty or have <= 2 elements, got 3}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) {
  // expected-error @+1 {{must specify DEFAULT precision config when algorithm is set.}}
  %0 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{argument 'a' must have rank >= 2, got shape 8.}}
  // expected-error @+1 {{'stablehlo.cholesky' op failed to infer returned types}}
  %0 = "stablehlo.cholesky"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>) {
  // expected-error @+2 {{minor dimensions of 'a' must have equal size, got shape 2, 3.}}
  // expected-error @+1 {{'stablehlo.cholesky' op failed to infer returned types}}
  %0 = "stablehlo.cholesky"(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xi32>) {
  // expected-error @+1 {{'stablehlo.cholesky' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float or complex type with 32/64-bit float elements or per-tensor integer quantized values, but got 'tensor<8xi32>'}}
  %0 = "stablehlo.cholesky"(%arg0) : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) {
  // expected-error @+2 {{operand 'a' must have rank >= 2, but got 'tensor<8xf32>'}}
  // expected-error @+1 {{'stablehlo.triangular_solve' op failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) {
  // expected-error @+2 {{two minor dimensions of operand 'a' must be compatible, but got 'tensor<2x3xf32>'}}
  // expected-error @+1 {{'stablehlo.triangular_solve' op failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x3xf32>, %arg1: tensor<3x3x3xf32>) {
  // expected-error @+2 {{operands must have equal rank, but got 'tensor<3x3xf32>' and 'tensor<3x3x3xf32>'}}
  // expected-error @+1 {{'stablehlo.triangular_solve' op failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<3x3xf32>, tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x3xf32>, %arg1: tensor<4x3xf32>) {
  // expected-error @+2 {{shared dimension of operands 'a' and 'b' must be compatible, but got 'tensor<3x3xf32>' and 'tensor<4x3xf32>'}}
  // expected-error @+1 {{'stablehlo.triangular_solve' op failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<3x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x3x3xf32>, %arg1: tensor<4x3x3xf32>) {
  // expected-error @+2 {{batch dimensions of the operands must be compatible, but got 'tensor<2x3x3xf32>' and 'tensor<4x3x3xf32>'}}
  // expected-error @+1 {{'stablehlo.triangular_solve' op failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<3x3xf32>, %arg1: tensor<3x3xf32>) {
  // expected-error @+2 {{Invalid transpose option value for triangular solve}}
  // expected-error @+1 {{'stablehlo.triangular_solve' op failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xcomplex<f32>>) {
  // expected-error @+2 {{rank must be between 1 and 3, but got 4.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 1, 1, 1, 1>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xcomplex<f32>>) {
  // expected-error @+2 {{RFFT requires f32 or f64 input type, but is given 'complex<f32>'.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{FFT/IFFT/IRFFT take a complex tensor as input, but is given 'tensor<8xf32>'.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xcomplex<f32>>) {
  // expected-error @+2 {{operand rank must not be less than fft rank of 2 for operand of type 'tensor<8xcomplex<f32>>'.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 1, 8>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{RFFT requires innermost dimensions to be compatible with fft_length. Got: 8 but wanted 9.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 9>}> : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<3x8xcomplex<f32>>) {
  // expected-error @+2 {{IRFFT requires non-final dimensions to be compatible with fft_length. Got: 3, 8 but wanted 4, 8, and 3 != 4.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 4, 8>}> : (tensor<3x8xcomplex<f32>>) -> tensor<3x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xcomplex<f32>>) {
  // expected-error @+2 {{IRFFT requires innermost dimension to be compatible with fft_length[-1]/2+1. Got: 8 but fft_length is 9.}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 9>}> : (tensor<8xcomplex<f32>>) -> tensor<8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<8xf32>) {
  // expected-error @+2 {{'stablehlo.fft' op inferred type(s) 'tensor<5xcomplex<f32>>' are incompatible with return type(s) of operation 'tensor<8xcomplex<f32>>'}}
  // expected-error @+1 {{'stablehlo.fft' op failed to infer returned types}}
  %0 = "stablehlo.fft"(%arg0) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @main(%arg0: tensor<f32>, %arg1: tensor<f32>) {
  // expected-error @+1 {{expects convolution arguments to have >= 2 dimensions. Got: 'tensor<f32>' and 'tensor<f32>'.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[b, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4xf32>) {
  // expected-error @+1 {{expects convolution arguments to have same number of dimensions. Got: 'tensor<2x4x8xf32>' and 'tensor<6x4xf32>'.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xi32>) {
  // expected-error @+1 {{expects lhs and rhs to have compatible element type. Got: 'f32' and 'i32'}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xi32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects batch_group_count and feature_group_count not to be both greater than 1. Got 2 and 2 resp.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects input batch dimension (2) to be divisible by batch_group_count. Got batch_group_count = 3.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 3 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects input feature dimension (4) to be a multiple of feature_group_count. Got feature_group_count = 3.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects input feature dimension (4) / feature_group_count = kernel input feature dimension (4). Got feature_group_count = 2.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<5x4x3xf32>) {
  // expected-error @+1 {{expects output feature dimension size (5) to be a multiple of batch_group_count. Got batch_group_count = 2.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<2x4x8xf32>, tensor<5x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<5x2x3xf32>) {
  // expected-error @+1 {{expects kernel output feature dimension (5) to be divisible by feature_group_count. For feature_group_count = 2.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<5x2x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects window-strides to have same dimension-size as size of window dimensions (1), but got: 2.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1, 1>}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects window to have positive stride for 0-th window dimension, but got 0.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 0>}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects window to have positive base dilation factor for 0-th window dimension, but got 0.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 0>}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects window to have positive window dilation factor for 0-th window dimension, but got 0.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 0>}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{expects the shape of padding-attribute to be {N, 2}, but got {2, 1}.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, padding = dense<1> : tensor<2x1xi64>}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x3xf32>) {
  // expected-error @+1 {{inferred shape '[2, 6, 6]' is incompatible with return type of operation 'tensor<2x4x8xf32>'}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x3xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @main(%arg0: tensor<2x4x8xf32>, %arg1: tensor<6x4x0xf32>) {
  // expected-error @+1 {{expects window to have positive value for 0-th window dimension, but got 0.}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) <{dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<2x4x8xf32>, tensor<6x4x0xf32>) -> tensor<2x6x6xf32>
  return
}
